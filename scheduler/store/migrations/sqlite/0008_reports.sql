-- What ended jobs are listed and summed by, written beside their bodies.
ALTER TABLE ended_jobs ADD COLUMN job_name TEXT NOT NULL DEFAULT '';
ALTER TABLE ended_jobs ADD COLUMN team TEXT NOT NULL DEFAULT '';
ALTER TABLE ended_jobs ADD COLUMN pool TEXT NOT NULL DEFAULT '';
ALTER TABLE ended_jobs ADD COLUMN class TEXT NOT NULL DEFAULT '';
-- One text: numbers, then words, with the unit separator (31) between them (codec/ended_figures.h). Reading one column a
-- row is what makes a report over a million rows fast (docs/decisions/0041-reports.md).
ALTER TABLE ended_jobs ADD COLUMN figures TEXT NOT NULL DEFAULT '';
UPDATE ended_jobs SET
  job_name = coalesce(json_extract(body, '$.name'), ''),
  team = coalesce(json_extract(body, '$.team'), ''),
  pool = coalesce(json_extract(body, '$.pool'), ''),
  class = coalesce(json_extract(body, '$.priority'), ''),
  figures =
    coalesce(json_extract(body, '$.submitted_at_ms'), 0) || char(31) ||
    coalesce(json_extract(body, '$.started_at_ms'), 0) || char(31) ||
    coalesce(json_extract(body, '$.interrupts'), 0) || char(31) ||
    coalesce(json_extract(body, '$.restarts'), 0) || char(31) ||
    coalesce(json_extract(body, '$.steps_lost'), 0) || char(31) ||
    coalesce(json_extract(body, '$.simulated_gpus'), 0) || char(31) ||
    coalesce(json_extract(body, '$.exit_code'), 0) || char(31) ||
    coalesce(json_extract(body, '$.ledger_gpu_ms.free'), 0) || char(31) ||
    coalesce(json_extract(body, '$.ledger_gpu_ms.claimed'), 0) || char(31) ||
    coalesce(json_extract(body, '$.ledger_gpu_ms.unavailable'), 0) || char(31) ||
    coalesce(json_extract(body, '$.ledger_gpu_ms.starting'), 0) || char(31) ||
    coalesce(json_extract(body, '$.ledger_gpu_ms.restoring'), 0) || char(31) ||
    coalesce(json_extract(body, '$.ledger_gpu_ms.productive'), 0) || char(31) ||
    coalesce(json_extract(body, '$.ledger_gpu_ms.stopping'), 0) || char(31) ||
    coalesce(json_extract(body, '$.ledger_gpu_ms.lost'), 0) || char(31) ||
    coalesce(json_extract(body, '$.team'), '') || char(31) ||
    coalesce(json_extract(body, '$.pool'), '') || char(31) ||
    coalesce(json_extract(body, '$.priority'), '') || char(31) ||
    coalesce(json_extract(body, '$.state'), '') || char(31) ||
    coalesce(json_extract(body, '$.outcome'), '') || char(31) ||
    coalesce(json_extract(body, '$.user'), '') || char(31) ||
    coalesce(json_extract(body, '$.name'), '');
CREATE INDEX ended_jobs_figures ON ended_jobs (ended_at_ms, job_id, figures);
CREATE INDEX ended_jobs_by_pool ON ended_jobs (pool, ended_at_ms, job_id, state);
CREATE INDEX ended_jobs_by_team ON ended_jobs (team, ended_at_ms, job_id, state);
CREATE INDEX ended_jobs_by_class ON ended_jobs (class, ended_at_ms, job_id, state);
CREATE INDEX ended_jobs_by_name ON ended_jobs (ended_at_ms, job_id, job_name);

CREATE INDEX history_states ON history (seq) WHERE kind = 'states_changed';
