-- All live rows in one table, by kind and key (codec/row_kinds.h): a new kind of rows needs no migration. The body is JSON
-- (docs/decisions/0005-rows-as-json.md).
CREATE TABLE rows (
  kind text COLLATE "C" NOT NULL,
  key  text COLLATE "C" NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (kind, key)
);

INSERT INTO rows (kind, key, body)
  SELECT 'node', id::text, body FROM nodes ORDER BY id;
INSERT INTO rows (kind, key, body)
  SELECT 'job', id::text, body FROM jobs ORDER BY id;
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

DROP FUNCTION glim_commit;

-- A commit is one call of this function: one round trip, one transaction. `p_epoch` and `p_commits` are what the
-- caller believes: its epoch, and the number of commits when its last one was done. The function answers with what
-- it found, under a lock that keeps everybody else out, and writes only if both are as the caller says: a leader
-- that lost its place, or whose database fell over to a replica that lacks its last commits, changes nothing.
-- A batch that is too large for one call comes as several, in one transaction: only the `p_last` counts the commit.
-- Each table's rows come as one array a column; an empty one stands for none.
CREATE FUNCTION glim_commit(
  p_epoch bigint, p_commits bigint, p_last boolean, p_next_job bigint, p_next_node bigint,
  p_gone_kinds text[], p_gone_keys text[],
  p_kinds text[], p_keys text[], p_bodies text[],
  p_entry_times bigint[], p_entry_kinds text[], p_entry_jobs bigint[], p_entry_attempts bigint[],
  p_entry_nodes bigint[], p_entry_texts text[], p_entry_facts text[],
  p_ended_ids bigint[], p_ended_times bigint[], p_ended_users text[], p_ended_states text[], p_ended_bodies text[],
  p_audit_seqs bigint[], p_audit_times bigint[], p_audit_users text[], p_audit_bodies text[], p_audit_hashes text[],
  OUT found_epoch bigint, OUT found_commits bigint
) LANGUAGE plpgsql AS $function$
BEGIN
  -- In the order in which everybody locks them.
  SELECT value::bigint INTO STRICT found_commits FROM meta WHERE key = 'commits' FOR UPDATE;
  SELECT value::bigint INTO STRICT found_epoch FROM meta WHERE key = 'epoch' FOR UPDATE;
  IF found_epoch <> p_epoch OR found_commits <> p_commits THEN
    RETURN;
  END IF;
  IF cardinality(p_gone_kinds) > 0 THEN
    DELETE FROM rows USING unnest(p_gone_kinds, p_gone_keys) AS gone (kind, key)
      WHERE rows.kind = gone.kind AND rows.key = gone.key;
  END IF;
  IF cardinality(p_kinds) > 0 THEN
    INSERT INTO rows (kind, key, body) SELECT * FROM unnest(p_kinds, p_keys, p_bodies)
      ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body;
  END IF;
  IF cardinality(p_entry_times) > 0 THEN
    INSERT INTO history (at_ms, kind, job_id, attempt, node_id, text, facts)
      SELECT new.at_ms, new.kind, new.job_id, new.attempt, new.node_id, new.text, new.facts
      FROM unnest(p_entry_times, p_entry_kinds, p_entry_jobs, p_entry_attempts, p_entry_nodes, p_entry_texts,
                  p_entry_facts)
        WITH ORDINALITY AS new (at_ms, kind, job_id, attempt, node_id, text, facts, place)
      ORDER BY new.place;
  END IF;
  IF cardinality(p_ended_ids) > 0 THEN
    INSERT INTO ended_jobs (job_id, ended_at_ms, user_name, state, body)
      SELECT * FROM unnest(p_ended_ids, p_ended_times, p_ended_users, p_ended_states, p_ended_bodies)
      ON CONFLICT (job_id) DO UPDATE SET ended_at_ms = excluded.ended_at_ms, user_name = excluded.user_name,
        state = excluded.state, body = excluded.body;
  END IF;
  IF cardinality(p_audit_seqs) > 0 THEN
    INSERT INTO audit (seq, at_ms, user_name, body, hash)
      SELECT * FROM unnest(p_audit_seqs, p_audit_times, p_audit_users, p_audit_bodies, p_audit_hashes);
  END IF;
  IF p_last THEN
    UPDATE meta SET value = (p_commits + 1)::text WHERE key = 'commits';
    UPDATE meta SET value = p_next_job::text WHERE key = 'next_job' AND value::bigint < p_next_job;
    UPDATE meta SET value = p_next_node::text WHERE key = 'next_node' AND value::bigint < p_next_node;
  END IF;
END
$function$;
