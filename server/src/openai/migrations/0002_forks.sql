-- The chats that began with an earlier message of another one, which a person had changed.
CREATE TABLE server_forks (
    user TEXT NOT NULL,
    -- The chat as the client names it.
    chat TEXT NOT NULL,
    fork TEXT NOT NULL,
    -- The highest one is the newest fork.
    number INTEGER NOT NULL,
    PRIMARY KEY (user, chat, fork)
) STRICT, WITHOUT ROWID;
