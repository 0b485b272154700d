-- The two statements of each write. Their locks come in one order: users by their names, then the users' sessions.

-- Locks the rows of these users and of the users of these sessions, under the claim of the process, and reads them. Users that are
-- new here are made. A row without a session is a user's.
CREATE FUNCTION madang.hold_v1(its_node bigint, its_claim uuid, its_sessions text[], its_users text[])
RETURNS TABLE (session text, user_id text, bytes bigint, owner text, opened_at bigint, owner_seal text, last_at bigint, title text,
    is_temporary bigint, erased_to bigint, chain_length bigint, chain_head bytea, turn text, round bigint, round_from bigint,
    dismissed_at bigint, resumes bigint, usage text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    its_all text[];
BEGIN
    -- Whoever takes the database over removes the process's row, and then claims each user: so it waits for new ones.
    IF cardinality(its_users) > 0 THEN
        PERFORM 1 FROM madang.nodes WHERE node = its_node FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'MD001', MESSAGE = 'another process has the database';
        END IF;
    END IF;
    INSERT INTO madang.users (user_id, node, epoch, claim)
    SELECT name, its_node, 1, its_claim FROM unnest(its_users) AS name ORDER BY name ON CONFLICT DO NOTHING;
    SELECT array_agg(name) INTO its_all FROM (
        SELECT user_id FROM madang.sessions WHERE session = ANY (its_sessions) UNION SELECT unnest(its_users)) AS of_all(name);
    PERFORM 1 FROM madang.users WHERE user_id = ANY (its_all) ORDER BY user_id FOR NO KEY UPDATE;
    IF EXISTS (SELECT 1 FROM madang.users WHERE user_id = ANY (its_all) AND claim IS DISTINCT FROM its_claim) THEN
        RAISE EXCEPTION USING ERRCODE = 'MD001', MESSAGE = 'another process writes for this user';
    END IF;
    RETURN QUERY
    SELECT its.session, its.user_id, of.bytes, its.user_id, its.opened_at, its.seal, its.last_at, its.title, its.is_temporary::int::bigint,
        its.erased_to, its.chain_length, its.chain_head, open.turn::text, open.round, open.round_from, open.dismissed_at,
        open.resumes, open.usage
    FROM madang.sessions AS its
    JOIN madang.users AS of ON of.user_id = its.user_id
    LEFT JOIN madang.turns AS open ON open.session = its.session AND open.ended_at IS NULL
    WHERE its.session = ANY (its_sessions);
    RETURN QUERY
    SELECT NULL, user_id, bytes, NULL, NULL::bigint, NULL, NULL::bigint, NULL, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bytea,
        NULL, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL
    FROM madang.users WHERE user_id = ANY (its_all);
END $$;

-- All rows of a group, by sets, in the order in which they depend on one another. Arrays of one letter are the columns of one table:
-- u users, s new sessions, c changed ones, t new turns, e changed ones, m messages, l links, p proposed calls, k calls as they stand.
CREATE FUNCTION madang.write_v1(
    its_claim uuid,
    u_user text[], u_bytes bigint[],
    s_session text[], s_user text[], s_opened bigint[], s_seal text[],
    c_session text[], c_last bigint[], c_title text[], c_temporary boolean[],
    t_session text[], t_turn uuid[], t_user text[], t_began bigint[], t_options text[], t_language text[], t_counted bigint[],
    t_key text[], t_text bytea[], t_round bigint[], t_from bigint[], t_dismissed bigint[], t_resumes bigint[], t_ended bigint[],
    t_behind bigint[], t_ending text[], t_error text[], t_usage text[],
    e_session text[], e_turn uuid[], e_round bigint[], e_from bigint[], e_dismissed bigint[], e_resumes bigint[], e_ended bigint[],
    e_behind bigint[], e_ending text[], e_error text[], e_usage text[],
    m_session text[], m_seq bigint[], m_turn uuid[], m_at bigint[], m_content text[], m_call uuid[],
    l_session text[], l_position bigint[], l_call uuid[], l_at bigint[], l_step text[], l_transition text[], l_salt bytea[],
    l_hash bytea[], l_effect text[], l_result text[], l_user text[], l_digest bytea[], l_schema bytea[], l_expires bigint[],
    l_approval text[], l_rests_on uuid[], l_number bigint[], l_until bigint[], l_uses bigint[], l_resource bytea[],
    l_arguments boolean[],
    p_call uuid[], p_session text[], p_turn uuid[], p_seq bigint[], p_user text[], p_name bytea[], p_raw bytea[], p_model text[],
    p_opaque bytea[],
    k_call uuid[], k_arguments text[], k_asked text[], k_shown text[], k_outcome text[], k_approval text[], k_seal text[],
    k_resolved text[])
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed bigint;
BEGIN
    -- The fence: a row of each user, with what is stored of the user.
    UPDATE madang.users AS its SET bytes = its.bytes + new.bytes
    FROM (
        SELECT held.user_id, j.bytes FROM madang.users AS held
        JOIN unnest(u_user, u_bytes) AS j(user_id, bytes) ON j.user_id = held.user_id
        WHERE held.claim = its_claim ORDER BY held.user_id FOR NO KEY UPDATE OF held) AS new
    WHERE its.user_id = new.user_id;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> cardinality(u_user) THEN
        RAISE EXCEPTION USING ERRCODE = 'MD001', MESSAGE = 'another process writes for this user';
    END IF;

    IF cardinality(s_session) > 0 THEN
        INSERT INTO madang.sessions (session, user_id, opened_at, seal) SELECT * FROM unnest(s_session, s_user, s_opened, s_seal);
    END IF;
    IF cardinality(c_session) > 0 THEN
        UPDATE madang.sessions AS its SET last_at = new.last_at, title = new.title, is_temporary = new.is_temporary
        FROM unnest(c_session, c_last, c_title, c_temporary) AS new(session, last_at, title, is_temporary)
        WHERE its.session = new.session;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed <> cardinality(c_session) THEN
            RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'there is no such session';
        END IF;
    END IF;
    -- Ends come first: a session is in one turn at a time.
    IF cardinality(e_session) > 0 THEN
        UPDATE madang.turns AS its SET round = new.round, round_from = new.round_from, dismissed_at = new.dismissed_at,
            resumes = new.resumes, ended_at = new.ended_at, ended_behind = new.ended_behind, ending = new.ending, error = new.error,
            usage = new.usage
        FROM unnest(e_session, e_turn, e_round, e_from, e_dismissed, e_resumes, e_ended, e_behind, e_ending, e_error, e_usage)
            AS new(session, turn, round, round_from, dismissed_at, resumes, ended_at, ended_behind, ending, error, usage)
        WHERE its.session = new.session AND its.turn = new.turn AND its.ended_at IS NULL;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed <> cardinality(e_session) THEN
            RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'the turn is not open';
        END IF;
    END IF;
    IF cardinality(t_session) > 0 THEN
        INSERT INTO madang.turns (session, turn, user_id, began_at, options, language, counted, key, text, round, round_from,
            dismissed_at, resumes, ended_at, ended_behind, ending, error, usage)
        SELECT * FROM unnest(t_session, t_turn, t_user, t_began, t_options, t_language, t_counted, t_key, t_text, t_round, t_from,
            t_dismissed, t_resumes, t_ended, t_behind, t_ending, t_error, t_usage);
    END IF;
    IF cardinality(m_session) > 0 THEN
        INSERT INTO madang.messages (session, seq, turn, at, content, call)
        SELECT * FROM unnest(m_session, m_seq, m_turn, m_at, m_content, m_call);
    END IF;
    IF cardinality(l_session) > 0 THEN
        INSERT INTO madang.transitions (session, position, call, at, step, transition, salt, hash, effect, result, by_user, digest,
            schema, expires_at, approval, rests_on, use_number, until, uses, resource, has_arguments)
        SELECT * FROM unnest(l_session, l_position, l_call, l_at, l_step, l_transition, l_salt, l_hash, l_effect, l_result, l_user,
            l_digest, l_schema, l_expires, l_approval, l_rests_on, l_number, l_until, l_uses, l_resource, l_arguments);
    END IF;
    IF cardinality(p_call) > 0 THEN
        -- In the order of the proposals, which is the order of their numbers.
        INSERT INTO madang.calls (call, session, turn, seq, user_id, name, raw_arguments, model, opaque, proposed_at, position, state,
            arguments, asked, schema, shown, digest, outcome, effect, result, decided_by, approval, kind, rests_on, seal,
            approved_at, expires_at, revoked_at, resolved_by, resolved_at, ended_at)
        SELECT new.call, new.session, new.turn, new.seq, new.user_id, new.name, new.raw_arguments, new.model, new.opaque,
            its.proposed_at, its.position, its.state, now.arguments, now.asked, its.schema, now.shown, its.digest, now.outcome,
            its.effect, its.result, its.decided_by, now.approval, its.kind, its.rests_on, now.seal, its.approved_at,
            its.expires_at, its.revoked_at, now.resolved_by, its.resolved_at, its.ended_at
        FROM unnest(p_call, p_session, p_turn, p_seq, p_user, p_name, p_raw, p_model, p_opaque) WITH ORDINALITY
            AS new(call, session, turn, seq, user_id, name, raw_arguments, model, opaque, proposal)
        JOIN unnest(k_call, k_arguments, k_asked, k_shown, k_outcome, k_approval, k_seal, k_resolved)
            AS now(call, arguments, asked, shown, outcome, approval, seal, resolved_by) ON now.call = new.call
        JOIN madang.stands AS its ON its.call = new.call
        ORDER BY new.proposal;
    END IF;
    IF cardinality(k_call) > cardinality(p_call) THEN
        -- What was written once stays, byte by byte.
        UPDATE madang.calls AS call SET position = its.position, state = its.state,
            arguments = coalesce(now.arguments, call.arguments), asked = coalesce(call.asked, now.asked), schema = its.schema,
            shown = coalesce(call.shown, now.shown), digest = its.digest, outcome = coalesce(call.outcome, now.outcome),
            effect = its.effect, result = its.result, decided_by = its.decided_by,
            approval = coalesce(call.approval, now.approval), kind = its.kind, rests_on = its.rests_on,
            seal = coalesce(call.seal, now.seal), approved_at = its.approved_at, expires_at = its.expires_at,
            revoked_at = its.revoked_at, resolved_by = coalesce(call.resolved_by, now.resolved_by), resolved_at = its.resolved_at,
            ended_at = its.ended_at
        FROM unnest(k_call, k_arguments, k_asked, k_shown, k_outcome, k_approval, k_seal, k_resolved)
            AS now(call, arguments, asked, shown, outcome, approval, seal, resolved_by)
        JOIN madang.stands AS its ON its.call = now.call
        WHERE call.call = now.call AND now.call <> ALL (p_call);
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed <> cardinality(k_call) - cardinality(p_call) THEN
            RAISE EXCEPTION USING ERRCODE = 'MD003', MESSAGE = 'there is no such call';
        END IF;
    END IF;
END $$;
