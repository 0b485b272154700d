//! A store that takes no end when a runtime starts: the calls that the process before left open end
//! as soon as it does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use madang::{
    Call, Error, SessionId,
    ledger::{CallState, Effect},
    store::{Store, StoreError, Transaction},
};
use madang_actors::port::BoxFuture;
use madang_testing::{Read, ScriptedModel, SteppedStore, Steps};

use super::life::{World, ask};
use crate::support::{dispatched, kim};

/// Begins no transaction while that is set.
#[derive(Debug, Clone)]
struct Refuses(Arc<AtomicBool>);

impl Steps for Refuses {
    fn begin<'a>(&'a self, of: &'a dyn Store) -> BoxFuture<'a, Read<Box<dyn Transaction>>> {
        if self.0.load(SeqCst) {
            return Box::pin(async { Err(StoreError::Overloaded) });
        }
        of.begin()
    }
}

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

#[test]
fn a_call_that_was_cut_off_ends_though_the_store_takes_no_end_at_the_start() {
    let mut world = World::new();
    world.limits.ask_timeout = Duration::from_millis(10);
    let mut life = world.start();
    life.run(async |life| {
        let call = Call::new(kim(), "slow_mail", "{}").session(session());
        life.runtime.begin(call).await.unwrap();
        life.gate.begun(1).await;
    });
    world.crash(life);
    let refuses = Arc::new(AtomicBool::new(true));
    let mut life = world.start_with(ScriptedModel::new([]), |store| {
        SteppedStore::new(store, Refuses(refuses.clone()))
    });
    life.run(async |life| {
        assert_eq!(life.ledger().await[0].state, CallState::Running);
        let call = Call::new(kim(), "look", "{}").session(session());
        let busy = life.runtime.begin(call).await.unwrap_err();
        assert!(matches!(busy, Error::Busy), "its chat waits for the end: {busy:?}");
        refuses.store(false, SeqCst);
        life.until_ledger(|rows| rows[0].state == CallState::Ended).await;
        assert_eq!(life.ledger().await[0].effect, Some(Effect::Unknown));
        let call = Call::new(kim(), "look", "{}");
        life.runtime.begin(call).await.unwrap().ended().await;
    });
    life.shut_down();
}

#[test]
fn a_call_in_a_chat_whose_turn_was_cut_off_is_refused_until_that_has_ended() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        ask(&session, "go").await;
        life.unfinished().await;
    });
    world.crash(life);
    let mut life = world.start();
    let refused = life.run(async |life| {
        let call = Call::new(kim(), "note", "{}").session(session());
        dispatched(&life.runtime, call).await
    });
    life.end();
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    assert_eq!(world.notes(), <[String; 0]>::default());
}
