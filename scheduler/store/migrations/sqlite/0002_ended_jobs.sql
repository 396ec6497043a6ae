-- What `glim history` shows: one row a job that has ended, written in the commit that ends it. Outlives the job's own
-- rows; pruned by age and number.
CREATE TABLE ended_jobs (
  job_id      INTEGER NOT NULL PRIMARY KEY,
  ended_at_ms INTEGER NOT NULL,
  user_name   TEXT NOT NULL,
  state       TEXT NOT NULL,
  body        TEXT NOT NULL
) STRICT;
-- Whole questions are answered from these: a state that hardly occurs is not looked for row by row.
CREATE INDEX ended_jobs_by_time ON ended_jobs (ended_at_ms, job_id, state);
CREATE INDEX ended_jobs_by_user ON ended_jobs (user_name, ended_at_ms, job_id, state);

CREATE INDEX history_by_node ON history (node_id, seq);
