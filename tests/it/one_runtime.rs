//! One runtime at a time has a store: what one runs, another would call unknown.

use madang::{
    Call, Runtime,
    error::BuildError,
    ledger::Effect,
    store::Store,
    tool::{self, EffectPolicy, NoArguments, ToolContext, ToolResult},
};
use madang_testing::{MemoryStore, ScriptedModel};
use std::sync::Arc;
use tokio::sync::Notify;

use crate::support::{PATIENCE, dispatched, kim};

/// Where a handler says that it runs, and waits.
#[derive(Clone, Default)]
struct Gate {
    runs: Arc<Notify>,
    goes_on: Arc<Notify>,
}

async fn wait(_: NoArguments, ctx: &ToolContext) -> ToolResult<()> {
    let gate = ctx.extension::<Gate>().expect("the test gave one");
    gate.runs.notify_one();
    gate.goes_on.notified().await;
    Ok(())
}

async fn start(store: impl Store, gate: &Gate) -> Result<Runtime, BuildError> {
    let wait = tool::plain("wait", "Waits.", wait).effect(EffectPolicy::Write);
    let builder = Runtime::builder().model(ScriptedModel::new([])).store(store).tool(wait);
    builder.extension(gate.clone()).start().await
}

/// Starts a second runtime on a clone while a call runs, and a third once the first has ended.
async fn one_at_a_time(store: impl Store + Clone) {
    let gate = Gate::default();
    let one = start(store.clone(), &gate).await.unwrap();
    let call = tokio::spawn({
        let one = one.clone();
        async move { dispatched(&one, Call::new(kim(), "wait", "{}")).await }
    });
    tokio::time::timeout(PATIENCE, gate.runs.notified()).await.expect("the call runs");
    let refused = start(store.clone(), &gate).await.unwrap_err();
    assert!(matches!(refused, BuildError::StoreInUse), "{refused:?}");
    assert_eq!(
        refused.to_string(),
        "another runtime uses this store; shut that one down first, or open another store"
    );
    gate.goes_on.notify_one();
    let report = call.await.unwrap().unwrap();
    assert_eq!((report.record.effect, report.record.resolved_by), (Effect::Committed, None));
    one.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_second_runtime_on_a_clone_of_a_store_is_refused_in_one_sentence() {
    let store = MemoryStore::new();
    one_at_a_time(store.clone()).await;
    one_at_a_time(store).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread")]
async fn so_is_one_on_a_clone_of_a_database() {
    let store = madang::store::SqliteStore::in_memory().await.unwrap();
    one_at_a_time(store).await;
}
