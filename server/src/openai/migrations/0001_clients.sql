-- For clients that name no chat: the chats that end at a history, and the tries of a request.
CREATE TABLE server_chats (
    user TEXT NOT NULL,
    chain TEXT NOT NULL,
    session TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (user, chain, session)
) STRICT, WITHOUT ROWID;

-- Old rows are removed by their age.
CREATE INDEX server_chats_by_age ON server_chats (at);

CREATE TABLE server_tries (
    user TEXT NOT NULL,
    -- The digest of the client's key, or of the body where it has none.
    name TEXT NOT NULL,
    session TEXT NOT NULL,
    key TEXT NOT NULL,
    -- NULL for a client's key: it names its request for ever.
    until INTEGER,
    PRIMARY KEY (user, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX server_tries_by_end ON server_tries (until) WHERE until IS NOT NULL;
