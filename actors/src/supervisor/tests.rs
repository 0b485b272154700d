//! The supervisor, and what it leans on in ractor.

use std::sync::{Arc, Mutex};

use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use super::{
    Children, Health, Supervisor,
    exit::{ChildExit, child_exit},
};
use crate::{
    port::{Extensions, SystemClock},
    protocol::Limits,
    registry::ToolRegistry,
    store::WriterHealth,
    testing::{MemoryStore, ScriptedModel},
};

#[tokio::test]
async fn every_child_that_is_killed_comes_back_under_its_address() {
    let children = Children {
        model: Arc::new(ScriptedModel::new([])),
        store: Arc::new(MemoryStore::new()),
        registry: Arc::new(ToolRegistry::new()),
        limits: Arc::new(Limits::default()),
        clock: Arc::new(SystemClock),
        extensions: Extensions::default(),
        tasks: TaskTracker::new(),
        writer_health: Arc::new(WriterHealth::default()),
    };
    let tree = Supervisor::start(children).await.unwrap();
    let gone =
        (tree.store_actor.actor(), tree.llm.actor(), tree.confirm.actor(), tree.dispatcher.actor());
    gone.0.kill();
    gone.1.kill();
    gone.2.kill();
    gone.3.kill();
    tree.store_actor.after(&gone.0).await;
    tree.llm.after(&gone.1).await;
    tree.confirm.after(&gone.2).await;
    tree.dispatcher.after(&gone.3).await;
    assert_eq!(*tree.health.borrow(), Health::Healthy);
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
    let (exits, ended) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
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
