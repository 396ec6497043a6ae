-- Tokens, nodes' identities, sealed keys, users' secrets. The body is JSON (docs/decisions/0005-rows-as-json.md).
CREATE TABLE identity (
  kind text NOT NULL,
  name text NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (kind, name)
);

-- The audit trail, append only, each row chained to the one before (docs/decisions/0029-the-audit-trail.md).
CREATE TABLE audit (
  seq       bigint PRIMARY KEY,
  at_ms     bigint NOT NULL,
  user_name text NOT NULL,
  body      text NOT NULL,
  hash      text NOT NULL
);
CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_by_user ON audit (user_name, seq);
-- The newest row that went by its age: what is there begins behind it.
INSERT INTO meta (key, value) VALUES ('audit_base_seq', '0'), ('audit_base_hash', '');

-- With the rows of the trail: a submission and its row stay one round trip.
DROP FUNCTION glim_commit(
  bigint, bigint, boolean, bigint, bigint, bigint[], bigint[], bigint[], bigint[], bigint[], text[], text[],
  bigint[], text[], bigint[], bigint[], bigint[], text[], text[], bigint[], text[], text[], bigint[], text[],
  bigint[], bigint[], text[], text[], bigint[], bigint[], bigint[], text[], text[], text[], text[], bigint[],
  text[], bigint[], bigint[], text[], bigint[], text[], bigint[], bigint[], bigint[], text[], text[], bigint[],
  bigint[], text[], text[], text[]
);

-- A commit is one call of this function: one round trip, one transaction. `p_epoch` and `p_commits` are what the
-- caller believes: its epoch, and the number of commits when its last one was done. The function answers with what
-- it found, under a lock that keeps everybody else out, and writes only if both are as the caller says: a leader
-- that lost its place, or whose database fell over to a replica that lacks its last commits, changes nothing.
-- A batch that is too large for one call comes as several, in one transaction: only the `p_last` counts the commit.
-- Each table's rows come as one array a column; an empty one stands for none.
CREATE FUNCTION glim_commit(
  p_epoch bigint, p_commits bigint, p_last boolean, p_next_job bigint, p_next_node bigint,
  p_deleted_jobs bigint[],
  p_gone_attempt_jobs bigint[], p_gone_attempt_numbers bigint[],
  p_gone_task_jobs bigint[], p_gone_task_attempts bigint[],
  p_gone_share_teams text[], p_gone_share_users text[],
  p_gone_table_levels bigint[], p_gone_table_users text[], p_gone_table_nodes bigint[], p_gone_table_limits bigint[],
  p_node_ids bigint[], p_node_names text[], p_node_bodies text[],
  p_job_ids bigint[], p_job_states text[], p_job_users text[], p_job_submitted bigint[], p_job_bodies text[],
  p_attempt_jobs bigint[], p_attempt_numbers bigint[], p_attempt_states text[], p_attempt_bodies text[],
  p_task_jobs bigint[], p_task_attempts bigint[], p_task_indexes bigint[], p_task_bodies text[],
  p_share_teams text[], p_share_users text[], p_share_bodies text[],
  p_table_levels bigint[], p_table_users text[], p_table_nodes bigint[], p_table_limits bigint[],
  p_table_bodies text[],
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
  IF cardinality(p_deleted_jobs) > 0 THEN
    DELETE FROM jobs WHERE id = ANY (p_deleted_jobs);
  END IF;
  IF cardinality(p_gone_task_jobs) > 0 THEN
    DELETE FROM tasks USING unnest(p_gone_task_jobs, p_gone_task_attempts) AS gone (job_id, attempt)
      WHERE tasks.job_id = gone.job_id AND tasks.attempt = gone.attempt;
  END IF;
  IF cardinality(p_gone_attempt_jobs) > 0 THEN
    DELETE FROM attempts USING unnest(p_gone_attempt_jobs, p_gone_attempt_numbers) AS gone (job_id, number)
      WHERE attempts.job_id = gone.job_id AND attempts.number = gone.number;
  END IF;
  IF cardinality(p_gone_share_teams) > 0 THEN
    DELETE FROM shares USING unnest(p_gone_share_teams, p_gone_share_users) AS gone (team, user_name)
      WHERE shares.team = gone.team AND shares.user_name = gone.user_name;
  END IF;
  IF cardinality(p_gone_table_levels) > 0 THEN
    DELETE FROM life_tables
      USING unnest(p_gone_table_levels, p_gone_table_users, p_gone_table_nodes, p_gone_table_limits)
        AS gone (level, user_name, nodes, limit_minutes)
      WHERE life_tables.level = gone.level AND life_tables.user_name = gone.user_name
        AND life_tables.nodes = gone.nodes AND life_tables.limit_minutes = gone.limit_minutes;
  END IF;
  IF cardinality(p_node_ids) > 0 THEN
    INSERT INTO nodes (id, name, body) SELECT * FROM unnest(p_node_ids, p_node_names, p_node_bodies)
      ON CONFLICT (id) DO UPDATE SET name = excluded.name, body = excluded.body;
  END IF;
  IF cardinality(p_job_ids) > 0 THEN
    INSERT INTO jobs (id, state, user_name, submitted_at_ms, body)
      SELECT * FROM unnest(p_job_ids, p_job_states, p_job_users, p_job_submitted, p_job_bodies)
      ON CONFLICT (id) DO UPDATE SET state = excluded.state, user_name = excluded.user_name,
        submitted_at_ms = excluded.submitted_at_ms, body = excluded.body;
  END IF;
  IF cardinality(p_attempt_jobs) > 0 THEN
    INSERT INTO attempts (job_id, number, state, body)
      SELECT * FROM unnest(p_attempt_jobs, p_attempt_numbers, p_attempt_states, p_attempt_bodies)
      ON CONFLICT (job_id, number) DO UPDATE SET state = excluded.state, body = excluded.body;
  END IF;
  IF cardinality(p_task_jobs) > 0 THEN
    INSERT INTO tasks (job_id, attempt, idx, body)
      SELECT * FROM unnest(p_task_jobs, p_task_attempts, p_task_indexes, p_task_bodies)
      ON CONFLICT (job_id, attempt, idx) DO UPDATE SET body = excluded.body;
  END IF;
  IF cardinality(p_share_teams) > 0 THEN
    INSERT INTO shares (team, user_name, body) SELECT * FROM unnest(p_share_teams, p_share_users, p_share_bodies)
      ON CONFLICT (team, user_name) DO UPDATE SET body = excluded.body;
  END IF;
  IF cardinality(p_table_levels) > 0 THEN
    INSERT INTO life_tables (level, user_name, nodes, limit_minutes, body)
      SELECT * FROM unnest(p_table_levels, p_table_users, p_table_nodes, p_table_limits, p_table_bodies)
      ON CONFLICT (level, user_name, nodes, limit_minutes) DO UPDATE SET body = excluded.body;
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
