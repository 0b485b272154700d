//! The supervisor, and what it leans on in ractor.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use ractor::{Actor, ActorProcessingErr, ActorRef, Message, SupervisionEvent};
use tokio::{
    sync::Notify,
    time::{Instant, advance},
};

use super::{
    Health, RuntimeConfig, RuntimeHandles, Supervisor,
    exit::{ChildExit, child_exit},
};
use crate::{
    llm::NamedModel,
    mailbox::Address,
    port::{Extensions, SystemClock, UserWeights},
    protocol::{Languages, Limits},
    registry::ToolRegistry,
    testing::{MemoryStore, ScriptedModel},
};

async fn handles(limits: Limits) -> RuntimeHandles {
    let config = RuntimeConfig {
        models: vec![NamedModel { name: None, model: Arc::new(ScriptedModel::new([])) }],
        weights: UserWeights::default(),
        occupied: None,
        store: Arc::new(MemoryStore::new()),
        registry: Arc::new(ToolRegistry::new()),
        limits: Arc::new(limits),
        languages: Languages::default(),
        clock: Arc::new(SystemClock),
        extensions: Extensions::default(),
    };
    Supervisor::start(config).await.unwrap().claim()
}

#[tokio::test]
async fn every_child_that_is_killed_comes_back_under_its_address() {
    let handles = handles(Limits::default()).await;
    let gone = (
        handles.store_actor.actor(),
        handles.llms[0].actor(),
        handles.confirm.actor(),
        handles.dispatcher.actor(),
    );
    gone.0.kill();
    gone.1.kill();
    gone.2.kill();
    gone.3.kill();
    handles.store_actor.after(&gone.0).await;
    handles.llms[0].after(&gone.1).await;
    handles.confirm.after(&gone.2).await;
    handles.dispatcher.after(&gone.3).await;
    assert_eq!(*handles.health.borrow(), Health::Healthy);
}

/// Kills the actor at this address so often, one after the other, and gives how long it took each
/// time until another was there. `None`: it reached its restart limit.
async fn restarts<M: Message>(address: &Address<M>, count: usize) -> Vec<Option<u128>> {
    let mut took = Vec::new();
    for _ in 0..count {
        let begin = Instant::now();
        let gone = address.actor();
        gone.kill();
        took.push(tokio::select! {
            _ = address.after(&gone) => Some(begin.elapsed().as_millis()),
            () = address.restart_limit_reached() => None,
        });
    }
    took
}

const AT_ONCE: Option<u128> = Some(0);

/// Four restarts in the window, and what comes of a fifth death in it, for one part of the tree.
async fn is_restarted<M: Message>(
    actor: &'static str,
    address: impl Fn(&RuntimeHandles) -> Address<M>,
    delays: [Option<u128>; 4],
) {
    let limits = Limits { max_restarts: 4, ..Limits::default() };
    let handles = handles(limits.clone()).await;
    let window = limits.restart_window;
    let address = address(&handles);
    assert_eq!(restarts(&address, 4).await, delays, "{actor}");
    // Timers tell the clock a millisecond late.
    advance(window + Duration::from_secs(1)).await;
    assert_eq!(restarts(&address, 4).await, delays, "{actor}: what is long past does not count");
    assert_eq!(*handles.health.borrow(), Health::Healthy);
    assert_eq!(restarts(&address, 1).await, [None], "{actor}");
    assert_eq!(*handles.health.borrow(), Health::Unhealthy { actor, model: None });
}

#[tokio::test(start_paused = true)]
async fn each_child_is_restarted_within_its_intensity_and_no_more_beyond_it() {
    let at_once = [AT_ONCE; 4];
    is_restarted("store", |handles| handles.store_actor.clone(), at_once).await;
    is_restarted("confirm", |handles| handles.confirm.clone(), at_once).await;
    is_restarted("dispatcher", |handles| handles.dispatcher.clone(), at_once).await;
    let growing = [AT_ONCE, Some(100), Some(200), Some(400)];
    is_restarted("llm", |handles| handles.llms[0].clone(), growing).await;
}

/// Hears how its one child ends.
struct Parent;

struct Heard {
    exits: Arc<Mutex<Vec<ChildExit>>>,
    ended: Arc<Notify>,
}

enum ChildMsg {
    Panic,
    Fail,
}

struct Child;

impl Actor for Child {
    type Msg = ChildMsg;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<ChildMsg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<ChildMsg>,
        msg: ChildMsg,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            ChildMsg::Panic => panic!("boom"),
            ChildMsg::Fail => Err("broken".into()),
        }
    }
}

impl Actor for Parent {
    type Msg = ();
    type State = Heard;
    type Arguments = Heard;

    async fn pre_start(&self, _: ActorRef<()>, heard: Heard) -> Result<Heard, ActorProcessingErr> {
        Ok(heard)
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        event: SupervisionEvent,
        heard: &mut Heard,
    ) -> Result<(), ActorProcessingErr> {
        if let Some((_, exit)) = child_exit(event) {
            heard.exits.lock().unwrap().push(exit);
            heard.ended.notify_one();
        }
        Ok(())
    }
}

/// Pins what ractor says only by a text: a kill, and that it does not tell a panic from an error.
#[tokio::test]
async fn a_stop_a_kill_and_a_failure_are_told_apart() {
    let exits = Arc::new(Mutex::new(Vec::new()));
    let ended = Arc::new(Notify::new());
    let heard = Heard { exits: exits.clone(), ended: ended.clone() };
    let (parent, _) = Parent::spawn(None, Parent, heard).await.unwrap();
    let end: [fn(&ActorRef<ChildMsg>); 4] = [
        |child| child.stop(None),
        |child| child.kill(),
        |child| child.cast(ChildMsg::Panic).unwrap(),
        |child| child.cast(ChildMsg::Fail).unwrap(),
    ];
    for end in end {
        let (child, _) = Child::spawn_linked(None, Child, (), parent.get_cell()).await.unwrap();
        end(&child);
        ended.notified().await;
    }
    let exits = exits.lock().unwrap();
    assert_eq!(exits[..2], [ChildExit::Stopped, ChildExit::Killed]);
    assert!(exits[2..].iter().all(|exit| matches!(exit, ChildExit::Failed { .. })), "{exits:?}");
}
