//! Tests that no SQL of another program changes what the ledger says, and that each rule of the tables is
//! needed for that.

use madang_actors::{
    ledger::Transition,
    port::{Store as _, Write},
    protocol::{Approval, Digest, Effect, TurnEnding, Usage},
    store::Keep,
};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};

use super::support::{
    StoreFixture, at, call, ended, needs_server, note, opening, proposal, record, run, say,
    session, step, turn, user,
};

const DIGEST: Digest = Digest::new([7; 32]);

/// Writes a row of each kind: an ended call, one whose effect is unknown, one that was proposed, one that
/// was approved, chats without entries or turns, an erased chat and a deleted one.
async fn some_of_each(fixture: &StoreFixture) {
    let write = async |writes: Vec<Write>| fixture.handle.write(writes).await.unwrap();
    fixture.chat("s").await;
    fixture.chat("t").await;
    write(vec![opening("e", "kim").swap_remove(0)]).await;
    write(say("s", 9)).await;
    write(record("s", 1)).await;
    write(vec![step("s", 2, Transition::Proposed(proposal(2)))]).await;
    let mut unknown = record("s", 3);
    unknown.truncate(2);
    let end = madang_actors::ledger::Ended { effect: Effect::Unknown, ..ended() };
    unknown.push(step("s", 3, Transition::Ended(end)));
    write(unknown).await;
    let expires_at = madang_actors::protocol::Timestamp::from_millis(900);
    let awaiting = Transition::Awaiting {
        arguments: json!({}).into(),
        schema: DIGEST,
        shown: None,
        digest: DIGEST,
        expires_at,
    };
    let approved = Transition::Approved {
        digest: DIGEST,
        by: user("kim"),
        approval: Approval::Once,
        arguments: None,
        expires_at,
        seal: None,
    };
    let approved = fixture.store.keys().sealed(&session("s"), call(4), at(), approved);
    let proposed = Transition::Proposed(proposal(4));
    write([proposed, awaiting, approved].map(|taken| step("s", 4, taken)).into()).await;
    for name in ["x", "d"] {
        write(opening(name, "kim")).await;
        write(vec![Write::Temporary { session: session(name) }]).await;
        write(say(name, 1)).await;
        write(vec![Write::TurnEnded {
            session: session(name),
            turn: turn(),
            at: at(),
            behind: 1,
            ending: TurnEnding::Answered,
            error: None,
            usage: Usage::default(),
        }])
        .await;
    }
    write(vec![Write::Erased { session: session("x") }]).await;
    write(vec![Write::Deleted { session: session("d"), user: user("kim"), at: at() }]).await;
}

/// Returns the statement that adds a link after the last one.
fn link(number: u64, state: &str, position: &str, columns: &str) -> String {
    format!(
        "INSERT INTO madang.transitions (session, position, call, at, step, transition, salt, hash, effect, by_user, digest, has_arguments) \
         SELECT s.session, {position}, '{}', 1, '{state}', '{{}}', decode(repeat('00', 16), 'hex'), decode(repeat('11', 32), 'hex'), {columns}, FALSE \
         FROM madang.sessions AS s WHERE s.session = 's'",
        call(number).uuid(),
    )
}

const SEVENS: &str = "decode(repeat('07', 32), 'hex')";

/// Takes a legal step of a call, and sets columns of its row besides.
fn with_a_step(number: u64, state: &str, effect: &str, columns: &str) -> String {
    let by_user = if state == "resolved" { "'kim'" } else { "NULL" };
    let link = link(number, state, "chain_length + 1", &format!("{effect}, {by_user}, {SEVENS}"));
    let of_step = match state {
        "running" => format!("state = 'running', digest = {SEVENS}"),
        _ => format!("effect = {effect}, resolved_by = '{{}}', resolved_at = 1"),
    };
    let id = call(number).uuid();
    format!(
        "{link}; UPDATE madang.calls SET position = (SELECT chain_length FROM madang.sessions WHERE session = 's'), \
         {of_step}{columns} WHERE call = '{id}'"
    )
}

/// Lists what must be refused.
fn attacks() -> Vec<String> {
    let statements = [
        "DELETE FROM madang.transitions",
        "UPDATE madang.transitions SET at = 2",
        "TRUNCATE madang.transitions",
        "DELETE FROM madang.calls",
        "TRUNCATE madang.calls",
        "UPDATE madang.calls SET outcome = '{}' WHERE state = 'ended'",
        "UPDATE madang.calls SET effect = 'none' WHERE state = 'ended'",
        "UPDATE madang.calls SET state = 'running' WHERE state = 'proposed'",
        "UPDATE madang.calls SET asked = '{}' WHERE state = 'proposed'",
        "UPDATE madang.calls SET position = position + 1",
        "UPDATE madang.calls SET user_id = 'lee', position = position + 1",
        "UPDATE madang.calls SET approval = '{}', kind = 'always', position = position + 1",
        "INSERT INTO madang.calls (call, session, turn, seq, user_id, name, raw_arguments, proposed_at, position, state) \
         SELECT gen_random_uuid(), session, turn, 9, user_id, name, raw_arguments, 1, 1, 'proposed' FROM madang.calls LIMIT 1",
        "DELETE FROM madang.messages WHERE call IS NULL",
        "UPDATE madang.messages SET content = '{}' WHERE call IS NULL",
        "TRUNCATE madang.messages CASCADE",
        "DELETE FROM madang.turns WHERE session = 't'",
        "TRUNCATE madang.turns CASCADE",
        "DELETE FROM madang.sessions WHERE session = 'e'",
        "TRUNCATE madang.sessions CASCADE",
        "UPDATE madang.sessions SET user_id = 'kim', opened_at = 9",
        "UPDATE madang.sessions SET seal = NULL",
        "UPDATE madang.sessions SET chain_length = chain_length - 1 WHERE session = 's'",
        "UPDATE madang.sessions SET chain_length = chain_length + 1",
        "UPDATE madang.sessions SET chain_head = decode(repeat('00', 32), 'hex') WHERE session = 's'",
        "UPDATE madang.sessions SET erased_to = 99",
        "UPDATE madang.sessions SET erased_to = 0 WHERE session = 'x'",
        "INSERT INTO madang.messages (session, seq, turn, at, content) SELECT session, 1, turn, 1, '{}' FROM madang.turns WHERE session = 'x'",
        "DELETE FROM madang.erased",
        "UPDATE madang.erased SET by_user = 'lee'",
        "TRUNCATE madang.erased",
        "DELETE FROM madang.users",
    ];
    let mut attacks: Vec<String> = statements.map(str::to_owned).into();
    // Each step of a proposed call at each place, but for the legal ones.
    for state in ["awaiting", "approved", "running", "ended", "resolved", "revoked", "proposed"] {
        for position in ["1", "chain_length", "chain_length + 1", "chain_length + 2"] {
            let is_legal =
                position == "chain_length + 1" && ["awaiting", "running"].contains(&state);
            if !is_legal {
                attacks.push(link(2, state, position, &format!("'committed', 'kim', {SEVENS}")));
            }
        }
    }
    // An approval of nobody, a run of something else than what was approved, and an effect that is known.
    attacks.push(link(
        4,
        "running",
        "chain_length + 1",
        "NULL, NULL, decode(repeat('08', 32), 'hex')",
    ));
    attacks.push(link(1, "resolved", "chain_length + 1", "'none', 'kim', NULL"));
    attacks.push(link(3, "resolved", "chain_length + 1", "'none', 'lee', NULL"));
    attacks.push(link(4, "revoked", "chain_length + 1", "NULL, 'kim', NULL"));
    // With a step that is legal, columns that do not follow from it.
    attacks.push(with_a_step(2, "running", "NULL", ", name = 'other'"));
    attacks.push(with_a_step(4, "running", "NULL", ", approval = '{}'"));
    attacks.push(with_a_step(3, "resolved", "'none'", ", outcome = '{}'"));
    attacks.push(with_a_step(3, "resolved", "'none'", ", result = 'discarded'"));
    attacks
}

/// Returns which attacks succeed. None of them stays.
async fn successes(db: &mut PgConnection, attacks: &[String]) -> Vec<String> {
    let mut successes = Vec::new();
    for attack in attacks {
        let told = run(db, &format!("BEGIN; {attack}")).await;
        run(db, "ROLLBACK").await.unwrap();
        if told.is_ok() {
            successes.push(attack.clone());
        }
    }
    successes
}

#[tokio::test(flavor = "multi_thread")]
async fn no_sql_changes_what_was_written_and_each_rule_is_needed_for_that() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    some_of_each(&fixture).await;
    let chain = fixture.store.links(&session("s")).await.unwrap();
    let mut other = fixture.database.other_program().await;
    let attacks = attacks();
    assert_eq!(successes(&mut other, &attacks).await, [""; 0]);
    // What is legal passes, so it is not the form of these statements that is refused.
    let legal = [
        link(2, "awaiting", "chain_length + 1", &format!("NULL, NULL, {SEVENS}")),
        with_a_step(2, "running", "NULL", ""),
        with_a_step(4, "running", "NULL", ""),
        with_a_step(3, "resolved", "'none'", ""),
    ];
    assert_eq!(successes(&mut other, &legal).await, legal);

    let rules = "SELECT tgrelid::regclass::text, tgname::text FROM pg_trigger \
                 WHERE NOT tgisinternal AND tgrelid::regclass::text LIKE 'madang.%'";
    let rules: Vec<(String, String)> = sqlx::query_as(rules).fetch_all(&mut other).await.unwrap();
    assert!(rules.len() >= 20, "{rules:?}");
    for (table, rule) in rules {
        let set = |how| format!("ALTER TABLE {table} {how} TRIGGER {rule}");
        run(&mut other, &set("DISABLE")).await.unwrap();
        let found = successes(&mut other, &attacks).await;
        assert!(!found.is_empty(), "{rule} of {table} refuses nothing that the others do not");
        run(&mut other, &set("ENABLE")).await.unwrap();
    }
    other.close().await.unwrap();
    assert_eq!(fixture.store.links(&session("s")).await.unwrap(), chain);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_writes_into_the_ledger_is_undone_with_its_record() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let told = fixture.call(1, Keep::Keep, async |db| {
        note(db, 1).await.unwrap();
        run(db, "UPDATE madang.sessions SET chain_length = 7").await.unwrap_err();
    });
    assert!(told.await.is_err());
    let (links, _) = fixture.store.links(&session("s")).await.unwrap();
    assert!(links.is_empty());
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_notices_a_column_that_says_something_else_than_its_text() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.handle.write(record("s", 1)).await.unwrap();
    let audit = async || {
        let ledger = fixture.store.session_ledger(&session("s")).await.unwrap().unwrap();
        ledger.audit(None, Some(fixture.store.keys())).map(drop)
    };
    audit().await.unwrap();
    // A DBA can do everything.
    let vandal = "ALTER TABLE madang.transitions DISABLE TRIGGER USER; \
                  UPDATE madang.transitions SET effect = 'none' WHERE step = 'ended'";
    fixture.database.says(vandal).await.unwrap();
    assert_eq!(audit().await.unwrap_err().to_string(), "transition 3 is not as it was written");
    fixture.close().await;
}
