-- Chats and the ledger of tool calls. An embedder's own tables may stand beside them, so all names begin with madang_.

CREATE TABLE madang_sessions (
    session      TEXT    NOT NULL PRIMARY KEY,
    user         TEXT    NOT NULL,
    opened_at    INTEGER NOT NULL,
    -- The moment by which it is listed among the user's chats; NULL until it has a message of the user.
    last_at      INTEGER,
    -- Shows to a holder of the key that this user opened the session.
    seal         TEXT,
    -- Whether the texts of the chat are to be erased, and the entry up to which they are.
    is_temporary INTEGER NOT NULL DEFAULT 0 CHECK (is_temporary IN (0, 1)),
    erased_to    INTEGER NOT NULL DEFAULT 0,
    -- The end of the session's chain of transitions.
    chain_length INTEGER NOT NULL DEFAULT 0,
    chain_head   BLOB    NOT NULL DEFAULT (zeroblob(32)) CHECK (length(chain_head) = 32)
) STRICT, WITHOUT ROWID;

CREATE INDEX madang_chats_of_user ON madang_sessions (user, last_at, session) WHERE last_at IS NOT NULL;

CREATE INDEX madang_temporary_chats ON madang_sessions (session) WHERE is_temporary;

-- What is stored of each user: the bytes of the messages and of the steps of calls.
CREATE TABLE madang_stored (
    user  TEXT    NOT NULL PRIMARY KEY,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The names of the keys that have sealed anything here. A process that opens the file needs the keys, which are kept
-- elsewhere.
CREATE TABLE madang_seal_keys (
    key   TEXT    NOT NULL PRIMARY KEY,
    since INTEGER NOT NULL
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
    -- The entry of the transcript behind which the end stands.
    ended_behind INTEGER,
    ending       TEXT,
    error        TEXT,
    usage        TEXT    NOT NULL,
    PRIMARY KEY (session, turn),
    CHECK ((ended_at IS NULL) = (ending IS NULL)),
    CHECK ((ended_at IS NULL) = (ended_behind IS NULL))
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

CREATE INDEX madang_clearings ON madang_messages (session, seq) WHERE content = '{"role":"cleared"}';

-- The ledger, append-only: what happened to every call, in the order of the session's chain.
CREATE TABLE madang_transitions (
    session    TEXT    NOT NULL REFERENCES madang_sessions (session),
    position   INTEGER NOT NULL CHECK (position > 0),
    call       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    step       TEXT    NOT NULL
               CHECK (step IN ('proposed', 'awaiting', 'approved', 'running', 'ended', 'resolved', 'revoked')),
    transition TEXT    NOT NULL,
    -- Random bytes in the hash: erased with the text, they leave a hash that tells nothing of it.
    salt       BLOB    NOT NULL CHECK (length(salt) = 16),
    hash       BLOB    NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;

-- One answer a call wins, and what it approves begins once.
CREATE UNIQUE INDEX madang_calls_are_approved_once ON madang_transitions (call) WHERE step = 'approved';
CREATE UNIQUE INDEX madang_calls_run_once ON madang_transitions (call) WHERE step = 'running';
-- A standing approval is used so many times, each with a number of its own.
CREATE UNIQUE INDEX madang_standing_approvals_are_used_once ON madang_transitions (
    transition ->> '$.approval.by_call', transition ->> '$.approval.number'
) WHERE step = 'approved' AND transition ->> '$.approval.kind' = 'standing';

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
    -- The model that asked, where it has a name.
    model         TEXT,
    -- What the model wants back with the call.
    opaque        TEXT,
    -- The validated arguments; NULL where there are none but the raw text.
    arguments     TEXT,
    -- What was shown, where the user changed it.
    asked         TEXT,
    -- The tool with its schema, and every byte that was shown.
    schema        BLOB    CHECK (length(schema) = 32),
    shown         TEXT,
    digest        BLOB    CHECK (length(digest) = 32),
    state         TEXT    NOT NULL CHECK (state IN ('proposed', 'awaiting', 'approved', 'running', 'ended')),
    outcome       TEXT,
    effect        TEXT    CHECK (effect IN ('none', 'committed', 'unknown')),
    result        TEXT    CHECK (result IN ('shown', 'discarded')),
    decided_by    TEXT,
    -- How it was approved, when, and until when its question can be answered or its approval used.
    approval      TEXT,
    -- Shows that it was decided where the keys are.
    seal          TEXT,
    approved_at   INTEGER,
    expires_at    INTEGER,
    -- When the standing approval that was given about it ended.
    revoked_at    INTEGER,
    -- Who found out what it did, and when, where its effect was unknown when it ended.
    resolved_by    TEXT,
    resolved_at    INTEGER,
    proposed_at   INTEGER NOT NULL,
    ended_at      INTEGER,
    FOREIGN KEY (session, seq) REFERENCES madang_messages (session, seq),
    CHECK ((state = 'ended') = (outcome IS NOT NULL)),
    CHECK ((state = 'ended') = (effect IS NOT NULL)),
    CHECK ((state = 'ended') = (result IS NOT NULL)),
    CHECK ((state = 'ended') = (ended_at IS NOT NULL)),
    CHECK ((resolved_by IS NULL) = (resolved_at IS NULL)),
    CHECK (resolved_by IS NULL OR effect <> 'unknown')
) STRICT;

CREATE INDEX madang_calls_of_session ON madang_calls (session, number);
CREATE INDEX madang_calls_of_user ON madang_calls (user, number);
CREATE INDEX madang_standing_approvals ON madang_calls (session, number)
WHERE approval ->> '$.kind' = 'always' AND revoked_at IS NULL;
CREATE INDEX madang_uses_of_standing_approvals ON madang_calls (approval ->> '$.by_call')
WHERE approval ->> '$.by_call' IS NOT NULL;
CREATE INDEX madang_unknown_effects ON madang_calls (session, number) WHERE effect = 'unknown';
-- By the end and not by the state, which each step changes: an index whose columns a step changes is written with it.
CREATE INDEX madang_open_calls ON madang_calls (session, number) WHERE ended_at IS NULL;

-- What stays of the chains of users who were forgotten: the hashes of the links, and a seal over all of it.
CREATE TABLE madang_erased (
    id       TEXT    NOT NULL PRIMARY KEY,
    -- Who ordered it.
    by_user  TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    calls    INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    hashes   BLOB    NOT NULL CHECK (length(hashes) % 32 = 0),
    seal     TEXT
) STRICT, WITHOUT ROWID;

-- The sessions of which the open transaction erases something; empty at any other time.
CREATE TABLE madang_erasing (
    session TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TRIGGER madang_erased_stay BEFORE DELETE ON madang_erased
BEGIN
    SELECT raise(ABORT, 'what was erased stays on record');
END;

CREATE TRIGGER madang_erased_stay_the_same BEFORE UPDATE ON madang_erased
BEGIN
    SELECT raise(ABORT, 'what was erased stays on record');
END;

-- `REPLACE` deletes without asking the triggers of a deletion.
CREATE TRIGGER madang_erased_are_not_replaced BEFORE INSERT ON madang_erased
WHEN EXISTS (SELECT 1 FROM madang_erased WHERE id = NEW.id)
BEGIN
    SELECT raise(ABORT, 'what was erased stays on record');
END;

-- A trigger that inserts here refuses its statement, and says why. The texts stand in the trigger: SQLite before 3.47,
-- which other programs read this file with, knows no others.
CREATE VIEW madang_refused AS SELECT '' AS why;
CREATE TRIGGER madang_refused_is_refused INSTEAD OF INSERT ON madang_refused
BEGIN
    SELECT CASE NEW.why
        WHEN 'too much' THEN raise(ABORT, 'too much is stored of the user')
        ELSE raise(ABORT, 'there is no such row')
    END;
END;

-- Only the steps of the specification, each behind the last of its session's chain. What never ran did nothing.
CREATE TRIGGER madang_transitions_are_legal BEFORE INSERT ON madang_transitions
WHEN NOT coalesce(
    CASE (SELECT state FROM madang_calls WHERE call = NEW.call AND session = NEW.session)
        WHEN 'proposed' THEN NEW.step IN ('awaiting', 'running')
            OR (NEW.step = 'ended' AND NEW.transition ->> '$.effect' = 'none')
        WHEN 'awaiting' THEN NEW.step = 'approved'
            OR (NEW.step = 'ended' AND NEW.transition ->> '$.effect' = 'none')
        WHEN 'approved' THEN NEW.step IN ('running', 'revoked')
            OR (NEW.step = 'ended' AND NEW.transition ->> '$.effect' = 'none')
        WHEN 'running' THEN NEW.step IN ('ended', 'revoked')
        WHEN 'ended' THEN NEW.step IN ('resolved', 'revoked')
        ELSE NEW.step = 'proposed' AND NOT EXISTS (SELECT 1 FROM madang_calls WHERE call = NEW.call)
    END
    AND NEW.position = (SELECT chain_length + 1 FROM madang_sessions WHERE session = NEW.session), FALSE)
BEGIN
    SELECT raise(ABORT, 'the call cannot take this step');
END;

-- An approval comes from the call's user before the question expires, is bound to what was shown unless the user typed
-- something else, and rests on a standing one only where that covers this tool, schema, session and user.
CREATE TRIGGER madang_approvals_are_bound BEFORE INSERT ON madang_transitions
WHEN NEW.step = 'approved' AND NOT coalesce((
    SELECT NEW.at < asked.expires_at
        AND NEW.transition ->> '$.by' = asked.user
        AND CASE NEW.transition ->> '$.approval.kind'
            WHEN 'edited' THEN NEW.transition -> '$.arguments' IS NOT NULL
            ELSE NEW.transition ->> '$.digest' = lower(hex(asked.digest)) END
        AND (NEW.transition ->> '$.approval.kind' <> 'standing' OR EXISTS (
            SELECT 1 FROM madang_calls AS given
            WHERE given.call = NEW.transition ->> '$.approval.by_call'
                AND given.session = asked.session AND given.user = asked.user AND given.name = asked.name
                AND given.approval ->> '$.kind' = 'always' AND given.revoked_at IS NULL
                AND given.approval ->> '$.schema' = NEW.transition ->> '$.approval.schema'
                AND given.approval ->> '$.resource' IS NEW.transition ->> '$.approval.resource'
                AND given.approval ->> '$.until' > NEW.at
                AND NEW.transition ->> '$.approval.number' BETWEEN 1 AND given.approval ->> '$.uses'))
    FROM madang_calls AS asked WHERE asked.call = NEW.call), FALSE)
BEGIN
    SELECT raise(ABORT, 'the approval is not bound to its question');
END;

-- What was approved runs before its approval expires, and is what was approved.
CREATE TRIGGER madang_approvals_are_kept BEFORE INSERT ON madang_transitions
WHEN NEW.step = 'running' AND NOT coalesce((
    SELECT state <> 'approved' OR (NEW.at < expires_at AND NEW.transition ->> '$.digest' = lower(hex(digest)))
    FROM madang_calls WHERE call = NEW.call), FALSE)
BEGIN
    SELECT raise(ABORT, 'this was not approved, or too long ago');
END;

-- Only a standing approval can be revoked, by the call's user.
CREATE TRIGGER madang_standing_approvals_are_revoked_once BEFORE INSERT ON madang_transitions
WHEN NEW.step = 'revoked' AND NOT coalesce((
    SELECT approval ->> '$.kind' = 'always' AND revoked_at IS NULL AND NEW.transition ->> '$.by' = user
    FROM madang_calls WHERE call = NEW.call), FALSE)
BEGIN
    SELECT raise(ABORT, 'there is no standing approval to revoke');
END;

-- Only an unknown effect can be resolved, and among people by the call's user.
CREATE TRIGGER madang_effects_are_resolved_once BEFORE INSERT ON madang_transitions
WHEN NEW.step = 'resolved' AND NOT coalesce((
    SELECT effect = 'unknown' AND NEW.transition ->> '$.effect' IN ('none', 'committed')
        AND CASE NEW.transition ->> '$.by.kind'
            WHEN 'handler' THEN TRUE
            WHEN 'person' THEN NEW.transition ->> '$.by.user' = user
        END
    FROM madang_calls WHERE call = NEW.call), FALSE)
BEGIN
    SELECT raise(ABORT, 'there is no unknown effect to resolve');
END;

-- What was written stays as it was written, until it is erased.
CREATE TRIGGER madang_transitions_stay BEFORE DELETE ON madang_transitions
WHEN NOT EXISTS (SELECT 1 FROM madang_erasing WHERE session = OLD.session)
BEGIN
    SELECT raise(ABORT, 'the ledger is append-only');
END;

CREATE TRIGGER madang_transitions_stay_the_same BEFORE UPDATE ON madang_transitions
BEGIN
    SELECT raise(ABORT, 'the ledger is append-only');
END;

CREATE TRIGGER madang_calls_stay BEFORE DELETE ON madang_calls
WHEN NOT EXISTS (SELECT 1 FROM madang_erasing WHERE session = OLD.session)
BEGIN
    SELECT raise(ABORT, 'the ledger is append-only');
END;

-- The ledger alone says how a call was approved, so no other SQL can make a standing approval of it.
CREATE TRIGGER madang_approvals_follow_the_ledger BEFORE UPDATE OF approval ON madang_calls
WHEN NEW.approval IS NOT OLD.approval AND NEW.approval IS NOT (
    SELECT transition -> '$.approval' FROM madang_transitions WHERE call = NEW.call AND step = 'approved')
BEGIN
    SELECT raise(ABORT, 'only the ledger approves');
END;

-- A standing approval that has ended does not come back.
CREATE TRIGGER madang_standing_approvals_stay_revoked BEFORE UPDATE OF revoked_at ON madang_calls
WHEN OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at
BEGIN
    SELECT raise(ABORT, 'a revoked approval stays revoked');
END;

CREATE TRIGGER madang_messages_stay BEFORE DELETE ON madang_messages
WHEN NOT EXISTS (SELECT 1 FROM madang_erasing WHERE session = OLD.session)
BEGIN
    SELECT raise(ABORT, 'the transcript is append-only');
END;

CREATE TRIGGER madang_messages_stay_the_same BEFORE UPDATE ON madang_messages
BEGIN
    SELECT raise(ABORT, 'the transcript is append-only');
END;

CREATE TRIGGER madang_entries_are_erased_once BEFORE UPDATE OF erased_to ON madang_sessions
WHEN NEW.erased_to < OLD.erased_to OR NOT EXISTS (SELECT 1 FROM madang_erasing WHERE session = OLD.session)
BEGIN
    SELECT raise(ABORT, 'the transcript is append-only');
END;

CREATE TRIGGER madang_turns_stay BEFORE DELETE ON madang_turns
WHEN NOT EXISTS (SELECT 1 FROM madang_erasing WHERE session = OLD.session)
BEGIN
    SELECT raise(ABORT, 'turns are not deleted');
END;

CREATE TRIGGER madang_sessions_stay BEFORE DELETE ON madang_sessions
WHEN NOT EXISTS (SELECT 1 FROM madang_erasing WHERE session = OLD.session)
BEGIN
    SELECT raise(ABORT, 'sessions are not deleted');
END;

CREATE TRIGGER madang_sessions_keep_their_user BEFORE UPDATE OF session, user, opened_at, seal ON madang_sessions
BEGIN
    SELECT raise(ABORT, 'a session keeps its user');
END;
