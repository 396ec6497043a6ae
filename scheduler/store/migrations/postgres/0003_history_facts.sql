-- The amounts of an entry, as JSON; what is left out has its default. The sentence that people read is made of them.
ALTER TABLE history ADD COLUMN facts text NOT NULL DEFAULT '{}';
