-- What is learnt of work outlives the jobs that it was learnt from.
-- shares: the GPU-time of a user's ended attempts in a team, forgotten by half every day.
CREATE TABLE shares (
  team      TEXT NOT NULL,
  user_name TEXT NOT NULL,
  body      TEXT NOT NULL,
  PRIMARY KEY (team, user_name)
);

-- life_tables: how many jobs of a kind ended after how much service; a kind is told more or less finely by its level,
-- and what the level does not tell apart is empty.
CREATE TABLE life_tables (
  level         INTEGER NOT NULL,
  user_name     TEXT NOT NULL,
  nodes         INTEGER NOT NULL,
  limit_minutes INTEGER NOT NULL,
  body          TEXT NOT NULL,
  PRIMARY KEY (level, user_name, nodes, limit_minutes)
);
