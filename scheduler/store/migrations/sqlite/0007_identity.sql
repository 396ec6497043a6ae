-- Tokens, nodes' identities, sealed keys, users' secrets. The body is JSON (docs/decisions/0005-rows-as-json.md).
CREATE TABLE identity (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT;

-- The audit trail, append only, each row chained to the one before (docs/decisions/0029-the-audit-trail.md).
CREATE TABLE audit (
  seq       INTEGER PRIMARY KEY,
  at_ms     INTEGER NOT NULL,
  user_name TEXT NOT NULL,
  body      TEXT NOT NULL,
  hash      TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_by_user ON audit (user_name, seq);
-- The newest row that went by its age: what is there begins behind it.
INSERT INTO meta (key, value) VALUES ('audit_base_seq', '0'), ('audit_base_hash', '');
