//! Tests that a borrower reaches only its own tables, whatever SQL it writes.

use std::{
    pin::pin,
    task::{Context, Waker},
};

use madang_actors::{port::Store, store::Keep};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, SqliteConnection};

use super::support::{StoreFixture, db, note, record, say};
use crate::store::sqlite::read::TRANSCRIPT;

/// Statements that every borrower is refused.
const REFUSED: &[&str] = &[
    // The store's tables, by any name and in any way.
    "INSERT INTO madang_sessions (session, user, opened_at) VALUES ('t', 'lee', 1)",
    "UPDATE madang_calls SET state = state",
    "UPDATE MADANG_SESSIONS SET user = 'lee'",
    "UPDATE main.\"madang_sessions\" SET user = 'lee'",
    "DELETE FROM madang_transitions",
    "DELETE FROM madang_messages WHERE FALSE",
    "REPLACE INTO madang_turns SELECT * FROM madang_turns",
    "INSERT INTO madang_refused SELECT 1",
    "WITH notes AS (SELECT 1) UPDATE madang_calls SET arguments = '{}'",
    "UPDATE _madang_migrations SET version = 99",
    "SELECT * FROM madang_messages",
    "SELECT count(*) FROM madang_sessions",
    "WITH mine AS (SELECT content FROM madang_messages) SELECT * FROM mine",
    "SELECT (SELECT user FROM madang_sessions)",
    "INSERT INTO notes (call) SELECT seq FROM madang_messages",
    "EXPLAIN SELECT * FROM madang_messages",
    // The schema, temporary or lasting.
    "CREATE TABLE mine (id)",
    "CREATE TEMP TABLE notes (id)",
    "CREATE TEMP VIEW notes AS SELECT 1 AS id, 2 AS call",
    "CREATE VIEW mine AS SELECT * FROM madang_messages",
    "CREATE TEMP TRIGGER mine AFTER INSERT ON madang_transitions BEGIN DELETE FROM notes; END",
    "CREATE TRIGGER mine AFTER INSERT ON notes BEGIN UPDATE madang_calls SET state = state; END",
    "CREATE INDEX mine ON notes (call)",
    "CREATE VIRTUAL TABLE mine USING fts5 (text)",
    "DROP TRIGGER madang_transitions_stay",
    "DROP TABLE notes",
    "ALTER TABLE notes ADD COLUMN more",
    "ALTER TABLE madang_sessions RENAME TO sessions",
    "REINDEX",
    "ANALYZE",
    "DELETE FROM sqlite_sequence",
    "SELECT name FROM sqlite_temp_master",
    "SELECT count(*) FROM sqlite_temp_schema",
    "SELECT * FROM temp.sqlite_master",
    "SELECT count(*) FROM temp.sqlite_schema",
    "WITH mine AS (SELECT name FROM Sqlite_Temp_Master) SELECT * FROM mine",
    "WITH sqlite_temp_master AS (SELECT 1) SELECT count(*) FROM sqlite_temp_master",
    // Other files, and how the connection works.
    "ATTACH 'other.db' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "PRAGMA writable_schema = ON",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA defer_foreign_keys = ON",
    "PRAGMA recursive_triggers = OFF",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA synchronous = OFF",
    "PRAGMA query_only = OFF",
    "PRAGMA user_version",
    "SELECT * FROM pragma_user_version",
    "SELECT load_extension('mine')",
    // The store's own savepoints.
    "SAVEPOINT madang_mine",
];

/// Statements that a borrower needs for its own work.
const ALLOWED: &[&str] = &[
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT max(i), json_array(1) FROM n",
    "SELECT name FROM sqlite_schema",
    "SELECT count(*) FROM sqlite_schema",
    "SELECT sqlite_version()",
    "PRAGMA table_info (notes)",
    "SELECT name FROM pragma_table_info('notes')",
    "PRAGMA data_version",
    "SELECT count(*) FROM notes, json_each('[1]')",
    "SAVEPOINT mine",
    "RELEASE mine",
];

async fn say_all(db: &mut SqliteConnection, kind: &str) {
    for sql in REFUSED {
        let told = sqlx::query(*sql).execute(&mut *db).await;
        let error = told.expect_err(&format!("{kind}: {sql}")).to_string();
        let is_refused = ["not authorized", "prohibited", "authoriz"];
        assert!(is_refused.iter().any(|word| error.contains(word)), "{kind}: {sql}: {error}");
    }
    for sql in ALLOWED {
        let told = sqlx::query(*sql).execute(&mut *db).await;
        told.unwrap_or_else(|error| panic!("{kind}: {sql}: {error}"));
    }
}

/// Reads of the store's tables, and of temporary ones, about which SQLite asks no authorizer: the
/// columns of `USING` and `NATURAL`, and rows that are copied whole.
const UNASKED: &[&str] = &[
    "WITH g (content) AS (VALUES (NULL)) SELECT content AS told FROM madang_messages FULL JOIN g USING (content)",
    "WITH g (user) AS (VALUES ('kim')) SELECT '' || count(*) AS told FROM Madang_Sessions JOIN g USING (user)",
    "WITH g (user) AS (VALUES ('kim')) SELECT '' || count(*) AS told FROM g NATURAL JOIN main.\"madang_sessions\"",
    "WITH g (user) AS (VALUES ('kim')) INSERT INTO notes (call) SELECT 7 FROM g NATURAL JOIN madang_sessions \
     RETURNING '' || call AS told",
    "INSERT INTO copies SELECT * FROM madang_stored",
    "WITH g (name) AS (VALUES ('')) SELECT name AS told FROM sqlite_temp_master FULL JOIN g USING (name)",
    "WITH g (name) AS (VALUES ('')) SELECT name AS told FROM \"temp\" . sqlite_schema FULL JOIN g USING (name)",
];

/// Counts all rows of the store, without notes.
async fn whole(fixture: &StoreFixture) -> i64 {
    fixture
        .count(
            "SELECT (SELECT count(*) FROM madang_transitions) * 1000000 \
             + (SELECT count(*) FROM madang_messages) * 10000 \
             + (SELECT count(*) FROM sqlite_schema) * 100 + (SELECT count(*) FROM madang_sessions)",
        )
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_borrower_says_nothing_but_what_its_own_tables_need() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.call(1, Keep::Keep, async |db| note(db, 1).await.unwrap()).await.unwrap();
    let before = whole(&fixture).await;

    let mut lease = fixture.lease("tool").await;
    say_all(db(&mut lease), "a transaction").await;
    note(db(&mut lease), 2).await.unwrap();
    lease.end(Keep::Keep, Vec::new()).await.expect("what was refused spoils nothing");
    assert_eq!(fixture.count("SELECT count(*) FROM notes").await, 2);

    for _ in 0..2 {
        let mut reader = fixture.store.reader().await.unwrap();
        let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
        say_all(db, "a reader").await;
        // Attaching another file in another way, which SQLite refuses within a transaction.
        let copy = sqlx::query("VACUUM INTO 'elsewhere.db'").execute(&mut *db).await.unwrap_err();
        assert!(copy.to_string().contains("authoriz"), "{copy}");
    }
    assert_eq!(whole(&fixture).await, before);
    fixture.handle.write(say("s", 2)).await.expect("the store goes on");
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_borrower_reads_nothing_of_the_stores_on_ways_that_sqlite_does_not_ask_about() {
    let fixture = StoreFixture::new().await;
    // A tool's table, created like one of the store's.
    let copies = "CREATE TABLE copies (user TEXT NOT NULL PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID";
    let mut other = fixture.other_program().await;
    sqlx::query(copies).execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    fixture.chat("s").await;
    fixture.handle.write(say("s", 1)).await.unwrap();
    for sql in UNASKED {
        let mut lease = fixture.lease("tool").await;
        let told = sqlx::query(*sql).fetch_all(db(&mut lease)).await;
        let told = told.map(|rows| rows.iter().map(|row| row.get("told")).collect::<Vec<String>>());
        assert!(told.is_err(), "a transaction: {sql}: {told:?}");
        drop(lease);

        let mut reader = fixture.store.reader().await.unwrap();
        let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
        let told = sqlx::query(*sql).fetch_all(&mut *db).await.map(|rows| rows.len());
        assert!(told.is_err(), "a reader: {sql}: {told:?}");
        sqlx::query("SELECT * FROM notes").execute(db).await.expect("the reader goes on");
    }
    let kept = "SELECT (SELECT count(*) FROM notes) + (SELECT count(*) FROM copies)";
    assert_eq!(fixture.count(kept).await, 0);
    fixture.handle.write(say("s", 2)).await.expect("the store goes on");
    fixture.close().await;
}

/// `ANALYZE` makes SQLite keep samples of the keys of all tables.
#[tokio::test(flavor = "multi_thread")]
async fn a_borrower_reads_no_sample_of_the_stores_keys() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let mut other = fixture.other_program().await;
    sqlx::query("ANALYZE").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    let mut lease = fixture.lease("tool").await;
    for (table, may_read) in [("sqlite_stat1", true), ("sqlite_stat4", false)] {
        let sql = format!("SELECT * FROM {table}");
        let told = sqlx::query(AssertSqlSafe(sql)).fetch_all(db(&mut lease)).await;
        assert_eq!(told.is_ok(), may_read, "{table}: {told:?}");
    }
    // SQLite does not ask the authorizer about columns of `USING`.
    let sample = "WITH g (sample) AS (VALUES (NULL)) SELECT sample FROM sqlite_stat4 FULL JOIN g USING (sample)";
    let told = sqlx::query(sample).fetch_all(db(&mut lease)).await;
    assert!(told.is_err(), "{told:?}");
    drop(lease);
    fixture.close().await;
}

/// Collects the store's own statements from its sources.
fn stores_own_statements() -> Vec<&'static str> {
    let sources = [
        include_str!("../write.rs"),
        include_str!("../step.rs"),
        include_str!("../read.rs"),
        include_str!("../script.rs"),
    ];
    let texts = sources.into_iter().flat_map(|source| source.split('"').skip(1).step_by(2));
    let is_sql = |text: &&str| {
        ["INSERT INTO madang", "UPDATE madang", "SELECT "].iter().any(|verb| text.starts_with(verb))
    };
    // One is put together, so a source has its parts alone.
    texts.filter(|text| is_sql(text) && *text != "SELECT ").chain([TRANSCRIPT]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_borrower_that_repeats_the_stores_own_words_is_asked_all_the_same() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    // The store prepares and caches every kind of its statements.
    fixture.call(1, Keep::Keep, async |db| note(db, 1).await.unwrap()).await.unwrap();
    fixture.handle.write(record("s", 2)).await.unwrap();
    fixture.handle.write(say("s", 3)).await.unwrap();

    let statements = stores_own_statements();
    assert!(statements.len() > 12, "{statements:?}");
    let mut lease = fixture.lease("tool").await;
    for sql in statements {
        // Once as the store sends it alone, once as it stands in a script.
        for sql in [sql.replace("\\\n", ""), format!("{};", sql.replace("\\\n", ""))] {
            let told = sqlx::query(AssertSqlSafe(sql.clone())).execute(db(&mut lease)).await;
            let error = told.expect_err(&sql).to_string();
            assert!(error.contains("authoriz") || error.contains("prohibited"), "{sql}: {error}");
        }
    }
    drop(lease);
    fixture.close().await;
}

/// Queues a statement on SQLite's thread without waiting for it.
fn leave_behind(db: &mut SqliteConnection, sql: &'static str) {
    let left = pin!(sqlx::query(sql).execute(db));
    assert!(left.poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_borrower_left_behind_is_not_taken_for_the_stores_own() {
    let slow = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300000) \
                SELECT max(i) FROM n";
    // The triggers would let this step in.
    let forged = "INSERT INTO madang_turns (session, turn, began_at, options, text, usage, ended_at, ending) \
                  SELECT session, 'forged', 1, options, text, usage, 1, 'done' FROM madang_turns";
    for keep in [Keep::Keep, Keep::Undo] {
        let fixture = StoreFixture::new().await;
        fixture.chat("s").await;
        for number in 1..=8 {
            let mut lease = fixture.lease("tool").await;
            note(db(&mut lease), number).await.unwrap();
            leave_behind(db(&mut lease), slow);
            leave_behind(db(&mut lease), forged);
            // SQLite prepares this statement behind the end of the loan.
            lease.end(keep, record("s", number)).await.unwrap();
        }
        let turns = fixture.count("SELECT count(*) FROM madang_turns").await;
        assert_eq!(turns, 1, "{keep:?}");
        fixture.close().await;
    }
}
