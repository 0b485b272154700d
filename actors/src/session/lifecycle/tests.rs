//! A slot whose actor died before the slot knew it.

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::state_cell::StateCell;
use crate::{
    session::SessionMsg,
    test_runtime::{TestRuntime, in_time},
};

/// A session that does nothing.
struct Idle;

impl Actor for Idle {
    type Msg = SessionMsg;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<SessionMsg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

#[tokio::test]
async fn the_state_of_an_actor_that_died_as_it_started_is_taken_before_another_starts() {
    let runtime = TestRuntime::new([]).await;
    let slot = runtime.slot("s").await;
    let (actor, ended) = Actor::spawn(None, Idle, ()).await.unwrap();
    actor.stop(None);
    in_time(ended).await.unwrap();
    assert!(slot.wake());
    // Its supervisor has not dropped the state, which holds a turn.
    let (turn, cell) = (Arc::new(()), StateCell::default());
    cell.fill(turn.clone());
    assert!(!slot.woke(actor, cell.clone().of_slot(), None, None));
    assert_eq!(Arc::strong_count(&turn), 1, "the slot has taken it");
    assert!(slot.wake(), "it is asleep, and another may start");
}
