-- Chats and the ledger of tool calls. Nothing here parses a stored JSON text: a `\u0000` in it would make every reader of the row
-- fail. What triggers and indexes need stands in columns. Raw words of models are bytes, because they may have a U+0000.

-- The processes that have written here. Each start is a new row, so an old process is never this one.
CREATE TABLE madang.nodes (
    node    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program text   NOT NULL,
    -- Counts what proves that all commits before it are durable.
    beat    bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20);

-- Who may write for a user, and what is stored of the user. Each write changes this row under its claim: without the claim nothing
-- is written. Its lock puts the writes for a user, and so the numbers of the user's calls, into the order of their commits.
CREATE TABLE madang.users (
    user_id text   COLLATE "C" PRIMARY KEY,
    node    bigint,
    epoch   bigint NOT NULL DEFAULT 0,
    claim   uuid,
    bytes   bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE madang.sessions (
    session      text    COLLATE "C" PRIMARY KEY,
    user_id      text    COLLATE "C" NOT NULL REFERENCES madang.users,
    opened_at    bigint  NOT NULL,
    -- The moment by which it is listed among the user's chats; NULL until it has a message of the user.
    last_at      bigint,
    -- The title that the user gave the chat; NULL where it is made of a text. It is erased with the texts.
    title        text,
    -- Shows to a holder of the key that this user opened the session.
    seal         text,
    -- Whether the texts of the chat are to be erased, and the entry up to which they are.
    is_temporary boolean NOT NULL DEFAULT FALSE,
    erased_to    bigint  NOT NULL DEFAULT 0,
    -- The end of the session's chain of transitions.
    chain_length bigint  NOT NULL DEFAULT 0,
    chain_head   bytea   NOT NULL DEFAULT decode(repeat('00', 32), 'hex') CHECK (octet_length(chain_head) = 32)
) WITH (fillfactor = 50);

CREATE INDEX chats_of_user ON madang.sessions (user_id, last_at, session) WHERE last_at IS NOT NULL;
CREATE INDEX sessions_of_user ON madang.sessions (user_id);
CREATE INDEX temporary_chats ON madang.sessions (session) WHERE is_temporary;

-- The names of the keys that have sealed anything here. The keys themselves are kept elsewhere.
CREATE TABLE madang.seal_keys (
    key   text   COLLATE "C" PRIMARY KEY,
    since bigint NOT NULL
);

CREATE TABLE madang.turns (
    session      text   COLLATE "C" NOT NULL REFERENCES madang.sessions,
    turn         uuid   NOT NULL,
    user_id      text   COLLATE "C" NOT NULL,
    began_at     bigint NOT NULL,
    options      text   NOT NULL,
    language     text,
    -- What the options count of the user's room: their bytes if they have instructions.
    counted      bigint NOT NULL DEFAULT 0 CHECK (counted >= 0),
    key          text   COLLATE "C",
    -- The hash of what the user typed.
    text         bytea  NOT NULL CHECK (octet_length(text) = 32),
    -- The last round whose completion asked for tools, and the place of its first call.
    round        bigint NOT NULL CHECK (round >= 0),
    round_from   bigint NOT NULL CHECK ((round > 0) = (round_from > 0)),
    dismissed_at bigint,
    resumes      bigint NOT NULL,
    ended_at     bigint,
    -- The entry of the transcript behind which the end stands.
    ended_behind bigint,
    ending       text,
    error        text,
    usage        text   NOT NULL,
    PRIMARY KEY (session, turn),
    CHECK ((ended_at IS NULL) = (ending IS NULL)),
    CHECK ((ended_at IS NULL) = (ended_behind IS NULL))
) WITH (fillfactor = 70);

-- A session is in one turn at a time.
CREATE UNIQUE INDEX open_turns ON madang.turns (session) WHERE ended_at IS NULL;
CREATE INDEX open_turns_of_users ON madang.turns (user_id) WHERE ended_at IS NULL;
-- A repeated submit is the same turn.
CREATE UNIQUE INDEX turns_of_keys ON madang.turns (session, key) WHERE key IS NOT NULL;

-- The transcript. A tool call has its place from its proposal on and no content of its own: the ledger has it.
CREATE TABLE madang.messages (
    session text   COLLATE "C" NOT NULL,
    seq     bigint NOT NULL CHECK (seq > 0),
    turn    uuid   NOT NULL,
    at      bigint NOT NULL,
    content text,
    call    uuid,
    PRIMARY KEY (session, seq),
    FOREIGN KEY (session, turn) REFERENCES madang.turns,
    CHECK ((content IS NULL) <> (call IS NULL))
);

CREATE INDEX clearings ON madang.messages (session, seq) WHERE content = '{"role":"cleared"}';

-- The ledger, append-only: what happened to every call, in the order of the session's chain. The text alone is in the hash; the
-- columns behind it repeat what the rules of the tables ask about.
CREATE TABLE madang.transitions (
    session       text   COLLATE "C" NOT NULL REFERENCES madang.sessions,
    position      bigint NOT NULL CHECK (position > 0),
    call          uuid   NOT NULL,
    at            bigint NOT NULL,
    step          text   NOT NULL
                  CHECK (step IN ('proposed', 'awaiting', 'approved', 'running', 'ended', 'resolved', 'revoked')),
    transition    text   NOT NULL,
    -- Random bytes in the hash: erased with the text, they leave a hash that tells nothing of it.
    salt          bytea  NOT NULL CHECK (octet_length(salt) = 16),
    hash          bytea  NOT NULL CHECK (octet_length(hash) = 32),
    effect        text,
    result        text,
    -- The call's user, or who decided or found out; NULL where nobody or a handler did.
    by_user       text   COLLATE "C",
    digest        bytea,
    schema        bytea,
    expires_at    bigint,
    -- The kind of approval, the call that it rests on with the number of its use, and what a standing one covers.
    approval      text   CHECK (approval IN ('once', 'always', 'standing', 'edited')),
    rests_on      uuid,
    use_number    bigint,
    until         bigint,
    uses          bigint,
    resource      bytea,
    has_arguments boolean NOT NULL,
    PRIMARY KEY (session, position)
);

-- A call takes each step once: one answer wins, and what it approves begins once.
CREATE UNIQUE INDEX steps_are_taken_once ON madang.transitions (call, step);
-- A standing approval is used so many times, each with a number of its own.
CREATE UNIQUE INDEX standing_approvals_are_used_once ON madang.transitions (rests_on, use_number)
WHERE step = 'approved' AND approval = 'standing';

-- Where every call stands: follows from the transitions and is kept for questions.
CREATE TABLE madang.calls (
    -- Drawn under the lock of the user's row. Over all users pages go by the transaction first, up to those that still run.
    number        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tx            xid8   NOT NULL DEFAULT pg_current_xact_id(),
    call          uuid   NOT NULL UNIQUE,
    session       text   COLLATE "C" NOT NULL,
    turn          uuid   NOT NULL,
    seq           bigint NOT NULL,
    user_id       text   COLLATE "C" NOT NULL,
    name          bytea  NOT NULL,
    raw_arguments bytea  NOT NULL,
    -- The model that asked, where it has a name.
    model         text,
    -- What the model wants back with the call.
    opaque        bytea,
    proposed_at   bigint NOT NULL,
    -- The place of the call's last step in the chain of its session.
    position      bigint NOT NULL,
    state         text   NOT NULL CHECK (state IN ('proposed', 'awaiting', 'approved', 'running', 'ended')),
    -- The validated arguments; NULL where there are none but the raw text.
    arguments     text,
    -- What was shown, where the user changed it.
    asked         text,
    -- The tool with its schema, and every byte that was shown.
    schema        bytea  CHECK (octet_length(schema) = 32),
    shown         text,
    digest        bytea  CHECK (octet_length(digest) = 32),
    outcome       text,
    effect        text   CHECK (effect IN ('none', 'committed', 'unknown')),
    result        text   CHECK (result IN ('shown', 'discarded')),
    decided_by    text   COLLATE "C",
    -- How it was approved, when, and until when its question can be answered or its approval used.
    approval      text,
    kind          text,
    rests_on      uuid,
    -- Shows that it was decided where the keys are.
    seal          text,
    approved_at   bigint,
    expires_at    bigint,
    -- When the standing approval that was given about it ended.
    revoked_at    bigint,
    -- Who found out what it did, and when, where its effect was unknown when it ended.
    resolved_by   text,
    resolved_at   bigint,
    ended_at      bigint,
    FOREIGN KEY (session, seq) REFERENCES madang.messages,
    CHECK ((state = 'ended') = (outcome IS NOT NULL)),
    CHECK ((state = 'ended') = (effect IS NOT NULL)),
    CHECK ((state = 'ended') = (result IS NOT NULL)),
    CHECK ((state = 'ended') = (ended_at IS NOT NULL)),
    CHECK ((approval IS NULL) = (kind IS NULL)),
    CHECK ((resolved_by IS NULL) = (resolved_at IS NULL)),
    CHECK (resolved_by IS NULL OR effect <> 'unknown')
) WITH (fillfactor = 70);

CREATE INDEX calls_by_transaction ON madang.calls (tx, number);
CREATE INDEX calls_of_session ON madang.calls (session, number);
CREATE INDEX calls_of_user ON madang.calls (user_id, number);
CREATE INDEX standing_approvals ON madang.calls (session, number) WHERE kind = 'always' AND revoked_at IS NULL;
CREATE INDEX uses_of_standing_approvals ON madang.calls (rests_on) WHERE rests_on IS NOT NULL;
CREATE INDEX unknown_effects ON madang.calls (session, number) WHERE effect = 'unknown';
CREATE INDEX open_calls ON madang.calls (session, number) WHERE ended_at IS NULL;

-- What stays of the chains of users who were forgotten: the hashes of the links, and a seal over all of it.
CREATE TABLE madang.erased (
    id       uuid   PRIMARY KEY,
    -- Who ordered it.
    by_user  text   NOT NULL,
    at       bigint NOT NULL,
    calls    bigint NOT NULL,
    messages bigint NOT NULL,
    hashes   bytea  NOT NULL CHECK (octet_length(hashes) % 32 = 0),
    seal     text
);

-- The sessions of which the open transaction erases something; empty for every other transaction.
CREATE TABLE madang.erasing (
    session text COLLATE "C" PRIMARY KEY
);
