//! A chat is cleared between its turns, by one at a time.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{by_hand, waking::left_open, words};
use crate::{
    session::{Error, SessionRequest, SessionSlot},
    test_runtime::{TestRuntime, in_time},
};

fn clears(runtime: &TestRuntime, slot: &Arc<SessionSlot>) -> oneshot::Receiver<Result<(), Error>> {
    let (reply, cleared) = oneshot::channel();
    runtime.send(slot, SessionRequest::Clear { reply });
    cleared
}

#[tokio::test]
async fn while_a_turn_runs_nothing_is_cleared() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "hi").await.unwrap();
    let refused = in_time(clears(&runtime, &slot)).await.unwrap();
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    script.next().await.say("Hello.");
    in_time(end).await.unwrap();
    assert_eq!(words(&runtime, &slot).await, ["hi", "Hello."]);
    in_time(clears(&runtime, &slot)).await.unwrap().unwrap();
    assert!(words(&runtime, &slot).await.is_empty());
}

#[tokio::test]
async fn while_the_chat_is_being_cleared_no_other_caller_clears_it() {
    let (runtime, _script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    runtime.state(&slot).await;
    let paused = runtime.store.pause().await;
    let first = clears(&runtime, &slot);
    let refused = in_time(clears(&runtime, &slot)).await.unwrap();
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    drop(paused);
    in_time(first).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_chat_whose_turn_went_on_after_a_crash_can_be_cleared_once_that_has_ended() {
    let (runtime, mut script) = by_hand([]).await;
    let (slot, mut probe, _speaks) = left_open(&runtime, &mut script).await;
    let refused = in_time(clears(&runtime, &slot)).await.unwrap();
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    script.next().await.say("Hello.");
    probe.until_turns_ended(1).await;
    in_time(clears(&runtime, &slot)).await.unwrap().unwrap();
    assert!(words(&runtime, &slot).await.is_empty());
}
