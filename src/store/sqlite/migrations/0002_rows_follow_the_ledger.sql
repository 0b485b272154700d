-- The ledger alone decides. Foreign SQL, such as that of a handler on a lent connection, can take no step that a call
-- cannot take. It can change no row that follows from the steps.

-- The session row is where its chain ends.
CREATE TRIGGER madang_sessions_follow_their_chain AFTER INSERT ON madang_transitions
BEGIN
    UPDATE madang_sessions SET chain_length = NEW.position, chain_head = NEW.hash WHERE session = NEW.session;
END;

CREATE TRIGGER madang_sessions_keep_their_chain BEFORE UPDATE OF chain_length, chain_head ON madang_sessions
WHEN (NEW.chain_length IS NOT OLD.chain_length OR NEW.chain_head IS NOT OLD.chain_head)
    AND NOT (NEW.chain_length = OLD.chain_length + 1 AND EXISTS (
        SELECT 1 FROM madang_transitions
        WHERE session = NEW.session AND position = NEW.chain_length AND hash = NEW.chain_head))
BEGIN
    SELECT raise(ABORT, 'a session ends where its chain ends');
END;

-- A step is what it says it is.
CREATE TRIGGER madang_transitions_are_what_they_say BEFORE INSERT ON madang_transitions
WHEN NEW.step IS NOT NEW.transition ->> '$.state'
BEGIN
    SELECT raise(ABORT, 'the call cannot take this step');
END;

-- A call's row changes with the last step of its session's chain, once, and to what that says.
CREATE TRIGGER madang_calls_follow_the_ledger BEFORE UPDATE ON madang_calls
WHEN NOT coalesce((
    SELECT CASE last.step
        WHEN 'resolved' THEN NEW.state = OLD.state AND OLD.effect = 'unknown'
            AND NEW.effect = last.transition ->> '$.effect'
            AND NEW.resolved_by IS last.transition -> '$.by' AND NEW.resolved_at IS last.at
            AND NEW.outcome IS OLD.outcome AND NEW.result IS OLD.result
        WHEN 'revoked' THEN NEW.state = OLD.state
            AND NEW.effect IS OLD.effect AND NEW.outcome IS OLD.outcome AND NEW.result IS OLD.result
        WHEN 'ended' THEN NEW.state = 'ended' AND OLD.state <> 'ended'
            AND NEW.effect = last.transition ->> '$.effect' AND NEW.result = last.transition ->> '$.result'
        ELSE NEW.state = last.step AND OLD.state <> NEW.state END
        AND (last.step = 'resolved' OR (NEW.resolved_by IS OLD.resolved_by AND NEW.resolved_at IS OLD.resolved_at))
    FROM madang_sessions AS its
    JOIN madang_transitions AS last ON last.session = its.session AND last.position = its.chain_length
    WHERE its.session = NEW.session AND last.call = NEW.call), FALSE)
BEGIN
    SELECT raise(ABORT, 'only the ledger changes a call');
END;

CREATE TRIGGER madang_calls_keep_their_proposal
BEFORE UPDATE OF number, call, session, turn, seq, user, name, raw_arguments, model, opaque, proposed_at ON madang_calls
BEGIN
    SELECT raise(ABORT, 'what was proposed stays as it was');
END;

CREATE TRIGGER madang_calls_begin_in_the_ledger BEFORE INSERT ON madang_calls
WHEN NEW.state <> 'proposed' OR NOT EXISTS (
    SELECT 1 FROM madang_sessions AS its
    JOIN madang_transitions AS last ON last.session = its.session AND last.position = its.chain_length
    WHERE its.session = NEW.session AND last.call = NEW.call AND last.step = 'proposed')
BEGIN
    SELECT raise(ABORT, 'only the ledger proposes a call');
END;

-- `REPLACE` deletes without asking the triggers of a deletion.
CREATE TRIGGER madang_calls_are_not_replaced BEFORE INSERT ON madang_calls
WHEN EXISTS (SELECT 1 FROM madang_calls WHERE call = NEW.call OR number = NEW.number)
BEGIN
    SELECT raise(ABORT, 'the ledger is append-only');
END;

CREATE TRIGGER madang_messages_are_not_replaced BEFORE INSERT ON madang_messages
WHEN EXISTS (SELECT 1 FROM madang_messages WHERE session = NEW.session AND seq = NEW.seq)
    OR NEW.seq <= (SELECT erased_to FROM madang_sessions WHERE session = NEW.session)
BEGIN
    SELECT raise(ABORT, 'the transcript is append-only');
END;

CREATE TRIGGER madang_sessions_are_not_replaced AFTER INSERT ON madang_sessions
WHEN EXISTS (SELECT 1 FROM madang_turns WHERE session = NEW.session)
    OR EXISTS (SELECT 1 FROM madang_transitions WHERE session = NEW.session)
BEGIN
    SELECT raise(ABORT, 'sessions are not replaced');
END;

-- What is stored of a user is counted as it is written. Each row counts 256 bytes beside its text.
CREATE TRIGGER madang_users_are_counted AFTER INSERT ON madang_sessions
BEGIN
    INSERT INTO madang_stored (user, bytes) VALUES (NEW.user, 0) ON CONFLICT (user) DO NOTHING;
END;

CREATE TRIGGER madang_messages_are_counted AFTER INSERT ON madang_messages
WHEN NEW.content IS NOT NULL
BEGIN
    UPDATE madang_stored SET bytes = bytes + octet_length(NEW.content) + 256
    WHERE user = (SELECT user FROM madang_sessions WHERE session = NEW.session);
END;

CREATE TRIGGER madang_transitions_are_counted AFTER INSERT ON madang_transitions
BEGIN
    UPDATE madang_stored SET bytes = bytes + octet_length(NEW.transition) + 256
    WHERE user = (SELECT user FROM madang_sessions WHERE session = NEW.session);
END;

-- A chat is on its user's list from the first message of the user on, by the last of them or the last end of a turn. What the
-- model says moves nothing: the end of its turn follows, and each move costs an entry of an index.
CREATE TRIGGER madang_sessions_follow_their_messages AFTER INSERT ON madang_messages
WHEN NEW.content GLOB '{"role":"user"*'
BEGIN
    UPDATE madang_sessions SET last_at = NEW.at
    WHERE session = NEW.session AND (last_at IS NULL OR last_at < NEW.at);
END;

CREATE TRIGGER madang_sessions_follow_their_turns AFTER UPDATE OF ended_at ON madang_turns
BEGIN
    UPDATE madang_sessions SET last_at = NEW.ended_at WHERE session = NEW.session AND last_at < NEW.ended_at;
END;

-- The instructions of a turn are a user's text and count as what is stored of the user. Other options are short, and are
-- in the bytes that the first message of their turn counts beside its text.
CREATE TRIGGER madang_instructions_are_counted AFTER INSERT ON madang_turns
WHEN NEW.options ->> '$.instructions' IS NOT NULL
BEGIN
    UPDATE madang_stored SET bytes = bytes + octet_length(NEW.options)
    WHERE user = (SELECT user FROM madang_sessions WHERE session = NEW.session);
END;
