//! Tests that no SQL of another program changes what the ledger says.

use madang_actors::{ledger::Transition, port::Store as _, store::Keep};
use sqlx::AssertSqlSafe;

use super::support::{
    StoreFixture, call, needs_server, note, proposal, record, run, say, session, step,
};

#[tokio::test(flavor = "multi_thread")]
async fn no_sql_changes_what_was_written() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.handle.write(say("s", 9)).await.unwrap();
    fixture.handle.write(record("s", 1)).await.unwrap();
    let open = step("s", 2, Transition::Proposed(proposal(2)));
    fixture.handle.write(vec![open]).await.unwrap();
    let chain = fixture.store.links(&session("s")).await.unwrap();
    let statements = [
        "DELETE FROM madang.transitions",
        "UPDATE madang.transitions SET at = 2",
        "TRUNCATE madang.transitions CASCADE",
        "DELETE FROM madang.calls",
        "TRUNCATE madang.calls",
        "UPDATE madang.calls SET outcome = '{}' WHERE state = 'ended'",
        "UPDATE madang.calls SET effect = 'none' WHERE state = 'ended'",
        "UPDATE madang.calls SET state = 'running' WHERE state = 'proposed'",
        "UPDATE madang.calls SET position = position + 1",
        "UPDATE madang.calls SET position = position + 1, outcome = '{}' WHERE state = 'ended'",
        "UPDATE madang.calls SET name = 'other'",
        "UPDATE madang.calls SET user_id = 'lee', position = position + 1",
        "UPDATE madang.calls SET approval = '{\"kind\":\"always\"}', kind = 'always', position = position + 1",
        "INSERT INTO madang.calls (call, session, turn, seq, user_id, name, raw_arguments, proposed_at, position, state) \
         SELECT gen_random_uuid(), session, turn, 9, user_id, name, raw_arguments, 1, 1, 'proposed' FROM madang.calls LIMIT 1",
        "DELETE FROM madang.messages",
        "UPDATE madang.messages SET content = '{}'",
        "TRUNCATE madang.messages CASCADE",
        "DELETE FROM madang.turns",
        "TRUNCATE madang.turns CASCADE",
        "DELETE FROM madang.sessions",
        "TRUNCATE madang.sessions CASCADE",
        "UPDATE madang.sessions SET user_id = 'lee'",
        "UPDATE madang.sessions SET seal = NULL",
        "UPDATE madang.sessions SET opened_at = 9",
        "UPDATE madang.sessions SET chain_length = chain_length - 1",
        "UPDATE madang.sessions SET chain_length = chain_length + 1",
        "UPDATE madang.sessions SET chain_head = decode(repeat('00', 32), 'hex')",
        "UPDATE madang.sessions SET erased_to = 99",
        "DELETE FROM madang.users",
    ];
    for sql in statements {
        let told = fixture.database.says(sql).await;
        assert!(told.is_err(), "{sql}");
    }
    // A link that repeats another's columns, at each place and as each step.
    for state in ["awaiting", "approved", "running", "ended", "resolved", "revoked", "proposed"] {
        for position in ["1", "chain_length", "chain_length + 1", "chain_length + 2"] {
            let is_legal =
                position == "chain_length + 1" && ["awaiting", "running"].contains(&state);
            let sql = format!(
                "INSERT INTO madang.transitions (session, position, call, at, step, transition, salt, hash, effect, by_user, has_arguments) \
                 SELECT s.session, {position}, '{}', 1, '{state}', '{{}}', decode(repeat('00', 16), 'hex'), s.chain_head, 'committed', 'kim', FALSE \
                 FROM madang.sessions AS s",
                call(2).uuid(),
            );
            let mut other = fixture.database.other_program().await;
            run(&mut other, "BEGIN").await.unwrap();
            let told = sqlx::query(AssertSqlSafe(sql)).execute(&mut other).await;
            assert_eq!(told.is_ok(), is_legal, "{state} at {position}: {told:?}");
        }
    }
    assert_eq!(fixture.store.links(&session("s")).await.unwrap(), chain);
    let ledger = fixture.store.session_ledger(&session("s")).await.unwrap().unwrap();
    ledger.audit(None, Some(fixture.store.keys())).unwrap();
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
