-- Rows live as JSON in `body`; the columns beside it are for people and reports, and are never read back by the
-- scheduler. Times are milliseconds since the epoch. The runner wraps this file in a transaction.

CREATE TABLE meta (
  key   text PRIMARY KEY,
  value text NOT NULL
);
-- epoch: the newest leader's number. commits: grows by one with every commit, and tells a leader that lost its
-- connection whether its last one went through. next_job, next_node: ids below these have been given out.
-- cluster_id joins at the first start.
INSERT INTO meta (key, value) VALUES ('epoch', '0'), ('commits', '0'), ('next_job', '1'), ('next_node', '1');

CREATE TABLE nodes (
  id   bigint PRIMARY KEY,
  name text NOT NULL,
  body text NOT NULL
);

CREATE TABLE jobs (
  id              bigint PRIMARY KEY,
  state           text NOT NULL,
  user_name       text NOT NULL,
  submitted_at_ms bigint NOT NULL,
  body            text NOT NULL
);

CREATE TABLE attempts (
  job_id bigint NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  number bigint NOT NULL,
  state  text NOT NULL,
  body   text NOT NULL,
  PRIMARY KEY (job_id, number)
);

CREATE TABLE tasks (
  job_id  bigint NOT NULL,
  attempt bigint NOT NULL,
  idx     bigint NOT NULL,
  body    text NOT NULL,
  PRIMARY KEY (job_id, attempt, idx),
  FOREIGN KEY (job_id, attempt) REFERENCES attempts (job_id, number) ON DELETE CASCADE
);

-- Outlives the jobs it tells of; pruned by age. 0 stands for none.
CREATE TABLE history (
  seq     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms   bigint NOT NULL,
  kind    text NOT NULL,
  job_id  bigint NOT NULL,
  attempt bigint NOT NULL,
  node_id bigint NOT NULL,
  text    text NOT NULL
);
CREATE INDEX history_by_job ON history (job_id, seq);
CREATE INDEX history_by_time ON history (at_ms);
