//! Chats that only memory has, whose actor is lost: the next actor of the process goes on with them.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;

use super::{
    asleep, calling,
    lost::{ends, killed, sends},
    role, words,
};
use crate::{
    port::{LedgerFilter, Store},
    protocol::{Decision, Limits, TurnEnding},
    session::{History, SessionMsg},
    test_runtime::{TestRuntime, in_time},
    testing::{FakeTool, HandScript, Probe, model_pair},
};

const NO_TOOLS: [FakeTool; 0] = [];

/// A chat in memory whose model is the test.
async fn in_memory(tools: impl IntoIterator<Item = FakeTool>) -> (TestRuntime, HandScript) {
    let (model, script) = model_pair();
    (TestRuntime::keeping(History::InMemory, Limits::default(), model, tools).await, script)
}

#[tokio::test]
async fn the_end_of_a_turn_in_memory_is_told_though_the_reply_to_its_recovery_was_lost() {
    let (model, mut script) = model_pair();
    let limits = Limits { ask_timeout: Duration::from_millis(50), ..Limits::default() };
    let runtime =
        TestRuntime::keeping(History::InMemory, limits, model, [FakeTool::transactional("save")])
            .await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    drop(runtime.ask(&slot, "go").await.unwrap());
    let _speaks = script.next().await;
    runtime.store.lose_next_commit_reply();
    killed(&slot).await;
    probe.until_turns_ended(1).await;
    let told: Vec<_> = ends(probe.events()).into_iter().map(|(_, ending)| ending).collect();
    assert_eq!(told, [TurnEnding::Failed]);
}

#[tokio::test]
async fn a_turn_in_memory_whose_beginning_was_never_told_has_no_end_to_tell() {
    let (model, mut script) = model_pair();
    let limits = Limits { ask_timeout: Duration::from_millis(50), ..Limits::default() };
    let runtime = TestRuntime::keeping(History::InMemory, limits, model, NO_TOOLS).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let paused = runtime.store.pause().await;
    let beginning = sends(&runtime, &slot, "lost");
    runtime.state(&slot).await; // so it is on its way to the store
    killed(&slot).await;
    in_time(asleep(&slot)).await;
    // Of the beginning, and of the end that the recovery writes.
    runtime.store.lose_next_commit_reply();
    runtime.store.lose_next_commit_reply();
    drop(paused);
    assert!(in_time(beginning).await.is_err(), "its actor is gone");
    // Until the recovery has read what the store has, the session does not wake.
    let end = loop {
        if let Ok(end) = in_time(runtime.ask(&slot, "heard")).await {
            break end;
        }
    };
    script.next().await.say("Hello.");
    in_time(end).await.unwrap();
    probe.until_turns_ended(1).await;
    assert_eq!(probe.lines(), "user: heard\nmodel: Hello. (Complete)\nturn ended Answered");
}

#[tokio::test]
async fn a_chat_in_memory_outlives_its_actor() {
    let (runtime, mut script) = in_memory([FakeTool::transactional("save")]).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "one").await.unwrap();
    script.next().await.finish(calling("Saving.", &["save"]));
    script.next().await.say("Saved.");
    in_time(end).await.unwrap();
    let before = words(&runtime, &slot).await;
    killed(&slot).await;
    assert_eq!((words(&runtime, &slot).await, before.len()), (before, 4));
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "two").await.unwrap();
    let completion = script.next().await;
    killed(&slot).await;
    in_time(completion.cancelled()).await;
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Failed);
    probe.until_turns_ended(1).await;
    let end = runtime.ask(&slot, "three").await.unwrap();
    let completion = script.next().await;
    let read: Vec<_> = completion.request().messages.iter().map(role).collect();
    assert_eq!(read, ["user", "model", "call", "model", "user", "user"]);
    completion.say("Hello.");
    in_time(end).await.unwrap();
    probe.until_turns_ended(2).await;
    assert_eq!(ends(probe.events()).len(), 2);
    assert_eq!(words(&runtime, &slot).await.len(), 7);
    // Another process knows nothing of it, and shows nothing of the calls that are in the ledger.
    assert!(words(&runtime, &runtime.fresh_slot(&slot)).await.is_empty());
}

#[tokio::test]
async fn a_chat_in_memory_that_sleeps_is_gone_with_its_runtime() {
    let (runtime, mut script) = in_memory([]).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "one").await.unwrap();
    script.next().await.say("Hello.");
    in_time(end).await.unwrap();
    killed(&slot).await;
    runtime.at_rest().await;
    let kept = Arc::downgrade(&slot);
    drop(slot);
    assert!(kept.upgrade().is_some(), "its chat can go on");
    drop(runtime);
    in_time(async {
        while kept.upgrade().is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_session_that_begins_anew_asks_anew_also_where_only_the_store_remembers_the_yes() {
    for is_forgotten in [false, true] {
        let tool = FakeTool::destructive("mail");
        let runs = tool.runs();
        let (runtime, mut script) = in_memory([tool]).await;
        let mut slot = runtime.slot("s").await;
        let mut probe = Probe::new(slot.feed().subscribe());
        let end = runtime.ask(&slot, "go").await.unwrap();
        script.next().await.finish(calling("", &["mail"]));
        let request = probe.approval_request().await;
        runtime.decide(&request, Decision::ApproveAlways).await.unwrap();
        script.next().await.say("Sent.");
        in_time(end).await.unwrap();
        killed(&slot).await;
        if is_forgotten {
            slot = runtime.fresh_slot(&slot); // as in another process
        }
        let (reply, cleared) = oneshot::channel();
        runtime.send(&slot, SessionMsg::Clear { reply });
        in_time(cleared).await.unwrap().unwrap();
        let standing = LedgerFilter::standing_approvals();
        assert_eq!(runtime.store.calls(&standing).await.unwrap(), []);
        let mut probe = Probe::new(slot.feed().subscribe());
        drop(runtime.ask(&slot, "again").await.unwrap());
        script.next().await.finish(calling("", &["mail"]));
        probe.approval_request().await;
        assert_eq!(runs.count(), 1);
    }
}
