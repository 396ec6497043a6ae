-- The ends of ranks' logs, which outlive their nodes. `bytes`: what the row counts for in the bound of all of them.
CREATE TABLE log_tails (
  job_id      INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  rank        INTEGER NOT NULL,
  ended_at_ms INTEGER NOT NULL,
  node        TEXT NOT NULL,
  first_byte  INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  data        BLOB NOT NULL,
  PRIMARY KEY (job_id, attempt, rank)
) STRICT;
-- Sums and ages are answered from this alone: the data is not read for them.
CREATE INDEX log_tails_by_time ON log_tails (ended_at_ms, job_id, attempt, rank, bytes);
