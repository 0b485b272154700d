//! Many sessions are cheap: what an idle one costs while it is awake, and that one which sleeps
//! costs nothing.
//!
//! A program of its own, because the allocator that counts belongs to a whole program.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../benches/heap/mod.rs"]
mod heap;

use std::time::Duration;

use madang::{Limits, Runtime, Session};
use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel, model_pair};
use tokio::sync::Mutex;

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

/// Held by the test that counts: what another one allocates would be counted too.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Enough for a steady average, in a second.
const SESSIONS: usize = 2_000;
/// What an awake session may cost that does nothing.
const MAX_BYTES: usize = 16 * 1024;
/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

async fn runtime(idle: Duration) -> Runtime {
    let limits = Limits { session_idle: idle, ..Limits::default() };
    Runtime::builder()
        .model(ScriptedModel::repeating([ScriptedCompletion::text("Hello.")]))
        .store(MemoryStore::new())
        .limits(limits)
        .start()
        .await
        .unwrap()
}

async fn opened(runtime: &Runtime) -> Vec<Session> {
    let mut sessions = Vec::with_capacity(SESSIONS);
    for number in 0..SESSIONS {
        let user = format!("user {}", number % 100);
        sessions.push(
            runtime.user(&user).unwrap().session(&format!("session {number}")).await.unwrap(),
        );
    }
    sessions
}

/// Waits until nothing of any session is in memory.
async fn forgotten(runtime: &Runtime) {
    let none = async {
        while runtime.sessions_in_memory() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, none).await.expect("they fall asleep in time");
}

#[tokio::test]
async fn an_awake_session_that_does_nothing_costs_at_most_16_kib() {
    let _alone = ALONE.lock().await;
    let runtime = runtime(PATIENCE).await;
    let sessions = opened(&runtime).await;
    let before = heap::live();
    for session in &sessions {
        session.state().await.unwrap();
    }
    let woken = (heap::live() - before) / SESSIONS;
    for session in &sessions {
        session.send("hi").await.unwrap().ended().await.unwrap();
    }
    // What the memory store keeps of the turn is counted too.
    let talked = (heap::live() - before) / SESSIONS;
    assert!(woken <= MAX_BYTES && talked <= MAX_BYTES, "{woken} bytes, {talked} after a turn");
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_sleeping_session_without_a_holder_leaves_nothing_in_memory() {
    let _alone = ALONE.lock().await;
    let runtime = runtime(Duration::from_millis(20)).await;
    let mut after = Vec::new();
    for _ in 0..2 {
        let sessions = opened(&runtime).await;
        for session in &sessions {
            session.state().await.unwrap();
        }
        drop(sessions);
        forgotten(&runtime).await;
        after.push(heap::live());
    }
    // The first round also fills what the runtime keeps for all, and the store.
    let left = after[1].saturating_sub(after[0]) / SESSIONS;
    assert!(left <= 64, "{left} bytes are left of each");
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn callers_that_only_look_at_a_running_turn_leave_nothing_in_memory() {
    let _alone = ALONE.lock().await;
    let (model, mut script) = model_pair();
    let runtime = Runtime::builder().model(model).store(MemoryStore::new()).start().await.unwrap();
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("hi").await.unwrap();
    let speaks = script.next().await;
    let _ = session.turn().await.unwrap();
    let before = heap::live();
    for _ in 0..20_000 {
        let _ = session.turn().await.unwrap();
    }
    let left = heap::live().saturating_sub(before);
    assert!(left < 64 * 1024, "{left} bytes are left");
    speaks.say("Hello.");
    turn.ended().await.unwrap();
    runtime.shutdown().await.unwrap();
}
