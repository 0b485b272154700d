//! Tests that a forgotten user's bytes leave the files, also when forgetting was cut off and
//! ordered again.

use std::{fs, path::Path, time::Duration};

use madang_actors::{
    ledger::Transition,
    port::{Forget, ForgetError, Forgotten, Store as _, StoreError, Write},
    protocol::{ChatMessage, Content, TurnEnding, Usage, UserId},
    store::Keep,
};
use serde_json::Value;
use sqlx::{Connection as _, SqliteConnection};

use super::support::{StoreFixture, at, note, record, say, session, turn, user};

/// A text that stands nowhere else.
const SECRET: &str = "zebrawood-4711";

fn order() -> Forget {
    let tables = vec!["DELETE FROM notes WHERE $1 = 'kim'"];
    Forget { user: user(), by: UserId::new("root").unwrap(), at: at(), tables }
}

/// Writes a chat with the secret in a message, in arguments and in a result.
async fn with_a_secret() -> StoreFixture {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let content = Content::user(SECRET);
    let message = ChatMessage { seq: 9, turn: turn(), at: at(), content };
    let mut writes = vec![Write::Message { session: session("s"), message }];
    for mut write in record("s", 1) {
        if let Write::Call { transition, .. } = &mut write {
            match transition {
                Transition::Proposed(proposal) => proposal.arguments = SECRET.into(),
                Transition::Running { arguments, .. } => *arguments = Value::from(SECRET).into(),
                Transition::Awaiting { .. }
                | Transition::Approved { .. }
                | Transition::Ended(_)
                | Transition::Resolved { .. }
                | Transition::Revoked { .. } => {}
            }
        }
        writes.push(write);
    }
    fixture.handle.write(writes).await.unwrap();
    assert!(lies_in(fixture.folder.path()), "it is searched for where it is");
    fixture
}

/// Tells whether any file holds the secret.
fn lies_in(folder: &Path) -> bool {
    let has = |bytes: Vec<u8>| bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
    fs::read_dir(folder).unwrap().any(|entry| has(fs::read(entry.unwrap().path()).unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_byte_of_a_forgotten_text_is_left_in_the_files() {
    let fixture = with_a_secret().await;
    let forgotten = fixture.store.forget(&order()).await.unwrap();
    assert_eq!((forgotten.sessions, forgotten.calls, forgotten.messages), (1, 1, 1));
    assert!(!lies_in(fixture.folder.path()), "before it is closed");
    assert!(fixture.store.schema_faults().await.unwrap().is_empty());
    let mut other = fixture.other_program().await;
    for change in [
        "DELETE FROM madang_erased",
        "UPDATE madang_erased SET calls = 0",
        "REPLACE INTO madang_erased SELECT * FROM madang_erased",
    ] {
        assert!(sqlx::query(change).execute(&mut other).await.is_err(), "{change}");
    }
    drop(other);
    // The store goes on as before.
    fixture.chat("s").await;
    fixture.handle.write(record("s", 1)).await.unwrap();
    let folder = fixture.close_and_leave().await;
    assert!(!lies_in(folder.path()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rows_of_a_deleted_session_are_overwritten_in_the_file() {
    let fixture = with_a_secret().await;
    let ended = Write::TurnEnded {
        session: session("s"),
        turn: turn(),
        at: at(),
        behind: 9,
        ending: TurnEnding::Answered,
        error: None,
        usage: Usage::default(),
    };
    let deleted = Write::Deleted { session: session("s"), user: user(), at: at() };
    fixture.handle.write(vec![ended, deleted]).await.unwrap();
    assert_eq!(fixture.count("SELECT count(*) FROM madang_erasing").await, 0, "the door is shut");
    // The last connection that closes moves the log into the file.
    let folder = fixture.close_and_leave().await;
    assert!(!lies_in(folder.path()));
}

/// `ANALYZE` makes SQLite keep samples of keys: names of sessions and users, titles.
#[tokio::test(flavor = "multi_thread")]
async fn no_sample_of_a_forgotten_key_is_left_in_the_files() {
    let fixture = StoreFixture::new().await;
    fixture.chat(SECRET).await;
    let mut other = fixture.other_program().await;
    sqlx::query("ANALYZE").execute(&mut other).await.unwrap();
    drop(other);
    for _ in 0..2 {
        // The second order finds nothing of the user, and the samples must not make it fail.
        fixture.store.forget(&order()).await.unwrap();
        assert!(!lies_in(fixture.folder.path()), "samples of keys");
    }
    fixture.close().await;
}

/// Delays the commit, behind the deletion of the user's rows.
const SLOW: &str = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) \
    SELECT max(i), $1 FROM n";

#[tokio::test(flavor = "multi_thread")]
async fn cut_off_before_its_commit_nothing_is_forgotten() {
    let fixture = with_a_secret().await;
    let mut other = fixture.other_program().await;
    sqlx::query("PRAGMA busy_timeout = 0").execute(&mut other).await.unwrap();
    {
        let mut order = order();
        order.tables.push(SLOW);
        let begun = async {
            while sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.is_ok() {
                sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = begun => {}
            done = fixture.store.forget(&order) => panic!("it was not cut off: {done:?}"),
        }
    }
    drop(other);
    assert_eq!(fixture.count("SELECT count(*) FROM madang_messages").await, 2);
    assert_eq!(fixture.count("SELECT count(*) FROM madang_erased").await, 0);
    // The cut off transaction locks the database until its statement ends.
    let forgetting = async {
        loop {
            match fixture.store.forget(&order()).await {
                Err(ForgetError::Store(StoreError::Unavailable { .. })) => {}
                done => break done.unwrap(),
            }
        }
    };
    let forgotten = tokio::time::timeout(Duration::from_secs(60), forgetting).await;
    assert_eq!(forgotten.expect("the database is free again").sessions, 1);
    assert!(!lies_in(fixture.folder.path()));
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_off_behind_its_commit_it_is_ordered_again_and_the_bytes_go() {
    let fixture = with_a_secret().await;
    let mut commits = fixture.store.commits();
    commits.mark_unchanged();
    {
        let order = order();
        let forgetting = fixture.store.forget(&order);
        tokio::select! {
            biased;
            _ = commits.changed() => {}
            done = forgetting => panic!("it was not cut off: {done:?}"),
        }
    }
    assert_eq!(fixture.count("SELECT count(*) FROM madang_messages").await, 0);
    assert!(lies_in(fixture.folder.path()), "the rows are gone, their bytes are not");
    assert_eq!(fixture.store.forget(&order()).await.unwrap(), Forgotten::default());
    assert!(!lies_in(fixture.folder.path()));
    assert_eq!(fixture.count("SELECT count(*) FROM madang_erased").await, 1);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_go_from_others_tables_are_counted_and_those_that_are_changed_are_not() {
    let fixture = with_a_secret().await;
    fixture.call(2, Keep::Keep, async |db| note(db, 1).await.unwrap()).await.unwrap();
    for number in 3..6 {
        fixture.call(number, Keep::Keep, async |db| note(db, number).await.unwrap()).await.unwrap();
    }
    let tables = vec![
        "UPDATE notes SET call = call + 10 WHERE $1 = 'kim'",
        "DELETE FROM notes WHERE $1 = 'kim' AND call < 12",
        "DELETE FROM notes WHERE $1 = 'kim'",
    ];
    let forgotten = fixture.store.forget(&Forget { tables, ..order() }).await.unwrap();
    assert_eq!((forgotten.calls, forgotten.messages, forgotten.transitions), (5, 1, 15));
    assert_eq!(forgotten.rows, 4);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stays_of_sessions_is_read_in_the_order_in_which_they_were_erased() {
    let fixture = StoreFixture::new().await;
    for (name, messages) in [("c", 2), ("a", 1), ("b", 3)] {
        fixture.chat(name).await;
        for seq in 1..=messages {
            fixture.handle.write(say(name, seq)).await.unwrap();
        }
    }
    fixture.store.forget(&order()).await.unwrap();
    let erased = fixture.store.erased().await.unwrap();
    assert_eq!(erased.iter().map(|chain| chain.messages).collect::<Vec<_>>(), [1, 3, 2]);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_fails_undoes_all_of_it() {
    let fixture = with_a_secret().await;
    let tables = vec!["DELETE FROM there_is_none WHERE user = $1"];
    let failed = fixture.store.forget(&Forget { tables, ..order() }).await;
    assert!(
        matches!(failed, Err(ForgetError::Store(StoreError::Unavailable { .. }))),
        "{failed:?}"
    );
    assert_eq!(fixture.count("SELECT count(*) FROM madang_messages").await, 2);
    assert_eq!(fixture.store.forget(&order()).await.unwrap().sessions, 1);
    fixture.close().await;
}

/// The tables of which a session is erased, in the order in which rows can go.
const DELETIONS: [&str; 5] = [
    "DELETE FROM madang_calls WHERE session = 's'",
    "DELETE FROM madang_messages WHERE session = 's'",
    "DELETE FROM madang_turns WHERE session = 's'",
    "DELETE FROM madang_transitions WHERE session = 's'",
    "DELETE FROM madang_sessions WHERE session = 's'",
];

#[tokio::test(flavor = "multi_thread")]
async fn rows_go_only_while_their_own_session_is_being_erased() {
    let fixture = with_a_secret().await;
    let mut other = fixture.other_program().await;
    sqlx::query("PRAGMA foreign_keys = OFF").execute(&mut other).await.unwrap();
    let may = async |db: &mut SqliteConnection, erased: Option<&'static str>, sql: &'static str| {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *db).await.unwrap();
        if let Some(session) = erased {
            let erasing = sqlx::query("INSERT INTO madang_erasing VALUES ($1)").bind(session);
            erasing.execute(&mut *db).await.unwrap();
        }
        let deleted = sqlx::query(sql).execute(&mut *db).await;
        sqlx::query("ROLLBACK").execute(db).await.unwrap();
        deleted.map(|done| done.rows_affected() > 0)
    };
    for sql in DELETIONS {
        for erased in [None, Some("t"), Some("")] {
            let error = may(&mut other, erased, sql).await.unwrap_err();
            assert!(
                error.to_string().contains("ledger is append-only")
                    || error.to_string().contains("transcript is append-only")
                    || error.to_string().contains("not deleted"),
                "{sql} {erased:?}: {error}"
            );
        }
        assert!(may(&mut other, Some("s"), sql).await.unwrap(), "{sql}");
    }
    fixture.store.forget(&order()).await.unwrap();
    assert_eq!(fixture.count("SELECT count(*) FROM madang_erasing").await, 0, "the door is shut");
    drop(other);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_program_still_reads_is_said_to_remain() {
    let fixture = with_a_secret().await;
    let mut other = fixture.other_program().await;
    sqlx::query("BEGIN").execute(&mut other).await.unwrap();
    let seen = "SELECT count(*) FROM madang_messages";
    let seen: i64 = sqlx::query_scalar(seen).fetch_one(&mut other).await.unwrap();
    let remains = fixture.store.forget(&order()).await;
    assert!(matches!(remains, Err(ForgetError::Remains)), "{remains:?}");
    assert_eq!(fixture.count("SELECT count(*) FROM madang_messages").await, 0, "the rows are gone");
    assert!(seen > 0 && lies_in(fixture.folder.path()), "and their bytes are not");
    drop(other);
    assert_eq!(fixture.store.forget(&order()).await.unwrap(), Forgotten::default());
    assert!(!lies_in(fixture.folder.path()));
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_could_not_be_written_anew_are_told_of() {
    let fixture = with_a_secret().await;
    let mut other = fixture.other_program().await;
    let mut commits = fixture.store.commits();
    commits.mark_unchanged();
    let order = order();
    let mut forgetting = fixture.store.forget(&order);
    tokio::select! {
        biased;
        _ = commits.changed() => {}
        done = &mut forgetting => panic!("it is not over: {done:?}"),
    }
    // The rows are gone. Before the rewrite, another program begins to write and does not end.
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let told = forgetting.await;
    assert!(matches!(told, Err(ForgetError::NotRewritten(_))), "{told:?}");
    // Read while the other program is there: the last connection that closes removes the log, at
    // any moment.
    assert!(lies_in(fixture.folder.path()), "their bytes are there");
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    assert_eq!(fixture.store.forget(&order).await.unwrap(), Forgotten::default());
    assert!(!lies_in(fixture.folder.path()));
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_deleted_by_a_borrower_in_the_name_of_an_erasure() {
    let fixture = with_a_secret().await;
    let mut other = fixture.other_program().await;
    let delete = sqlx::query("DELETE FROM madang_messages").execute(&mut other).await;
    assert!(delete.is_err(), "the tables keep what is not being erased");
    let mut lease = fixture.lease("tool").await;
    let erasing = sqlx::query("INSERT INTO madang_erasing VALUES ('s')");
    let refused = erasing.execute(super::support::db(&mut lease)).await;
    assert!(refused.is_err(), "a borrower cannot say what is erased");
    drop(lease);
    drop(other);
    fixture.close().await;
}
