-- What no SQL may do, whoever says it. MD003: it contradicts what is stored. MD007: a step that a call cannot take.

CREATE FUNCTION madang.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = TG_ARGV[0];
END $$;

-- Refuses a deletion, except of a session that the open transaction erases.
CREATE FUNCTION madang.refuse_unless_erasing() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM madang.erasing WHERE session = OLD.session) THEN
        RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = TG_ARGV[0];
    END IF;
    RETURN OLD;
END $$;

CREATE TRIGGER transitions_stay BEFORE DELETE ON madang.transitions
FOR EACH ROW EXECUTE FUNCTION madang.refuse_unless_erasing('the ledger is append-only');
CREATE TRIGGER calls_stay BEFORE DELETE ON madang.calls
FOR EACH ROW EXECUTE FUNCTION madang.refuse_unless_erasing('the ledger is append-only');
CREATE TRIGGER messages_stay BEFORE DELETE ON madang.messages
FOR EACH ROW EXECUTE FUNCTION madang.refuse_unless_erasing('the transcript is append-only');
CREATE TRIGGER turns_stay BEFORE DELETE ON madang.turns
FOR EACH ROW EXECUTE FUNCTION madang.refuse_unless_erasing('turns are not deleted');
CREATE TRIGGER sessions_stay BEFORE DELETE ON madang.sessions
FOR EACH ROW EXECUTE FUNCTION madang.refuse_unless_erasing('sessions are not deleted');

CREATE TRIGGER transitions_stay_the_same BEFORE UPDATE ON madang.transitions
FOR EACH ROW EXECUTE FUNCTION madang.refuse('the ledger is append-only');
CREATE TRIGGER messages_stay_the_same BEFORE UPDATE ON madang.messages
FOR EACH ROW EXECUTE FUNCTION madang.refuse('the transcript is append-only');
CREATE TRIGGER erased_stay BEFORE UPDATE OR DELETE ON madang.erased
FOR EACH ROW EXECUTE FUNCTION madang.refuse('what was erased stays on record');

-- A truncation asks no trigger of a row. That of the tables which these refer to comes with it.
CREATE TRIGGER transitions_are_not_emptied BEFORE TRUNCATE ON madang.transitions
FOR EACH STATEMENT EXECUTE FUNCTION madang.refuse('the ledger is append-only');
CREATE TRIGGER calls_are_not_emptied BEFORE TRUNCATE ON madang.calls
FOR EACH STATEMENT EXECUTE FUNCTION madang.refuse('the ledger is append-only');
CREATE TRIGGER erased_are_not_emptied BEFORE TRUNCATE ON madang.erased
FOR EACH STATEMENT EXECUTE FUNCTION madang.refuse('what was erased stays on record');

CREATE TRIGGER sessions_keep_their_user BEFORE UPDATE ON madang.sessions FOR EACH ROW
WHEN ((NEW.session, NEW.user_id, NEW.opened_at, NEW.seal) IS DISTINCT FROM (OLD.session, OLD.user_id, OLD.opened_at, OLD.seal))
EXECUTE FUNCTION madang.refuse('a session keeps its user');

CREATE FUNCTION madang.sessions_keep_their_chain() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.chain_length <= OLD.chain_length OR NOT EXISTS (
        SELECT 1 FROM madang.transitions
        WHERE session = NEW.session AND position = NEW.chain_length AND hash = NEW.chain_head)
    THEN
        RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'a session ends where its chain ends';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER sessions_keep_their_chain BEFORE UPDATE ON madang.sessions FOR EACH ROW
WHEN ((NEW.chain_length, NEW.chain_head) IS DISTINCT FROM (OLD.chain_length, OLD.chain_head))
EXECUTE FUNCTION madang.sessions_keep_their_chain();

CREATE FUNCTION madang.entries_are_erased_once() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.erased_to < OLD.erased_to OR NOT EXISTS (SELECT 1 FROM madang.erasing WHERE session = OLD.session) THEN
        RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'the transcript is append-only';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER entries_are_erased_once BEFORE UPDATE ON madang.sessions FOR EACH ROW
WHEN (NEW.erased_to <> OLD.erased_to) EXECUTE FUNCTION madang.entries_are_erased_once();

-- No entry comes back under the number of an erased one.
CREATE FUNCTION madang.messages_are_new() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added JOIN madang.sessions AS its USING (session) WHERE added.seq <= its.erased_to) THEN
        RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'the transcript is append-only';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER messages_are_new AFTER INSERT ON madang.messages
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION madang.messages_are_new();

-- Where a call stands after this step.
CREATE FUNCTION madang.rank(step text) RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE step WHEN 'proposed' THEN 1 WHEN 'awaiting' THEN 2 WHEN 'approved' THEN 3 WHEN 'running' THEN 4 WHEN 'ended' THEN 5 END
$$;

-- Each link stands behind the last of its session's chain, and each is a step that its call can take. The session's row then is
-- where its chain ends.
CREATE FUNCTION madang.links_fit() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM (SELECT session, min(position) AS first, max(position) AS last, count(*) AS links FROM added GROUP BY session) AS link
        JOIN madang.sessions AS its USING (session)
        WHERE link.first <> its.chain_length + 1 OR link.last <> its.chain_length + link.links)
    THEN
        RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'the chain of the session ends elsewhere';
    END IF;

    -- Only the steps of the specification. What never ran did nothing.
    IF EXISTS (
        SELECT 1 FROM (
            SELECT added.*, its.session AS of_session, coalesce(
                max(madang.rank(added.step)) OVER (
                    PARTITION BY added.call ORDER BY added.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
                madang.rank(its.state)) AS stands
            FROM added LEFT JOIN madang.calls AS its ON its.call = added.call) AS link
        WHERE of_session <> session OR NOT coalesce(CASE stands
            WHEN 1 THEN step IN ('awaiting', 'running') OR (step = 'ended' AND effect = 'none')
            WHEN 2 THEN step = 'approved' OR (step = 'ended' AND effect = 'none')
            WHEN 3 THEN step IN ('running', 'revoked') OR (step = 'ended' AND effect = 'none')
            WHEN 4 THEN step IN ('ended', 'revoked')
            WHEN 5 THEN step IN ('resolved', 'revoked')
            ELSE step = 'proposed' AND by_user IS NOT NULL END, FALSE))
        OR EXISTS (SELECT 1 FROM added WHERE step = 'ended' AND NOT coalesce(effect IN ('none', 'committed', 'unknown'), FALSE))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'MD007', MESSAGE = 'the call cannot take this step';
    END IF;

    -- An approval comes from the call's user before the question expires, is bound to what was shown unless the user typed something
    -- else, and rests on a standing one only where that covers this schema, session and user.
    IF EXISTS (SELECT 1 FROM added AS link WHERE link.step = 'approved' AND NOT coalesce((
        SELECT link.at < asked.expires_at
            AND link.by_user = proposed.by_user
            AND CASE link.approval WHEN 'edited' THEN link.has_arguments ELSE link.digest = asked.digest END
            AND (link.approval <> 'standing' OR EXISTS (
                SELECT 1 FROM madang.transitions AS given
                JOIN madang.transitions AS its ON its.call = given.call AND its.step = 'proposed'
                LEFT JOIN madang.transitions AS revoked ON revoked.call = given.call AND revoked.step = 'revoked'
                WHERE given.call = link.rests_on AND given.step = 'approved' AND given.approval = 'always'
                    AND given.session = link.session AND given.position < link.position AND its.by_user = link.by_user
                    AND (revoked.position IS NULL OR revoked.position > link.position)
                    AND given.schema = link.schema AND given.resource IS NOT DISTINCT FROM link.resource
                    AND given.until > link.at AND link.use_number BETWEEN 1 AND given.uses))
        FROM madang.transitions AS asked
        JOIN madang.transitions AS proposed ON proposed.call = asked.call AND proposed.step = 'proposed'
        WHERE asked.call = link.call AND asked.step = 'awaiting'), FALSE))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'the approval is not bound to its question';
    END IF;

    -- What was approved runs before its approval expires, and is what was approved.
    IF EXISTS (
        SELECT 1 FROM added AS link
        JOIN madang.transitions AS approved ON approved.call = link.call AND approved.step = 'approved'
        WHERE link.step = 'running' AND NOT coalesce(link.at < approved.expires_at AND link.digest = approved.digest, FALSE))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'this was not approved, or too long ago';
    END IF;

    -- Only a standing approval can be revoked, by the call's user.
    IF EXISTS (SELECT 1 FROM added AS link WHERE link.step = 'revoked' AND NOT EXISTS (
        SELECT 1 FROM madang.transitions AS approved
        JOIN madang.transitions AS proposed ON proposed.call = approved.call AND proposed.step = 'proposed'
        WHERE approved.call = link.call AND approved.step = 'approved' AND approved.approval = 'always'
            AND proposed.by_user = link.by_user))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'there is no standing approval to revoke';
    END IF;

    -- Only an unknown effect can be resolved, and among people by the call's user.
    IF EXISTS (SELECT 1 FROM added AS link WHERE link.step = 'resolved' AND NOT EXISTS (
        SELECT 1 FROM madang.transitions AS ended
        JOIN madang.transitions AS proposed ON proposed.call = ended.call AND proposed.step = 'proposed'
        WHERE ended.call = link.call AND ended.step = 'ended' AND ended.effect = 'unknown'
            AND link.effect IN ('none', 'committed') AND (link.by_user IS NULL OR link.by_user = proposed.by_user)))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'there is no unknown effect to resolve';
    END IF;

    UPDATE madang.sessions AS its SET chain_length = last.position, chain_head = last.hash
    FROM (SELECT DISTINCT ON (session) session, position, hash FROM added ORDER BY session, position DESC) AS last
    WHERE its.session = last.session;
    RETURN NULL;
END $$;
CREATE TRIGGER links_fit AFTER INSERT ON madang.transitions
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION madang.links_fit();

-- Where each call stands, by its transitions.
CREATE VIEW madang.stands AS
SELECT proposed.call, proposed.session, proposed.by_user AS user_id, proposed.at AS proposed_at,
    greatest(proposed.position, asked.position, approved.position, running.position, ended.position, resolved.position, revoked.position)
        AS position,
    CASE WHEN ended.call IS NOT NULL THEN 'ended' WHEN running.call IS NOT NULL THEN 'running'
        WHEN approved.call IS NOT NULL THEN 'approved' WHEN asked.call IS NOT NULL THEN 'awaiting' ELSE 'proposed' END AS state,
    asked.schema, coalesce(running.digest, approved.digest, asked.digest) AS digest,
    coalesce(resolved.effect, ended.effect) AS effect, ended.result,
    coalesce(revoked.by_user, ended.by_user, approved.by_user) AS decided_by,
    approved.approval AS kind, approved.rests_on, approved.at AS approved_at,
    coalesce(approved.expires_at, asked.expires_at) AS expires_at,
    revoked.at AS revoked_at, resolved.at AS resolved_at, ended.at AS ended_at
FROM madang.transitions AS proposed
LEFT JOIN madang.transitions AS asked ON asked.call = proposed.call AND asked.step = 'awaiting'
LEFT JOIN madang.transitions AS approved ON approved.call = proposed.call AND approved.step = 'approved'
LEFT JOIN madang.transitions AS running ON running.call = proposed.call AND running.step = 'running'
LEFT JOIN madang.transitions AS ended ON ended.call = proposed.call AND ended.step = 'ended'
LEFT JOIN madang.transitions AS resolved ON resolved.call = proposed.call AND resolved.step = 'resolved'
LEFT JOIN madang.transitions AS revoked ON revoked.call = proposed.call AND revoked.step = 'revoked'
WHERE proposed.step = 'proposed';

-- The ledger alone decides: a call's row is where its transitions say, and an approval that rests on another is of the same tool.
CREATE FUNCTION madang.calls_follow_the_ledger() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM changed AS it LEFT JOIN madang.stands AS its ON its.call = it.call
        WHERE (it.session, it.user_id, it.proposed_at, it.position, it.state, it.schema, it.digest, it.effect, it.result,
                it.decided_by, it.kind, it.rests_on, it.approved_at, it.expires_at, it.revoked_at, it.resolved_at, it.ended_at)
            IS DISTINCT FROM
            (its.session, its.user_id, its.proposed_at, its.position, its.state, its.schema, its.digest, its.effect, its.result,
                its.decided_by, its.kind, its.rests_on, its.approved_at, its.expires_at, its.revoked_at, its.resolved_at, its.ended_at))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'only the ledger changes a call';
    END IF;
    IF EXISTS (
        SELECT 1 FROM changed AS it LEFT JOIN madang.calls AS given ON given.call = it.rests_on
        WHERE it.rests_on IS NOT NULL AND given.name IS DISTINCT FROM it.name)
    THEN
        RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'the approval is not bound to its question';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER calls_begin_in_the_ledger AFTER INSERT ON madang.calls
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION madang.calls_follow_the_ledger();
CREATE TRIGGER calls_follow_the_ledger AFTER UPDATE ON madang.calls
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION madang.calls_follow_the_ledger();

CREATE TRIGGER calls_keep_their_proposal BEFORE UPDATE ON madang.calls FOR EACH ROW
WHEN ((NEW.number, NEW.tx, NEW.call, NEW.session, NEW.turn, NEW.seq, NEW.user_id, NEW.name, NEW.raw_arguments, NEW.model, NEW.opaque)
    IS DISTINCT FROM
    (OLD.number, OLD.tx, OLD.call, OLD.session, OLD.turn, OLD.seq, OLD.user_id, OLD.name, OLD.raw_arguments, OLD.model, OLD.opaque))
EXECUTE FUNCTION madang.refuse('what was proposed stays as it was');

-- A row changes with a new step only.
CREATE TRIGGER calls_change_with_a_step BEFORE UPDATE ON madang.calls FOR EACH ROW
WHEN (NEW.position <= OLD.position)
EXECUTE FUNCTION madang.refuse('only the ledger changes a call');

CREATE TRIGGER ended_calls_keep_their_outcome BEFORE UPDATE ON madang.calls FOR EACH ROW
WHEN (OLD.state = 'ended' AND (NEW.outcome, NEW.arguments) IS DISTINCT FROM (OLD.outcome, OLD.arguments))
EXECUTE FUNCTION madang.refuse('only the ledger changes a call');

CREATE TRIGGER approvals_stay BEFORE UPDATE ON madang.calls FOR EACH ROW
WHEN (OLD.approval IS NOT NULL AND (NEW.approval, NEW.seal) IS DISTINCT FROM (OLD.approval, OLD.seal))
EXECUTE FUNCTION madang.refuse('only the ledger approves');
