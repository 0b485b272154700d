//! A chat is cleared between its turns, by one at a time.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{by_hand, words};
use crate::{
    session::{ClearError, Door, SessionMsg},
    test_runtime::{TestRuntime, in_time},
};

fn clears(yard: &TestRuntime, door: &Arc<Door>) -> oneshot::Receiver<Result<(), ClearError>> {
    let (reply, cleared) = oneshot::channel();
    yard.send(door, SessionMsg::Clear { reply });
    cleared
}

#[tokio::test]
async fn while_a_turn_runs_nothing_is_cleared() {
    let (yard, mut script) = by_hand([]).await;
    let door = yard.door("s").await;
    let end = yard.ask(&door, "hi").await.unwrap();
    let refused = in_time(clears(&yard, &door)).await.unwrap();
    assert!(matches!(refused, Err(ClearError::Busy)), "{refused:?}");
    script.next().await.say("Hello.");
    in_time(end).await.unwrap();
    assert_eq!(words(&yard, &door).await, ["hi", "Hello."]);
    in_time(clears(&yard, &door)).await.unwrap().unwrap();
    assert!(words(&yard, &door).await.is_empty());
}

#[tokio::test]
async fn while_the_chat_is_being_cleared_nobody_else_clears_it() {
    let (yard, _script) = by_hand([]).await;
    let door = yard.door("s").await;
    yard.state(&door).await;
    let paused = yard.store.pause().await;
    let first = clears(&yard, &door);
    let refused = in_time(clears(&yard, &door)).await.unwrap();
    assert!(matches!(refused, Err(ClearError::Busy)), "{refused:?}");
    drop(paused);
    in_time(first).await.unwrap().unwrap();
}
