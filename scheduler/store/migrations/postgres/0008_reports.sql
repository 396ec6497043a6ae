-- What ended jobs are listed and summed by. Made of the rows' bodies here, so that glim_commit stays as it is.
ALTER TABLE ended_jobs ADD COLUMN job_name text GENERATED ALWAYS AS (coalesce(body::json ->> 'name', '')) STORED;
ALTER TABLE ended_jobs ADD COLUMN team text GENERATED ALWAYS AS (coalesce(body::json ->> 'team', '')) STORED;
ALTER TABLE ended_jobs ADD COLUMN pool text GENERATED ALWAYS AS (coalesce(body::json ->> 'pool', '')) STORED;
ALTER TABLE ended_jobs ADD COLUMN class text GENERATED ALWAYS AS (coalesce(body::json ->> 'priority', '')) STORED;
-- One text: numbers, then words, with the unit separator (31) between them (codec/ended_figures.h). Reading one column a
-- row is what makes a report over a million rows fast (docs/decisions/0041-reports.md).
ALTER TABLE ended_jobs ADD COLUMN figures text GENERATED ALWAYS AS (
  coalesce(body::json ->> 'submitted_at_ms', '0') || chr(31) ||
  coalesce(body::json ->> 'started_at_ms', '0') || chr(31) ||
  coalesce(body::json ->> 'interrupts', '0') || chr(31) ||
  coalesce(body::json ->> 'restarts', '0') || chr(31) ||
  coalesce(body::json ->> 'steps_lost', '0') || chr(31) ||
  CASE body::json ->> 'simulated_gpus' WHEN 'true' THEN '1' ELSE '0' END || chr(31) ||
  coalesce(body::json ->> 'exit_code', '0') || chr(31) ||
  coalesce(body::json #>> '{ledger_gpu_ms,free}', '0') || chr(31) ||
  coalesce(body::json #>> '{ledger_gpu_ms,claimed}', '0') || chr(31) ||
  coalesce(body::json #>> '{ledger_gpu_ms,unavailable}', '0') || chr(31) ||
  coalesce(body::json #>> '{ledger_gpu_ms,starting}', '0') || chr(31) ||
  coalesce(body::json #>> '{ledger_gpu_ms,restoring}', '0') || chr(31) ||
  coalesce(body::json #>> '{ledger_gpu_ms,productive}', '0') || chr(31) ||
  coalesce(body::json #>> '{ledger_gpu_ms,stopping}', '0') || chr(31) ||
  coalesce(body::json #>> '{ledger_gpu_ms,lost}', '0') || chr(31) ||
  coalesce(body::json ->> 'team', '') || chr(31) ||
  coalesce(body::json ->> 'pool', '') || chr(31) ||
  coalesce(body::json ->> 'priority', '') || chr(31) ||
  coalesce(body::json ->> 'state', '') || chr(31) ||
  coalesce(body::json ->> 'outcome', '') || chr(31) ||
  coalesce(body::json ->> 'user', '') || chr(31) ||
  coalesce(body::json ->> 'name', '')
) STORED;
CREATE INDEX ended_jobs_by_pool ON ended_jobs (pool, ended_at_ms, job_id, state);
CREATE INDEX ended_jobs_by_team ON ended_jobs (team, ended_at_ms, job_id, state);
CREATE INDEX ended_jobs_by_class ON ended_jobs (class, ended_at_ms, job_id, state);

CREATE INDEX history_states ON history (seq) WHERE kind = 'states_changed';
