-- Nodes that are a team's, or nobody's, from when to when.
CREATE TABLE reservations (
  name text NOT NULL PRIMARY KEY,
  body text NOT NULL
);
