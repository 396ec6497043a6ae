-- Nodes that are a team's, or nobody's, from when to when.
CREATE TABLE reservations (
  name TEXT NOT NULL PRIMARY KEY,
  body TEXT NOT NULL
);
