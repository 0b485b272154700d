//! What becomes of calls while the store is away: what a handler did is told as unknown, and
//! recorded as it was later.

use std::{
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use madang::{
    Call, Limits, Runtime,
    event::TurnEnding,
    ledger::{CallState, Effect, LedgerFilter, LedgerRow, ResolvedBy},
    store::{Store, StoreError, Transaction},
    turn::TurnPhase,
};
use madang_actors::port::BoxFuture;
use madang_testing::{End, FakeTool, Gate, MemoryStore, Read, ScriptedModel, SteppedStore, Steps};
use serde_json::json;
use tokio::{
    task::yield_now,
    time::{sleep, timeout},
};

use crate::support::{PATIENCE, call_then_say, kim};

/// A store that neither reads nor writes while it is away.
#[derive(Debug, Clone, Default)]
struct Outage(Arc<AtomicBool>);

impl Outage {
    fn begins(&self) {
        self.0.store(true, SeqCst);
    }

    fn ends(&self) {
        self.0.store(false, SeqCst);
    }

    fn or<'a, T: Send + 'a>(&self, step: BoxFuture<'a, Read<T>>) -> BoxFuture<'a, Read<T>> {
        if !self.0.load(SeqCst) {
            return step;
        }
        Box::pin(async { Err(StoreError::refused("the test lets it fail")) })
    }
}

impl Steps for Outage {
    fn begin<'a>(&'a self, of: &'a dyn Store) -> BoxFuture<'a, Read<Box<dyn Transaction>>> {
        self.or(of.begin())
    }

    fn read<'a, T: Send + 'a>(
        &'a self,
        _: impl FnOnce() -> String,
        read: BoxFuture<'a, Read<T>>,
    ) -> BoxFuture<'a, Read<T>> {
        self.or(read)
    }
}

/// A runtime that asks a store that is away every few milliseconds.
async fn with(tool: FakeTool, model: ScriptedModel) -> (Runtime, Outage) {
    let outage = Outage::default();
    let limits = Limits { ask_timeout: Duration::from_millis(5), ..Limits::default() };
    let store = SteppedStore::new(MemoryStore::new(), outage.clone());
    let builder = Runtime::builder().model(model).store(store).limits(limits);
    (builder.tool(tool).start().await.unwrap(), outage)
}

async fn without_model(tool: FakeTool) -> (Runtime, Outage) {
    with(tool, ScriptedModel::new([])).await
}

async fn in_time<T>(future: impl IntoFuture<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it comes in time")
}

/// Waits until the only call of the ledger is as it should be.
async fn until(runtime: &Runtime, is_true: impl Fn(&LedgerRow) -> bool) -> LedgerRow {
    in_time(async {
        loop {
            let rows = runtime.ledger(&LedgerFilter::default()).await;
            match rows.unwrap_or_default().pop() {
                Some(row) if is_true(&row) => break row,
                Some(_) | None => yield_now().await,
            }
        }
    })
    .await
}

fn has_ended(row: &LedgerRow) -> bool {
    row.state == CallState::Ended
}

/// Lets some attempts fail.
async fn lasts() {
    sleep(Duration::from_millis(50)).await;
}

/// What the tool said and did, and that it was never recorded otherwise.
fn is_true_end(row: &LedgerRow) {
    assert_eq!((row.effect, &row.resolved_by), (Some(Effect::Committed), &None), "{row:?}");
    assert!(row.outcome.as_ref().is_some_and(|outcome| outcome.is_ok()), "{row:?}");
}

#[tokio::test]
async fn what_a_turns_handler_did_in_an_outage_is_recorded_as_it_was() {
    let gate = Gate::new();
    let model = call_then_say("mail", &json!({}), "Sent.");
    let (runtime, outage) = with(FakeTool::write("mail").gate(&gate), model).await;
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("go").await.unwrap();
    let id = turn.id();
    in_time(gate.arrived(1)).await;
    outage.begins();
    gate.open();
    let _ = in_time(turn.ended()).await;
    lasts().await;
    outage.ends();
    is_true_end(&until(&runtime, has_ended).await);
    // The turn goes on, with what its handler did.
    let end = in_time(async {
        loop {
            match session.turn_status(id).await.ok().flatten().map(|status| status.phase) {
                Some(TurnPhase::Ended(end)) => break end,
                Some(_) | None => yield_now().await,
            }
        }
    });
    assert_eq!(end.await.ending, TurnEnding::Answered);
    in_time(runtime.shutdown()).await.unwrap();
}

#[tokio::test]
async fn what_the_handler_of_a_call_did_in_an_outage_is_recorded_as_it_was() {
    let gate = Gate::new();
    let (runtime, outage) = without_model(FakeTool::write("mail").gate(&gate)).await;
    let call = runtime.begin(Call::new(kim(), "mail", "{}")).await.unwrap();
    in_time(gate.arrived(1)).await;
    outage.begins();
    gate.open();
    let report = in_time(call.ended()).await;
    assert_eq!((report.is_recorded, report.record.effect), (false, Effect::Unknown));
    lasts().await;
    outage.ends();
    is_true_end(&until(&runtime, has_ended).await);
    in_time(runtime.shutdown()).await.unwrap();
}

#[tokio::test]
async fn what_a_late_handler_did_is_recorded_though_it_ended_in_an_outage() {
    let gate = Gate::new();
    let tool = FakeTool::write("mail").gate(&gate);
    let tool = tool.with_spec(|spec| spec.timeout(Duration::from_millis(1)));
    let (runtime, outage) = without_model(tool).await;
    let call = runtime.begin(Call::new(kim(), "mail", "{}")).await.unwrap();
    let report = in_time(call.ended()).await;
    assert_eq!((report.is_recorded, report.record.effect), (true, Effect::Unknown));
    outage.begins();
    gate.open();
    lasts().await;
    outage.ends();
    let row = until(&runtime, |row| row.effect != Some(Effect::Unknown)).await;
    let resolved = (row.effect, row.resolved_by);
    assert_eq!(resolved, (Some(Effect::Committed), Some(ResolvedBy::Handler)));
    in_time(runtime.shutdown()).await.unwrap();
}

#[tokio::test]
async fn a_handler_that_panics_in_an_outage_may_have_had_its_effect() {
    let gate = Gate::new();
    let tool = FakeTool::write("mail").gate(&gate).end(End::Panic("in the middle"));
    let (runtime, outage) = without_model(tool).await;
    let call = runtime.begin(Call::new(kim(), "mail", "{}")).await.unwrap();
    in_time(gate.arrived(1)).await;
    outage.begins();
    gate.open();
    let report = in_time(call.ended()).await;
    assert_eq!((report.is_recorded, report.record.effect), (false, Effect::Unknown));
    outage.ends();
    assert_eq!(until(&runtime, has_ended).await.effect, Some(Effect::Unknown));
    in_time(runtime.shutdown()).await.unwrap();
}

#[tokio::test]
async fn a_runtime_shuts_down_though_the_store_never_takes_the_end_of_a_call() {
    let gate = Gate::new();
    let (runtime, outage) = without_model(FakeTool::write("mail").gate(&gate)).await;
    let call = runtime.begin(Call::new(kim(), "mail", "{}")).await.unwrap();
    in_time(gate.arrived(1)).await;
    outage.begins();
    gate.open();
    assert!(!in_time(call.ended()).await.is_recorded);
    in_time(runtime.shutdown()).await.unwrap();
}
