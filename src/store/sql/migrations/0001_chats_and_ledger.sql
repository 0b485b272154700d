-- Chats and the ledger of tool calls. An embedder's own tables may stand beside them, so all names begin with madang_.

CREATE TABLE madang_sessions (
    session      TEXT    NOT NULL PRIMARY KEY,
    user         TEXT    NOT NULL,
    opened_at    INTEGER NOT NULL,
    -- The end of the session's chain of transitions.
    chain_length INTEGER NOT NULL DEFAULT 0,
    chain_head   BLOB    NOT NULL DEFAULT (zeroblob(32)) CHECK (length(chain_head) = 32)
) STRICT, WITHOUT ROWID;

CREATE TABLE madang_turns (
    session      TEXT    NOT NULL REFERENCES madang_sessions (session),
    turn         TEXT    NOT NULL,
    began_at     INTEGER NOT NULL,
    options      TEXT    NOT NULL,
    key          TEXT,
    -- The hash of what the user typed.
    text         BLOB    NOT NULL CHECK (length(text) = 32),
    -- The last round whose completion asked for tools, and the place of its first call.
    round        INTEGER NOT NULL DEFAULT 0 CHECK (round >= 0),
    round_from   INTEGER NOT NULL DEFAULT 0 CHECK ((round > 0) = (round_from > 0)),
    dismissed_at INTEGER,
    resumes      INTEGER NOT NULL DEFAULT 0,
    ended_at     INTEGER,
    ending       TEXT,
    error        TEXT,
    usage        TEXT    NOT NULL,
    PRIMARY KEY (session, turn),
    CHECK ((ended_at IS NULL) = (ending IS NULL))
) STRICT, WITHOUT ROWID;

-- A session is in one turn at a time.
CREATE UNIQUE INDEX madang_open_turns ON madang_turns (session) WHERE ended_at IS NULL;
-- A repeated submit is the same turn.
CREATE UNIQUE INDEX madang_turns_of_keys ON madang_turns (session, key) WHERE key IS NOT NULL;

-- The transcript. A tool call has its place from its proposal on and no content of its own: the ledger has it.
CREATE TABLE madang_messages (
    session TEXT    NOT NULL,
    seq     INTEGER NOT NULL CHECK (seq > 0),
    turn    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    content TEXT,
    call    TEXT,
    PRIMARY KEY (session, seq),
    FOREIGN KEY (session, turn) REFERENCES madang_turns (session, turn),
    CHECK ((content IS NULL) <> (call IS NULL))
) STRICT, WITHOUT ROWID;

-- The ledger, append-only: what happened to every call, in the order of the session's chain.
CREATE TABLE madang_transitions (
    session    TEXT    NOT NULL REFERENCES madang_sessions (session),
    position   INTEGER NOT NULL CHECK (position > 0),
    call       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    step       TEXT    NOT NULL
               CHECK (step IN ('proposed', 'awaiting', 'approved', 'running', 'ended', 'settled')),
    transition TEXT    NOT NULL,
    hash       BLOB    NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;

-- Where every call stands: follows from the transitions and is kept for questions.
CREATE TABLE madang_calls (
    number        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    call          TEXT    NOT NULL UNIQUE,
    session       TEXT    NOT NULL,
    turn          TEXT    NOT NULL,
    seq           INTEGER NOT NULL,
    user          TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    raw_arguments TEXT    NOT NULL,
    -- The validated arguments; NULL where there are none but the raw text.
    arguments     TEXT,
    digest        BLOB    CHECK (length(digest) = 32),
    -- When the question about it expires, and with it the approval.
    expires_at    INTEGER,
    state         TEXT    NOT NULL CHECK (state IN ('proposed', 'awaiting', 'approved', 'running', 'ended')),
    outcome       TEXT,
    effect        TEXT    CHECK (effect IN ('none', 'committed', 'unknown')),
    result        TEXT    CHECK (result IN ('shown', 'discarded')),
    decided_by    TEXT,
    proposed_at   INTEGER NOT NULL,
    ended_at      INTEGER,
    FOREIGN KEY (session, seq) REFERENCES madang_messages (session, seq),
    CHECK ((state = 'ended') = (outcome IS NOT NULL)),
    CHECK ((state = 'ended') = (effect IS NOT NULL)),
    CHECK ((state = 'ended') = (result IS NOT NULL)),
    CHECK ((state = 'ended') = (ended_at IS NOT NULL))
) STRICT;

CREATE INDEX madang_calls_of_session ON madang_calls (session, number);
CREATE INDEX madang_open_calls ON madang_calls (number) WHERE state <> 'ended';

-- Only the steps of the specification, each behind the last of its session's chain.
CREATE TRIGGER madang_transitions_are_legal BEFORE INSERT ON madang_transitions
WHEN NOT coalesce(
    CASE (SELECT state FROM madang_calls WHERE call = NEW.call AND session = NEW.session)
        WHEN 'proposed' THEN NEW.step IN ('awaiting', 'running', 'ended')
        WHEN 'awaiting' THEN NEW.step IN ('approved', 'ended')
        WHEN 'approved' THEN NEW.step IN ('running', 'ended')
        WHEN 'running' THEN NEW.step = 'ended'
        WHEN 'ended' THEN NEW.step = 'settled'
        ELSE NEW.step = 'proposed' AND NOT EXISTS (SELECT 1 FROM madang_calls WHERE call = NEW.call)
    END
    AND NEW.position = (SELECT chain_length + 1 FROM madang_sessions WHERE session = NEW.session), FALSE)
BEGIN
    SELECT raise(ABORT, 'the call cannot take this step');
END;

-- What was written stays as it was written.
CREATE TRIGGER madang_transitions_stay BEFORE DELETE ON madang_transitions
BEGIN
    SELECT raise(ABORT, 'the ledger is append-only');
END;

CREATE TRIGGER madang_transitions_stay_the_same BEFORE UPDATE ON madang_transitions
BEGIN
    SELECT raise(ABORT, 'the ledger is append-only');
END;

CREATE TRIGGER madang_calls_stay BEFORE DELETE ON madang_calls
BEGIN
    SELECT raise(ABORT, 'the ledger is append-only');
END;

CREATE TRIGGER madang_messages_stay BEFORE DELETE ON madang_messages
BEGIN
    SELECT raise(ABORT, 'the transcript is append-only');
END;

CREATE TRIGGER madang_messages_stay_the_same BEFORE UPDATE ON madang_messages
BEGIN
    SELECT raise(ABORT, 'the transcript is append-only');
END;

CREATE TRIGGER madang_turns_stay BEFORE DELETE ON madang_turns
BEGIN
    SELECT raise(ABORT, 'turns are not deleted');
END;

CREATE TRIGGER madang_sessions_stay BEFORE DELETE ON madang_sessions
BEGIN
    SELECT raise(ABORT, 'sessions are not deleted');
END;

CREATE TRIGGER madang_sessions_keep_their_user BEFORE UPDATE OF session, user, opened_at ON madang_sessions
BEGIN
    SELECT raise(ABORT, 'a session keeps its user');
END;
