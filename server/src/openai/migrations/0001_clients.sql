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
    body TEXT NOT NULL,
    session TEXT NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (user, body)
) STRICT, WITHOUT ROWID;

CREATE INDEX server_tries_by_age ON server_tries (at);
