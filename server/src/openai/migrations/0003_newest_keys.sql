-- Of the keys of a user only the newest are kept: each has a number, and the highest one is the newest. A body that was
-- tried without a key has none, and is removed by its age.
ALTER TABLE server_tries ADD COLUMN number INTEGER;

UPDATE server_tries SET number = 0 WHERE until IS NULL;

CREATE INDEX server_tries_by_number ON server_tries (user, number) WHERE number IS NOT NULL;
