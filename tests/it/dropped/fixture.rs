//! A runtime whose tools leave rows, futures that are dropped after so many polls, and what must
//! hold afterwards.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, LazyLock},
    task::Poll,
    time::Duration,
};

use madang::{
    Call, Error, Limits, Runtime, Session, Turn,
    event::TurnEnding,
    ledger::{Effect, LedgerFilter},
    store::{SqliteStore, Store},
    tool::{self, EffectPolicy, NoArguments, ToolContext, ToolResult},
};
use madang_actors::ledger::verify;
use madang_testing::{RuntimeHooks as _, ScriptedCompletion, ScriptedModel};
use serde_json::{Value, json};
use sqlx::{
    SqlSafeStr, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
};
use tempfile::TempDir;

use crate::support::{PATIENCE, kim};

/// More polls than any of these futures needs: one that takes more waits for something that does
/// not come.
pub(super) const MOST_POLLS: usize = 200;

static EFFECTS: LazyLock<Migrator> = LazyLock::new(|| {
    let table = "CREATE TABLE effects (call TEXT NOT NULL); CREATE TABLE own (number INTEGER)";
    let first =
        Migration::new(1, "effects".into(), MigrationType::Simple, table.into_sql_str(), false);
    let mut migrator = Migrator::with_migrations(vec![first]);
    migrator.dangerous_set_table_name("_effects_migrations");
    migrator
});

/// A runtime on a database of its own. `add_row` writes a row and never asks, `save_row` writes one
/// and asks, and the effect of `lose_track` is unknown. The rows have no unique key that would hide
/// a double.
pub(super) struct StoreFixture {
    pub(super) runtime: Runtime,
    pub(super) store: SqliteStore,
    pub(super) folder: TempDir,
}

impl StoreFixture {
    pub(super) async fn new(name: &str) -> Self {
        Self::with_limits(name, Limits::default()).await
    }

    /// In every session the model calls this tool and says "Done.", again and again.
    pub(super) async fn with_limits(name: &str, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("store.db"))
            .migrations("effects", &EFFECTS)
            .await
            .unwrap();
        let runtime = builder(store.clone(), name).limits(limits).start().await.unwrap();
        Self { runtime, store, folder }
    }

    pub(super) async fn session(&self, id: usize) -> Session {
        self.runtime.user("kim").unwrap().session(&format!("s{id}")).await.unwrap()
    }

    /// The calls that wrote a row, in the order of the rows.
    pub(super) async fn rows(&self) -> Vec<String> {
        let mut reader = self.store.reader().await.unwrap();
        let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
        sqlx::query_scalar("SELECT call FROM effects ORDER BY rowid").fetch_all(db).await.unwrap()
    }

    /// What a query counts.
    pub(super) async fn count(&self, sql: &'static str) -> i64 {
        let mut reader = self.store.reader().await.unwrap();
        let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
        sqlx::query_scalar(sql).fetch_one(db).await.unwrap()
    }

    /// Waits until nothing runs, and compares what the ledger says with what is in the tables.
    pub(super) async fn resolved(&self) {
        // The dispatcher takes calls in their order: behind this one, all before it are counted as
        // running.
        self.runtime.begin(Call::new(kim(), "barrier", "{}")).await.unwrap().ended().await;
        until(async || self.runtime.running_tasks() == 0).await;
        let calls = self.runtime.ledger(&LedgerFilter::default()).await.unwrap();
        let mut committed = Vec::new();
        for call in &calls {
            assert!(call.outcome.is_some(), "{call:?} has no end");
            if call.effect == Some(Effect::Committed) {
                committed.push(call.call.to_string());
            }
            let (links, end) = self.store.links(&call.session).await.unwrap();
            verify(&call.session, &links, &end).unwrap();
        }
        let mut rows = self.rows().await;
        committed.sort();
        rows.sort();
        assert_eq!(rows, committed, "the ledger and the table tell the same");
    }

    /// How many rows the calls of a session wrote.
    pub(super) async fn effects(&self, session: &Session) -> usize {
        let filter = LedgerFilter::default().in_session(session.id());
        let calls = self.runtime.ledger(&filter).await.unwrap();
        calls.iter().filter(|call| call.effect == Some(Effect::Committed)).count()
    }

    pub(super) async fn close(self) {
        self.resolved().await;
        self.runtime.shutdown().await.unwrap();
        assert_eq!(self.runtime.running_tasks(), 0, "no task is left");
    }
}

pub(super) fn builder(store: SqliteStore, name: &str) -> madang::Builder {
    let model = ScriptedModel::repeating([
        ScriptedCompletion::call(name, &json!({})),
        ScriptedCompletion::text("Done."),
    ]);
    Runtime::builder().model(model).store(store).tools(tools())
}

pub(super) fn tools() -> Vec<Arc<dyn tool::Tool>> {
    vec![
        Arc::new(
            tool::transactional("add_row", "Adds a row.", add_row).effect(EffectPolicy::Write),
        ),
        Arc::new(tool::transactional("save_row", "Adds a row, when told to.", add_row)),
        Arc::new(
            tool::plain("lose_track", "Does nobody knows what.", lose_track)
                .effect(EffectPolicy::Write),
        ),
    ]
}

pub(super) async fn lose_track(_: NoArguments, _: &ToolContext) -> ToolResult<Value> {
    Err(std::io::Error::other("the line is dead").into())
}

pub(super) async fn add_row(
    _: NoArguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    let call = ctx.call.to_string();
    sqlx::query("INSERT INTO effects (call) VALUES ($1)").bind(call).execute(db).await?;
    Ok(json!({ "added": true }))
}

/// Polls a future at most this often, and drops it then; `None` if it had not ended.
pub(super) async fn dropped_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Tries it with 0 polls, 1, 2, ... until the future came to its end by itself: the attempt says
/// whether it did.
pub(super) async fn after_every_poll(mut attempt: impl AsyncFnMut(usize) -> bool) {
    for polls in 0..MOST_POLLS {
        let has_ended = tokio::time::timeout(PATIENCE, attempt(polls)).await;
        if has_ended.unwrap_or_else(|_| panic!("hangs when dropped after {polls} polls")) {
            assert!(polls > 0, "nothing ends without a poll");
            return;
        }
    }
    panic!("still not at its end after {MOST_POLLS} polls");
}

/// Waits for a state that comes by itself.
pub(super) async fn until(mut is_true: impl AsyncFnMut() -> bool) {
    let waited = async {
        while !is_true().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waited).await.expect("the state comes");
}

/// Begins a turn as soon as the session is free.
pub(super) async fn asked(session: &Session) -> Turn {
    let mut turn = None;
    until(async || match session.send("go").await {
        Ok(begun) => {
            turn = Some(begun);
            true
        }
        Err(Error::Busy) => false,
        Err(error) => panic!("{error}"),
    })
    .await;
    turn.expect("it was waited for")
}

/// A turn of this session works as ever.
pub(super) async fn goes_on(session: &Session) {
    assert_eq!(asked(session).await.ended().await.unwrap().ending, TurnEnding::Answered);
}

/// Opens the database as soon as its lock is free.
pub(super) async fn free(path: &std::path::Path) -> SqliteStore {
    let mut opened = None;
    let waited = async {
        while opened.is_none() {
            opened = SqliteStore::open(path).await.ok();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waited).await.expect("the database is free again");
    opened.expect("it was waited for")
}
