-- The ends of ranks' logs, which outlive their nodes. `bytes`: what the row counts for in the bound of all of them.
CREATE TABLE log_tails (
  job_id      bigint NOT NULL,
  attempt     bigint NOT NULL,
  rank        bigint NOT NULL,
  ended_at_ms bigint NOT NULL,
  node        text NOT NULL,
  first_byte  bigint NOT NULL,
  bytes       bigint NOT NULL,
  data        bytea NOT NULL,
  PRIMARY KEY (job_id, attempt, rank)
);
-- Sums and ages are answered from this alone: the data is not read for them.
CREATE INDEX log_tails_by_time ON log_tails (ended_at_ms, job_id, attempt, rank, bytes);
