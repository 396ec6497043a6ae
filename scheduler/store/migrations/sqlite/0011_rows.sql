-- All live rows in one table, by kind and key (codec/row_kinds.h): a new kind of rows needs no migration. The body is JSON
-- (docs/decisions/0005-rows-as-json.md).
CREATE TABLE rows (
  kind TEXT NOT NULL,
  key  TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT;

INSERT INTO rows (kind, key, body)
  SELECT 'node', CAST(id AS TEXT), body FROM nodes ORDER BY id;
INSERT INTO rows (kind, key, body)
  SELECT 'job', CAST(id AS TEXT), body FROM jobs ORDER BY id;
INSERT INTO rows (kind, key, body)
  SELECT 'attempt', job_id || '.' || number, body FROM attempts ORDER BY job_id, number;
INSERT INTO rows (kind, key, body)
  SELECT 'task', job_id || '.' || attempt || '.' || idx, body FROM tasks ORDER BY job_id, attempt, idx;
INSERT INTO rows (kind, key, body)
  SELECT 'share', team || '/' || user_name, body FROM shares;
INSERT INTO rows (kind, key, body)
  SELECT 'life_table', level || '/' || nodes || '/' || limit_minutes || '/' || user_name, body FROM life_tables;
INSERT INTO rows (kind, key, body)
  SELECT 'reservation', name, body FROM reservations;
INSERT INTO rows (kind, key, body)
  SELECT CASE WHEN kind <> 'import' THEN kind WHEN name = 'layout' THEN 'layout_import' ELSE 'quota_import' END,
    name, body FROM accounts;
INSERT INTO rows (kind, key, body)
  SELECT CASE kind WHEN 'node' THEN 'machine' ELSE kind END, name, body FROM identity;

DROP TABLE tasks;
DROP TABLE attempts;
DROP TABLE jobs;
DROP TABLE nodes;
DROP TABLE shares;
DROP TABLE life_tables;
DROP TABLE reservations;
DROP TABLE accounts;
DROP TABLE identity;
