//! Tests that the tables themselves enforce approvals: SQL that bypasses the store is refused.

use madang_actors::{
    ledger::{Proposal, Transition},
    port::Write,
    protocol::{Approval, CallId, Digest, Timestamp, UserId},
};
use serde_json::json;
use sqlx::SqliteConnection;
use uuid::Uuid;

use super::support::{StoreFixture, session, turn, user};

fn call(number: u64) -> CallId {
    CallId::new(Uuid::from_u64_pair(7, number))
}

fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn digest(byte: u8) -> Digest {
    Digest::new([byte; 32])
}

fn step(number: u64, at: i64, transition: Transition) -> Write {
    Write::Call { session: session("s"), call: call(number), at: moment(at), transition }
}

/// Asks about this tool; the question expires at 600.
fn asked(number: u64, tool: &str, owner: &UserId) -> Vec<Write> {
    let proposal = Proposal {
        model: None,
        opaque: None,
        turn: turn(),
        seq: number,
        name: tool.into(),
        arguments: "{}".into(),
        user: owner.clone(),
    };
    let awaiting = Transition::Awaiting {
        arguments: json!({ "a": 1 }).into(),
        schema: digest(9),
        shown: None,
        digest: digest(7),
        expires_at: moment(600),
    };
    vec![step(number, 2, Transition::Proposed(proposal)), step(number, 3, awaiting)]
}

/// Approves until 500.
fn approved(byte: u8, by: &str, approval: Approval) -> Transition {
    let by = UserId::new(by).unwrap();
    let arguments = (approval == Approval::Edited).then(|| json!({ "a": 2 }).into());
    Transition::Approved {
        digest: digest(byte),
        by,
        approval,
        arguments,
        expires_at: moment(500),
        seal: None,
    }
}

fn always() -> Approval {
    Approval::Always { schema: digest(9), until: moment(550), uses: 2, resource: Some(digest(3)) }
}

fn standing(number: u64, byte: u8) -> Approval {
    standing_use(number, byte, 1, Some(digest(3)))
}

fn standing_use(number: u64, byte: u8, nth: u32, resource: Option<Digest>) -> Approval {
    Approval::Standing { by_call: call(number), schema: digest(byte), resource, number: nth }
}

fn running(byte: u8) -> Transition {
    Transition::Running { arguments: json!({ "a": 1 }).into(), digest: digest(byte) }
}

/// Tries to write the next link of the session's chain, as any holder of the connection can. True
/// if the tables took it; it is rolled back.
async fn takes(db: &mut SqliteConnection, number: u64, at: i64, transition: &Transition) -> bool {
    let name = <&str>::from(transition);
    sqlx::query("SAVEPOINT attempt").execute(&mut *db).await.unwrap();
    let written = sqlx::query(
        "INSERT INTO madang_transitions SELECT 's', chain_length + 1, $1, $2, $3, $4, zeroblob(16), zeroblob(32) \
         FROM madang_sessions WHERE session = 's'",
    )
    .bind(call(number).to_string())
    .bind(at)
    .bind(name)
    .bind(serde_json::to_string(transition).unwrap())
    .execute(&mut *db)
    .await;
    sqlx::query("ROLLBACK TO attempt; RELEASE attempt").execute(&mut *db).await.unwrap();
    written.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_cannot_approve_or_run_what_the_store_would_refuse() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let lee = UserId::new("lee").unwrap();
    let facts = [
        asked(1, "save", &user()),
        vec![step(1, 4, approved(7, "kim", always()))],
        asked(2, "save", &user()),
        asked(3, "erase", &user()),
        asked(4, "save", &lee),
        asked(5, "save", &user()),
        vec![step(5, 4, approved(7, "kim", Approval::Once))],
        asked(6, "save", &user()),
        vec![step(6, 4, approved(7, "kim", Approval::Once)), step(6, 5, running(7))],
        asked(7, "save", &user()),
        vec![step(7, 4, approved(7, "kim", always()))],
        vec![step(7, 5, Transition::Revoked { by: user() })],
    ];
    fixture.handle.write(fixture.sealed(facts.concat())).await.unwrap();
    {
        let db = &mut fixture.other_program().await;
        let table = [
            // An open question binds its user, its digest and its time.
            (2, 599, approved(7, "kim", Approval::Once), true),
            (2, 600, approved(7, "kim", Approval::Once), false),
            (2, 5, approved(8, "kim", Approval::Once), false),
            (2, 5, approved(7, "lee", Approval::Once), false),
            (2, 5, approved(8, "kim", always()), false),
            (2, 5, approved(8, "kim", Approval::Edited), true),
            (2, 600, approved(8, "kim", Approval::Edited), false),
            (2, 5, running(7), false),
            // A standing approval covers its tool, schema and user, until it is revoked.
            (2, 5, approved(7, "kim", standing(1, 9)), true),
            (2, 5, approved(8, "kim", standing(1, 9)), false),
            (2, 5, approved(7, "kim", standing(1, 8)), false),
            (2, 5, approved(7, "kim", standing(5, 9)), false),
            (2, 5, approved(7, "kim", standing(7, 9)), false),
            (2, 5, approved(7, "kim", standing(99, 9)), false),
            (2, 5, approved(7, "kim", standing_use(1, 9, 2, Some(digest(3)))), true),
            (2, 5, approved(7, "kim", standing_use(1, 9, 3, Some(digest(3)))), false),
            (2, 5, approved(7, "kim", standing_use(1, 9, 0, Some(digest(3)))), false),
            (2, 5, approved(7, "kim", standing_use(1, 9, 1, Some(digest(4)))), false),
            (2, 5, approved(7, "kim", standing_use(1, 9, 1, None)), false),
            (2, 549, approved(7, "kim", standing(1, 9)), true),
            (2, 550, approved(7, "kim", standing(1, 9)), false),
            (3, 5, approved(7, "kim", standing(1, 9)), false),
            (4, 5, approved(7, "lee", standing(1, 9)), false),
            // A call is approved once, and runs in time, once, with the approved arguments.
            (5, 499, running(7), true),
            (5, 500, running(7), false),
            (5, 5, running(8), false),
            (5, 5, approved(7, "kim", Approval::Once), false),
            (6, 6, running(7), false),
            (6, 6, approved(7, "kim", Approval::Once), false),
            // A standing approval alone can be revoked, by its user, once.
            (1, 6, Transition::Revoked { by: user() }, true),
            (1, 6, Transition::Revoked { by: lee.clone() }, false),
            (5, 6, Transition::Revoked { by: user() }, false),
            (7, 6, Transition::Revoked { by: user() }, false),
        ];
        for (number, at, transition, is_taken) in table {
            let taken = takes(db, number, at, &transition).await;
            assert_eq!(taken, is_taken, "call {number} at {at}: {transition:?}");
        }
        // The row beside the ledger cannot claim more than the ledger.
        for change in [
            r#"UPDATE madang_calls SET approval = '{"kind":"always","schema":"00"}' WHERE approval IS NULL"#,
            "UPDATE madang_calls SET revoked_at = NULL WHERE revoked_at IS NOT NULL",
        ] {
            assert!(sqlx::query(change).execute(&mut *db).await.is_err(), "{change}");
        }
    }
    fixture.close().await;
}

/// A person waits meanwhile, so the search must not slow down with the number of calls.
#[tokio::test(flavor = "multi_thread")]
async fn standing_approvals_are_found_by_an_index() {
    let fixture = StoreFixture::new().await;
    let plan = "EXPLAIN QUERY PLAN SELECT * FROM madang_calls WHERE TRUE AND session = 's' \
                AND approval ->> '$.kind' = 'always' AND revoked_at IS NULL ORDER BY number";
    let steps: Vec<(i64, i64, i64, String)> =
        sqlx::query_as(plan).fetch_all(&mut fixture.other_program().await).await.unwrap();
    let steps: Vec<_> = steps.into_iter().map(|(.., detail)| detail).collect();
    assert_eq!(steps, ["SEARCH madang_calls USING INDEX madang_standing_approvals (session=?)"]);
    fixture.close().await;
}
