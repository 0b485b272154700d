CREATE TABLE notes (call bigint NOT NULL);
