//! Whichever future of the public API is dropped, and after whichever of its polls: nothing is lost, nothing is done
//! twice, nothing is left running, and the session goes on.
#![cfg(feature = "sqlite")]

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use madang::{
    AnswerError, Call, ClearError, Confirm, Decision, DismissError, Effect, EffectPolicy,
    IdempotencyKey, Item, LedgerFilter, Limits, Runtime, Session, Store, Turn, TurnEnding,
    TurnOptions, TurnRefused,
    store::SqliteStore,
    testing::{Probe, ScriptedCompletion, ScriptedModel},
    tool::{self, NoArguments, ToolContext, ToolResult},
};
use madang_actors::ledger::verify;
use serde_json::{Value, json};
use sqlx::SqliteConnection;
use tempfile::TempDir;

use crate::support::{PATIENCE, kim};

/// More polls than any of these futures needs: one that takes more waits for something that does not come.
const MOST_POLLS: usize = 200;

/// A runtime on a database of its own. `add_row` writes a row and never asks, `save_row` writes one and asks. The rows
/// have no unique key that would hide a double.
struct House {
    runtime: Runtime,
    store: SqliteStore,
    folder: TempDir,
}

impl House {
    async fn new(name: &str) -> Self {
        Self::with_limits(name, Limits::default()).await
    }

    /// In every session the model calls this tool and says "Done.", again and again.
    async fn with_limits(name: &str, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("house.db"), []).await.unwrap();
        let runtime = builder(store.clone(), name).limits(limits).start().await.unwrap();
        let made = Call::new(kim(), "make_table", "{}").confirm(Confirm::Always(Decision::Approve));
        assert!(runtime.dispatch(made).await.unwrap().outcome().unwrap().is_ok());
        Self { runtime, store, folder }
    }

    async fn session(&self, id: usize) -> Session {
        self.runtime.session("kim", &format!("s{id}")).await.unwrap()
    }

    /// The calls that wrote a row, in the order of the rows.
    async fn rows(&self) -> Vec<String> {
        let mut reader = self.store.reader().await.unwrap();
        let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
        sqlx::query_scalar("SELECT call FROM effects ORDER BY rowid").fetch_all(db).await.unwrap()
    }

    /// What a query counts.
    async fn count(&self, sql: &'static str) -> i64 {
        let mut reader = self.store.reader().await.unwrap();
        let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
        sqlx::query_scalar(sql).fetch_one(db).await.unwrap()
    }

    /// Waits until nothing runs, and compares what the ledger says with what is in the tables.
    async fn settled(&self) {
        // The dispatcher takes calls in their order: behind this one, all before it are counted as running.
        self.runtime.dispatch(Call::new(kim(), "barrier", "{}")).await.unwrap();
        until(async || self.runtime.running_tasks() == 0).await;
        let calls = self.runtime.ledger(&LedgerFilter::default()).await.unwrap();
        let mut committed = Vec::new();
        for call in &calls {
            assert!(call.outcome.is_some(), "{call:?} has no end");
            if call.effect == Some(Effect::Committed) && &*call.name != "make_table" {
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
    async fn effects(&self, session: &Session) -> usize {
        let filter =
            LedgerFilter { session: Some(session.id().clone()), ..LedgerFilter::default() };
        let calls = self.runtime.ledger(&filter).await.unwrap();
        calls.iter().filter(|call| call.effect == Some(Effect::Committed)).count()
    }

    async fn close(self) {
        self.settled().await;
        self.runtime.shutdown().await.unwrap();
        assert_eq!(self.runtime.running_tasks(), 0, "no task is left");
    }
}

fn builder(store: SqliteStore, name: &str) -> madang::Builder {
    let model = ScriptedModel::repeating([
        ScriptedCompletion::call(name, &json!({})),
        ScriptedCompletion::text("Done."),
    ]);
    Runtime::builder().model(model).store(store).tools(tools())
}

fn tools() -> Vec<Arc<dyn tool::Tool>> {
    vec![
        Arc::new(tool::transactional("make_table", "Makes the table.", make_table)),
        Arc::new(
            tool::transactional("add_row", "Adds a row.", add_row).effect(EffectPolicy::Write),
        ),
        Arc::new(tool::transactional("save_row", "Adds a row, when told to.", add_row)),
    ]
}

async fn make_table(
    _: NoArguments,
    db: &mut SqliteConnection,
    _: &ToolContext,
) -> ToolResult<Value> {
    sqlx::query("CREATE TABLE effects (call TEXT NOT NULL)").execute(db).await?;
    Ok(json!({}))
}

async fn add_row(
    _: NoArguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Value> {
    let call = ctx.call.to_string();
    sqlx::query("INSERT INTO effects (call) VALUES ($1)").bind(call).execute(db).await?;
    Ok(json!({ "added": true }))
}

/// Polls a future at most this often, and drops it then; `None` if it had not ended.
async fn dropped_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
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

/// Tries it with 0 polls, 1, 2, ... until the future came to its end by itself: the attempt says whether it did.
async fn after_every_poll(mut attempt: impl AsyncFnMut(usize) -> bool) {
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
async fn until(mut is_true: impl AsyncFnMut() -> bool) {
    let waited = async {
        while !is_true().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waited).await.expect("the state comes");
}

/// Begins a turn as soon as the session is free.
async fn asked(session: &Session) -> Turn {
    let mut turn = None;
    until(async || match session.ask("go").await {
        Ok(begun) => {
            turn = Some(begun);
            true
        }
        Err(TurnRefused::Busy) => false,
        Err(error) => panic!("{error}"),
    })
    .await;
    turn.expect("it was waited for")
}

/// A turn of this session works as ever.
async fn goes_on(session: &Session) {
    assert_eq!(asked(session).await.ended().await.unwrap().ending, TurnEnding::Answered);
}

#[tokio::test]
async fn ask_dropped_begins_a_turn_that_comes_to_its_end_or_none() {
    let house = House::new("add_row").await;
    after_every_poll(async |polls| {
        let session = house.session(polls).await;
        let begun = dropped_after(polls, session.ask("go")).await;
        house.settled().await;
        let messages = session.state().await.unwrap().messages.len();
        // User, call, answer: or nothing at all.
        assert_eq!(
            (messages, house.effects(&session).await),
            if messages == 0 { (0, 0) } else { (3, 1) }
        );
        goes_on(&session).await;
        begun.is_some()
    })
    .await;
    house.close().await;
}

#[tokio::test]
async fn following_a_turn_dropped_leaves_the_turn_running() {
    let house = House::new("add_row").await;
    after_every_poll(async |polls| {
        let session = house.session(polls).await;
        let turn = session.ask("go").await.unwrap();
        let end = dropped_after(polls, turn.ended()).await;
        goes_on(&session).await;
        assert_eq!(house.effects(&session).await, 2);
        end.is_some()
    })
    .await;
    house.close().await;
}

#[tokio::test]
async fn answer_dropped_counts_once_or_not_at_all() {
    let house = House::new("save_row").await;
    after_every_poll(async |polls| {
        let session = house.session(polls).await;
        let mut probe = Probe::new(session.subscribe());
        let turn = session.ask("go").await.unwrap();
        let question = probe.question().await;
        let approved = dropped_after(polls, session.answer(&question, Decision::Approve)).await;
        let rows = match session.answer(&question, Decision::Deny).await {
            Ok(()) => 0,
            Err(AnswerError::NotOpen) => 1,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
        assert_eq!(house.effects(&session).await, rows);
        approved.is_some()
    })
    .await;
    house.close().await;
}

#[tokio::test]
async fn dismiss_dropped_dismisses_the_turn_or_does_not() {
    let house = House::new("save_row").await;
    after_every_poll(async |polls| {
        let session = house.session(polls).await;
        let mut probe = Probe::new(session.subscribe());
        let turn = session.ask("go").await.unwrap();
        probe.question().await;
        let dismissed = dropped_after(polls, session.dismiss()).await;
        match session.dismiss().await {
            Ok(()) | Err(DismissError::NoTurn) => {}
            Err(error) => panic!("{error}"),
        }
        assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Dismissed);
        assert_eq!(house.effects(&session).await, 0);
        dismissed.is_some()
    })
    .await;
    house.close().await;
}

#[tokio::test]
async fn clear_dropped_clears_the_chat_or_does_not() {
    let house = House::new("add_row").await;
    after_every_poll(async |polls| {
        let session = house.session(polls).await;
        goes_on(&session).await;
        let cleared = dropped_after(polls, session.clear()).await;
        until(async || match session.clear().await {
            Ok(()) => true,
            Err(ClearError::Busy) => false,
            Err(error) => panic!("{error}"),
        })
        .await;
        assert!(session.state().await.unwrap().messages.is_empty());
        goes_on(&session).await;
        assert_eq!(house.effects(&session).await, 2);
        cleared.is_some()
    })
    .await;
    house.close().await;
}

#[tokio::test]
async fn ask_dropped_and_asked_again_under_its_key_is_one_turn() {
    let house = House::new("add_row").await;
    after_every_poll(async |polls| {
        let session = house.session(polls).await;
        let key = Some(IdempotencyKey::new("one").unwrap());
        let ask =
            || session.ask_with("go", TurnOptions { key: key.clone(), ..TurnOptions::default() });
        let begun = dropped_after(polls, ask()).await;
        assert_eq!(ask().await.unwrap().ended().await.unwrap().ending, TurnEnding::Answered);
        assert_eq!(session.state().await.unwrap().messages.len(), 3);
        assert_eq!(house.effects(&session).await, 1);
        begun.is_some()
    })
    .await;
    house.close().await;
}

#[tokio::test]
async fn revoke_dropped_ends_the_standing_approval_or_does_not() {
    let house = House::new("save_row").await;
    after_every_poll(async |polls| {
        let session = house.session(polls).await;
        let mut probe = Probe::new(session.subscribe());
        let turn = session.ask("go").await.unwrap();
        let question = probe.question().await;
        session.answer(&question, Decision::ApproveAlways).await.unwrap();
        turn.ended().await.unwrap();
        let seen = dropped_after(polls, session.grants()).await;
        let revoked = dropped_after(polls, session.revoke("save_row")).await;
        session.revoke("save_row").await.unwrap();
        assert!(session.grants().await.unwrap().is_empty());
        let turn = session.ask("again").await.unwrap();
        let question = probe.question().await;
        session.answer(&question, Decision::Deny).await.unwrap();
        turn.ended().await.unwrap();
        assert_eq!(house.effects(&session).await, 1);
        seen.is_some() && revoked.is_some()
    })
    .await;
    house.close().await;
}

#[tokio::test]
async fn a_transaction_dropped_is_committed_once_or_not_begun() {
    let house = House::new("add_row").await;
    let transaction = async |sql: &'static str| {
        let run = async move |db: &mut SqliteConnection| sqlx::query(sql).execute(db).await;
        house.runtime.transaction(run).await.unwrap();
    };
    transaction("CREATE TABLE own (number INTEGER)").await;
    after_every_poll(async |polls| {
        let before = house.count("SELECT count(*) FROM own").await;
        let run = async |db: &mut SqliteConnection| {
            sqlx::query("INSERT INTO own VALUES (1)").execute(db).await
        };
        let ended = dropped_after(polls, house.runtime.transaction(run)).await;
        house.settled().await;
        let written = house.count("SELECT count(*) FROM own").await - before;
        assert_eq!(written, i64::from(polls > 0));
        ended.is_some()
    })
    .await;
    house.close().await;
}

#[tokio::test]
async fn resuming_dropped_leaves_turns_that_go_on_when_their_session_is_opened() {
    after_every_poll(async |polls| {
        let house = House::new("save_row").await;
        for id in 0..2 {
            let session = house.session(id).await;
            let mut probe = Probe::new(session.subscribe());
            session.ask("go").await.unwrap();
            probe.question().await;
        }
        house.runtime.shutdown().await.unwrap();
        let store = SqliteStore::open(house.folder.path().join("house.db"), []).await.unwrap();
        let model = ScriptedModel::repeating([ScriptedCompletion::text("Done.")]);
        let builder = Runtime::builder().model(model).store(store.clone()).tools(tools());
        let runtime = builder.start().await.unwrap();
        let house = House { runtime, store, folder: house.folder };
        let resumed = dropped_after(polls, house.runtime.resume_open()).await;
        for id in 0..2 {
            let session = house.session(id).await;
            // Opening it is enough: nothing is sent to it that would wake it.
            let question = Probe::new(session.subscribe()).question().await;
            session.answer(&question, Decision::Approve).await.unwrap();
            if let Some(turn) = session.turn().await.unwrap() {
                turn.ended().await.unwrap();
            }
            assert_eq!(house.effects(&session).await, 1);
        }
        house.close().await;
        resumed.is_some()
    })
    .await;
}

#[tokio::test]
async fn opening_a_session_dropped_leaves_one_that_can_be_opened() {
    let house = House::new("add_row").await;
    after_every_poll(async |polls| {
        let id = format!("o{polls}");
        let opened = dropped_after(polls, house.runtime.session("kim", &id)).await;
        let session = house.runtime.session("kim", &id).await.unwrap();
        let state = dropped_after(polls, session.state()).await;
        goes_on(&session).await;
        assert_eq!(session.state().await.unwrap().messages.len(), 3);
        opened.is_some() && state.is_some()
    })
    .await;
    house.close().await;
}

#[tokio::test]
async fn dispatch_dropped_leaves_the_call_running_to_its_end() {
    // The answer is lost with the future that would have given it: the question expires.
    let mut limits = Limits::default();
    limits.confirmation_timeout = Duration::from_millis(100);
    let house = House::with_limits("add_row", limits).await;
    for (name, decision) in [("add_row", None), ("save_row", Some(Decision::Approve))] {
        after_every_poll(async |polls| {
            let before = house.rows().await.len();
            let confirm = decision.clone().map_or(Confirm::Nobody, Confirm::Always);
            let call = Call::new(kim(), name, "{}").confirm(confirm);
            let ended = dropped_after(polls, house.runtime.dispatch(call)).await;
            house.settled().await;
            let written = house.rows().await.len() - before;
            assert!(written <= 1 && (ended.is_none() || written == 1));
            ended.is_some()
        })
        .await;
    }
    house.close().await;
}

#[tokio::test]
async fn the_next_event_dropped_is_read_by_the_next_who_asks() {
    let house = House::new("add_row").await;
    after_every_poll(async |polls| {
        let session = house.session(polls).await;
        let mut events = session.subscribe();
        let turn = session.ask("go").await.unwrap();
        let first = dropped_after(polls, events.next()).await;
        turn.ended().await.unwrap();
        let mut items: Vec<Item> = first.iter().flatten().cloned().collect();
        while let Some(item) = events.try_next() {
            items.push(item);
        }
        let numbers = items.iter().filter_map(|item| match item {
            Item::Event(event) => Some(event.seq),
            Item::Text(_) | Item::Thinking(_) => None,
            Item::Lagged { .. } => panic!("nothing is missed"),
        });
        let numbers: Vec<u64> = numbers.collect();
        assert!(numbers.len() >= 4, "{items:?}");
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
        first.is_some()
    })
    .await;
    house.close().await;
}

#[tokio::test]
async fn shutdown_dropped_can_be_asked_for_again() {
    after_every_poll(async |polls| {
        let house = House::new("add_row").await;
        let sessions = [house.session(0).await, house.session(1).await];
        let turns = [sessions[0].ask("go").await.unwrap(), sessions[1].ask("go").await.unwrap()];
        let ended = dropped_after(polls, house.runtime.shutdown()).await;
        if polls > 0 {
            assert!(matches!(sessions[0].ask("no").await, Err(TurnRefused::Closed)));
        }
        house.runtime.shutdown().await.unwrap();
        assert_eq!(house.runtime.running_tasks(), 0);
        drop(turns);
        // Whatever was told to be in the store is there, and the database is free.
        let House { folder, .. } = house;
        let again = SqliteStore::open(folder.path().join("house.db"), []).await.unwrap();
        again.close().await;
        ended.is_some()
    })
    .await;
}

#[tokio::test]
async fn starting_dropped_leaves_the_database_free() {
    after_every_poll(async |polls| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("house.db");
        let opened = dropped_after(polls, SqliteStore::open(&path, [])).await;
        let has_opened = opened.is_some();
        drop(opened);
        let store = free(&path).await;
        let started = dropped_after(polls, builder(store.clone(), "add_row").start()).await;
        let has_started = started.is_some();
        if let Some(runtime) = started {
            runtime.unwrap().shutdown().await.unwrap();
        }
        drop(store);
        free(&path).await.close().await;
        has_opened && has_started
    })
    .await;
}

/// Opens the database as soon as nobody holds it.
async fn free(path: &std::path::Path) -> SqliteStore {
    let mut opened = None;
    let waited = async {
        while opened.is_none() {
            opened = SqliteStore::open(path, []).await.ok();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waited).await.expect("the database is free again");
    opened.expect("it was waited for")
}
