-- Users, teams and quotas, as operators set them. The body is JSON (docs/decisions/0005-rows-as-json.md).
CREATE TABLE accounts (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT;
