//! Tools and the embedder's own transactions on a real database file.
#![cfg(feature = "sqlite")]

use std::{sync::LazyLock, time::Duration};

use madang::{
    Call, CallReport, Limits, Runtime,
    approval::Approver,
    ledger::{Effect, LedgerFilter},
    store::{SqliteStore, savepoint},
    tool::{self, EffectPolicy, NoArguments, ToolContext, ToolFault, ToolResult},
    transaction::TransactionError,
};
use madang_testing::{RuntimeHooks as _, ScriptedCompletion, ScriptedModel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::{
    ConnectOptions, SqlSafeStr, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
    sqlite::SqliteConnectOptions,
};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::support::{PATIENCE, dispatched, kim, kind};

/// The embedder's own table, in the store's file.
static SONGS: LazyLock<Migrator> = LazyLock::new(|| {
    let table = "CREATE TABLE songs (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE) STRICT";
    let first =
        Migration::new(1, "songs".into(), MigrationType::Simple, table.into_sql_str(), false);
    Migrator::with_migrations(vec![first])
});

/// A runtime on a database file with a table of the embedder's.
struct StoreFixture {
    runtime: Runtime,
    folder: TempDir,
}

#[derive(Deserialize, JsonSchema)]
struct Titles {
    /// The titles.
    titles: Vec<String>,
}

impl StoreFixture {
    async fn new(limits: Limits) -> Self {
        Self::with_model(ScriptedModel::new([]), limits).await
    }

    async fn with_model(model: ScriptedModel, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("own.db")).migrations("songs", &SONGS);
        let add = tool::transactional("add", "Adds songs.", add).effect(EffectPolicy::Write);
        let hang = tool::transactional("hang", "Adds a song and hangs.", hang);
        let spin = tool::transactional("spin", "Adds a song and computes without end.", spin);
        let commit = tool::transactional("commit", "Adds a song and commits by itself.", commit);
        let import = tool::transactional("import", "Adds the songs that it can.", import);
        let runtime = Runtime::builder()
            .model(model)
            .limits(limits)
            .store(store.await.unwrap())
            .tool(add)
            .tool(hang.effect(EffectPolicy::Write))
            .tool(spin.effect(EffectPolicy::Write))
            .tool(commit.effect(EffectPolicy::Write))
            .tool(import.effect(EffectPolicy::Write))
            .tool(tool::reading("count", "Counts songs.", count))
            .tool(
                tool::reading("endless", "Counts without end.", endless)
                    .timeout(Duration::from_millis(100)),
            )
            .start();
        Self { runtime: runtime.await.unwrap(), folder }
    }

    async fn call(&self, name: &str, arguments: &Value) -> CallReport {
        let call = Call::new(kim(), name, arguments.to_string()).approver(Approver::None);
        let ended = tokio::time::timeout(PATIENCE, dispatched(&self.runtime, call)).await;
        ended.expect("dispatch ends").unwrap()
    }

    /// The songs, seen by a connection of the embedder's own.
    async fn titles(&self) -> Vec<String> {
        let mut db = own_connection(&self.folder).await;
        let titles = sqlx::query_scalar("SELECT title FROM songs ORDER BY title");
        titles.fetch_all(&mut db).await.unwrap()
    }

    async fn shutdown(self) {
        self.runtime.shutdown().await.unwrap();
        assert_eq!(self.runtime.running_tasks(), 0, "no task is left");
    }
}

async fn own_connection(folder: &TempDir) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(folder.path().join("own.db"));
    options.read_only(true).connect().await.unwrap()
}

fn titles(titles: &[&str]) -> Value {
    json!({ "titles": titles })
}

async fn insert(db: &mut SqliteConnection, title: &str) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO songs (title) VALUES ($1)").bind(title).execute(db).await.map(drop)
}

async fn add(new: Titles, db: &mut SqliteConnection, _: &ToolContext) -> ToolResult<usize> {
    for title in &new.titles {
        insert(db, title).await?;
    }
    Ok(new.titles.len())
}

async fn hang(_: NoArguments, db: &mut SqliteConnection, _: &ToolContext) -> ToolResult<()> {
    insert(db, "ghost").await?;
    std::future::pending().await
}

const WITHOUT_END: &str =
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

async fn spin(_: NoArguments, db: &mut SqliteConnection, _: &ToolContext) -> ToolResult<i64> {
    insert(db, "ghost").await?;
    Ok(sqlx::query_scalar(WITHOUT_END).fetch_one(db).await?)
}

async fn commit(_: NoArguments, db: &mut SqliteConnection, _: &ToolContext) -> ToolResult<()> {
    insert(db, "ghost").await?;
    // Whatever it says, the handler goes on.
    let _ = sqlx::query("COMMIT").execute(&mut *db).await;
    let _ = insert(db, "second ghost").await;
    Ok(())
}

async fn import(new: Titles, db: &mut SqliteConnection, _: &ToolContext) -> ToolResult<usize> {
    let mut imported = 0;
    for title in &new.titles {
        let part = savepoint(db, async |db| {
            insert(db, &format!("{title} (score)")).await?;
            insert(db, title).await?;
            if title.is_empty() { Err(ToolFault::rule("r1", "no title")) } else { Ok(()) }
        });
        imported += usize::from(part.await.is_ok());
    }
    Ok(imported)
}

async fn count(_: NoArguments, db: &mut SqliteConnection, _: &ToolContext) -> ToolResult<i64> {
    Ok(sqlx::query_scalar("SELECT count(*) FROM songs").fetch_one(db).await?)
}

async fn endless(_: NoArguments, db: &mut SqliteConnection, _: &ToolContext) -> ToolResult<i64> {
    Ok(sqlx::query_scalar(WITHOUT_END).fetch_one(db).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tools_rows_ledger_entry_outcome_and_transcript_entry_are_there_together() {
    let script =
        [ScriptedCompletion::call("add", &titles(&["아리랑"])), ScriptedCompletion::text("Added.")];
    let fixture = StoreFixture::with_model(ScriptedModel::new(script), Limits::default()).await;
    let session = fixture.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("add it").await.unwrap();
    // Whenever another connection looks, all four are there, or none of them.
    let mut db = own_connection(&fixture.folder).await;
    let look = "SELECT (SELECT count(*) FROM songs), \
        (SELECT count(*) FROM madang_transitions WHERE step = 'ended'), \
        (SELECT count(*) FROM madang_calls WHERE outcome IS NOT NULL), \
        (SELECT count(*) FROM madang_messages WHERE call IS NOT NULL)";
    let both = async {
        loop {
            let seen: (i64, i64, i64, i64) = sqlx::query_as(look).fetch_one(&mut db).await.unwrap();
            assert!(matches!(seen, (0, 0, 0, 0) | (1, 1, 1, 1)), "{seen:?}");
            if seen.0 == 1 {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, both).await.expect("the tool commits");
    turn.ended().await.unwrap();
    fixture.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_handler_makes_others_wait_no_longer_than_its_deadline() {
    let limits = Limits::default();
    let deadline = limits.transaction_deadline;
    for name in ["hang", "spin"] {
        let fixture = StoreFixture::new(limits.clone()).await;
        let arguments = json!({});
        let hanging = fixture.call(name, &arguments);
        let others = async {
            while fixture.runtime.running_tasks() < 2 {
                tokio::task::yield_now().await;
            }
            let begin = Instant::now();
            let song = titles(&["song"]);
            let (tool, own) = tokio::join!(
                fixture.call("add", &song),
                fixture
                    .runtime
                    .transaction(async |db: &mut SqliteConnection| insert(db, "own").await),
            );
            assert_eq!(kind(&tool), "ok");
            own.unwrap();
            begin.elapsed()
        };
        let (report, waited) = tokio::join!(hanging, others);
        assert_eq!((kind(&report).as_str(), report.record.effect), ("timeout", Effect::None));
        // Two commits come on top, on a machine that may be busy with other tests.
        assert!(waited < deadline + Duration::from_secs(10), "{name}: {waited:?}");
        assert_eq!(fixture.titles().await, ["own", "song"]);
        fixture.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_types_commit_is_refused_that_and_costs_no_other_call_anything() {
    let fixture = StoreFixture::new(Limits::default()).await;
    let song = titles(&["song"]);
    let nothing = json!({});
    let (before, commits, own) = tokio::join!(
        fixture.call("add", &song),
        fixture.call("commit", &nothing),
        fixture.runtime.transaction(async |db: &mut SqliteConnection| insert(db, "own").await),
    );
    own.unwrap();
    // It goes on in the transaction that it did not end.
    for report in [before, commits] {
        assert_eq!((kind(&report).as_str(), report.record.effect), ("ok", Effect::Committed));
    }
    let there = ["ghost", "own", "second ghost", "song"];
    assert_eq!(fixture.titles().await, there);
    let rows = fixture.runtime.ledger(&LedgerFilter::default()).await.unwrap();
    assert!(rows.len() == 2 && rows.iter().all(|row| row.outcome.is_some()), "{rows:?}");

    let typed =
        fixture.runtime.transaction(async |db: &mut SqliteConnection| -> sqlx::Result<()> {
            insert(db, "third ghost").await?;
            let _ = sqlx::query("ROLLBACK").execute(db).await;
            Ok(())
        });
    assert!(matches!(typed.await, Err(TransactionError::NotWritten(_))));
    assert_eq!(fixture.titles().await, there);
    fixture.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_keeps_the_parts_that_went_well() {
    let fixture = StoreFixture::new(Limits::default()).await;
    let report = fixture.call("import", &titles(&["a", "", "b", "a"])).await;
    assert_eq!(report.envelope, r#"{"status":"ok","data":2}"#);
    assert_eq!(fixture.titles().await, ["a", "a (score)", "b", "b (score)"]);

    let own = fixture.runtime.transaction(async |db: &mut SqliteConnection| -> sqlx::Result<()> {
        insert(db, "c").await?;
        let part = savepoint(db, async |db| {
            insert(db, "d").await?;
            insert(db, "a").await
        });
        assert!(part.await.is_err());
        Ok(())
    });
    own.await.unwrap();
    assert_eq!(fixture.titles().await, ["a", "a (score)", "b", "b (score)", "c"]);
    fixture.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_reads_end_at_their_deadline_and_keep_no_connection() {
    let fixture = StoreFixture::new(Limits::default()).await;
    // More of them than there are connections to read with.
    for _ in 0..6 {
        let report = fixture.call("endless", &json!({})).await;
        assert_eq!((kind(&report).as_str(), report.record.effect), ("timeout", Effect::None));
    }
    for _ in 0..6 {
        assert_eq!(fixture.call("count", &json!({})).await.envelope, r#"{"status":"ok","data":0}"#);
    }
    fixture.shutdown().await;
}
