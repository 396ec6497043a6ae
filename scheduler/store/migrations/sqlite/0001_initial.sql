-- Rows live as JSON in `body`; the columns beside it are for people and reports, and are never read back by the
-- scheduler. Times are milliseconds since the epoch. The runner wraps this file in a transaction.

CREATE TABLE meta (
  key   TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
-- epoch: the newest leader's number. next_job, next_node: ids below these have been given out.
-- cluster_id joins at the first start.
INSERT INTO meta (key, value) VALUES ('epoch', '0'), ('next_job', '1'), ('next_node', '1');

CREATE TABLE nodes (
  id   INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE jobs (
  id              INTEGER NOT NULL PRIMARY KEY,
  state           TEXT NOT NULL,
  user_name       TEXT NOT NULL,
  submitted_at_ms INTEGER NOT NULL,
  body            TEXT NOT NULL
) STRICT;

CREATE TABLE attempts (
  job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  state  TEXT NOT NULL,
  body   TEXT NOT NULL,
  PRIMARY KEY (job_id, number)
) STRICT;

CREATE TABLE tasks (
  job_id  INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  idx     INTEGER NOT NULL,
  body    TEXT NOT NULL,
  PRIMARY KEY (job_id, attempt, idx),
  FOREIGN KEY (job_id, attempt) REFERENCES attempts (job_id, number) ON DELETE CASCADE
) STRICT;

-- Outlives the jobs it tells of; pruned by age. 0 stands for none. AUTOINCREMENT: a sequence number never comes back.
CREATE TABLE history (
  seq     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  at_ms   INTEGER NOT NULL,
  kind    TEXT NOT NULL,
  job_id  INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  node_id INTEGER NOT NULL,
  text    TEXT NOT NULL
) STRICT;
CREATE INDEX history_by_job ON history (job_id, seq);
CREATE INDEX history_by_time ON history (at_ms);
