//! What a handler reports of its progress reaches each reader while its call runs, and neither the
//! store nor the model.

use std::{
    sync::{Arc, Mutex as Lock},
    time::Duration,
};

use madang::{
    Call, Limits, Runtime, Session, SessionId,
    event::{EventCursor, EventKind, StreamItem, Subscription},
    ledger::LedgerFilter,
    model::{ChatModel, Completion, PromptMessage},
    store::Store as _,
    tool::{
        self, EffectPolicy, NoArguments, ProgressReporter, ToolContext, ToolProgress, ToolResult,
    },
};
use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, mpsc},
    time::timeout,
};

use crate::support::{PATIENCE, kim, wanted};

/// A tool that reports what its test sends, until the test has nothing more to send.
struct Walk {
    reports: mpsc::UnboundedSender<ToolProgress>,
    kept: Arc<Lock<Option<ProgressReporter>>>,
}

#[derive(Debug)]
struct Steps {
    reports: Mutex<mpsc::UnboundedReceiver<ToolProgress>>,
    kept: Arc<Lock<Option<ProgressReporter>>>,
}

async fn walk(_: NoArguments, ctx: &ToolContext) -> ToolResult<Value> {
    let steps = ctx.extension::<Steps>().unwrap();
    *steps.kept.lock().unwrap() = Some(ctx.progress.clone());
    while let Some(report) = steps.reports.lock().await.recv().await {
        ctx.progress.report(report);
    }
    Ok(json!({ "walked": true }))
}

async fn runtime(model: impl ChatModel) -> (Runtime, MemoryStore, Walk) {
    let (reports, steps) = mpsc::unbounded_channel();
    let store = MemoryStore::new();
    let kept = Arc::default();
    let limits = Limits { progress_pause: Duration::ZERO, ..Limits::default() };
    let runtime = Runtime::builder()
        .model(model)
        .store(store.clone())
        .tool(tool::plain("walk", "Walks.", walk).effect(EffectPolicy::Read))
        .limits(limits)
        .extension(Steps { reports: Mutex::new(steps), kept: Arc::clone(&kept) })
        .start();
    (runtime.await.unwrap(), store, Walk { reports, kept })
}

async fn next_progress(reader: &mut Subscription) -> ToolProgress {
    let read = async {
        loop {
            if let StreamItem::Progress { progress, .. } = reader.next().await.unwrap() {
                return progress;
            }
        }
    };
    timeout(PATIENCE, read).await.expect("a report comes in time")
}

async fn subscribe(session: &Session) -> Subscription {
    session.subscribe_after(EventCursor::START).await.unwrap()
}

#[tokio::test]
async fn reports_reach_each_reader_while_the_call_runs_and_none_behind_its_end() {
    let (model, mut script) = model_pair();
    let (runtime, store, walk) = runtime(model).await;
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut reader = subscribe(&session).await;
    let turn = session.send("go").await.unwrap();
    let tool_calls = vec![wanted("walk", &json!({}))];
    script.next().await.finish(Completion { tool_calls, ..Completion::default() });
    let first = ToolProgress::new(1.0).out_of(3.0).saying("the first hill");
    walk.reports.send(first.clone()).unwrap();
    assert_eq!(next_progress(&mut reader).await, first);

    // A reader that comes later is told the newest report.
    walk.reports.send(ToolProgress::new(2.0).out_of(3.0)).unwrap();
    assert_eq!(next_progress(&mut reader).await.done, 2.0);
    let mut watched = subscribe(&session).await;
    assert_eq!(next_progress(&mut watched).await.done, 2.0);

    drop(walk.reports);
    let completion = script.next().await;
    let told = completion.request().messages.last().unwrap().clone();
    let PromptMessage::ToolCall { envelope, .. } = told else { panic!("{told:?}") };
    assert_eq!(&*envelope, r#"{"status":"ok","data":{"walked":true}}"#, "no model is told");
    completion.say("Done.");
    turn.ended().await.unwrap();
    walk.kept.lock().unwrap().take().unwrap().report(ToolProgress::new(3.0));
    let mut late = subscribe(&session).await;
    for reader in [&mut reader, &mut watched, &mut late] {
        while let Some(item) = reader.rest().await {
            assert!(!matches!(item, StreamItem::Progress { .. }), "{item:?}");
        }
    }

    let stored = store.session(&SessionId::new("s").unwrap()).await.unwrap().unwrap();
    assert!(!format!("{stored:?}").contains("hill"), "the store keeps no progress: {stored:?}");
    let rows = runtime.ledger(&LedgerFilter::default()).await.unwrap();
    assert!(!format!("{rows:?}").contains("hill"), "nor does the ledger: {rows:?}");
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_reader_of_a_call_without_a_model_is_told_the_newest_report_once() {
    let (runtime, _, walk) = runtime(ScriptedModel::new([])).await;
    let mut running = runtime.begin(Call::new(kim(), "walk", "{}")).await.unwrap();
    let mut other = running.clone();
    for done in [1.0, 2.0] {
        walk.reports.send(ToolProgress::new(done)).unwrap();
        assert_eq!(timeout(PATIENCE, running.progress()).await.unwrap().unwrap().done, done);
    }
    assert_eq!(timeout(PATIENCE, other.progress()).await.unwrap().unwrap().done, 2.0);
    drop(walk.reports);
    assert_eq!(timeout(PATIENCE, running.progress()).await.unwrap(), None);
    assert_eq!(timeout(PATIENCE, other.progress()).await.unwrap(), None);
    running.ended().await;
    runtime.shutdown().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_reports_without_end_costs_its_readers_ten_reports_a_second() {
    async fn flood(_: NoArguments, ctx: &ToolContext) -> ToolResult<Value> {
        for done in 0..1_000 {
            ctx.progress.report(ToolProgress::new(f64::from(done)));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(json!({}))
    }
    let call = ScriptedCompletion::call("flood", &json!({}));
    let model = ScriptedModel::new([call, ScriptedCompletion::text("Done.")]);
    let flood = tool::plain("flood", "Reports.", flood).effect(EffectPolicy::Read);
    let runtime = Runtime::builder().model(model).store(MemoryStore::new()).tool(flood);
    let runtime = runtime.start().await.unwrap();
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut reader = subscribe(&session).await;
    let turn = session.send("go").await.unwrap();
    let mut told = 0;
    loop {
        let item = reader.next().await.unwrap();
        if matches!(&item, StreamItem::Event(event) if matches!(event.kind, EventKind::TurnEnded { .. }))
        {
            break;
        }
        told += u32::from(matches!(item, StreamItem::Progress { .. }));
    }
    turn.ended().await.unwrap();
    assert_eq!(told, 10);
    runtime.shutdown().await.unwrap();
}
