//! Measures the actors by themselves: as many messages, tasks and actors as a turn with one call
//! has, which do nothing.
//!
//! The session hears six messages (asked, stored, completed, call ended, completed, stored), the
//! model's actor two and the dispatcher one. Each completion and the check of the call has its
//! task, and the call its pair of actors.

use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::oneshot;

/// The actors that all chats share.
#[derive(Debug, Clone)]
pub(crate) struct Skeleton {
    model: ActorRef<Complete>,
    dispatcher: ActorRef<Dispatch>,
}

impl Skeleton {
    pub(crate) async fn new() -> Self {
        let (model, _) = Actor::spawn(None, Model, ()).await.unwrap();
        let (dispatcher, _) = Actor::spawn(None, Dispatcher, ()).await.unwrap();
        Self { model, dispatcher }
    }

    pub(crate) async fn open(&self) -> Chat {
        Chat(Actor::spawn(None, Session, self.clone()).await.unwrap().0)
    }

    pub(crate) fn stop(&self) {
        self.model.stop(None);
        self.dispatcher.stop(None);
    }
}

/// A chat.
pub(crate) struct Chat(ActorRef<Heard>);

impl Chat {
    pub(crate) async fn turn(&self) {
        let (reply, ended) = oneshot::channel();
        self.0.cast(Heard::Asked(reply)).unwrap();
        ended.await.unwrap();
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        self.0.stop(None);
    }
}

struct Session;

enum Heard {
    Asked(oneshot::Sender<()>),
    Stored,
    Completed,
    CallEnded,
}

struct Turn {
    skeleton: Skeleton,
    reply: Option<oneshot::Sender<()>>,
    has_called: bool,
}

impl Actor for Session {
    type Msg = Heard;
    type State = Turn;
    type Arguments = Skeleton;

    async fn pre_start(
        &self,
        _: ActorRef<Heard>,
        skeleton: Skeleton,
    ) -> Result<Turn, ActorProcessingErr> {
        Ok(Turn { skeleton, reply: None, has_called: false })
    }

    async fn handle(
        &self,
        me: ActorRef<Heard>,
        heard: Heard,
        turn: &mut Turn,
    ) -> Result<(), ActorProcessingErr> {
        let store = |me| ActorRef::cast(&me, Heard::Stored);
        match heard {
            Heard::Asked(reply) => {
                (turn.reply, turn.has_called) = (Some(reply), false);
                store(me)?;
            }
            Heard::Stored if turn.has_called => turn.reply.take().unwrap().send(()).unwrap(),
            Heard::Stored | Heard::CallEnded => turn.skeleton.model.cast(Complete(me))?,
            Heard::Completed if turn.has_called => store(me)?,
            Heard::Completed => {
                turn.has_called = true;
                turn.skeleton.dispatcher.cast(Dispatch(me))?;
            }
        }
        Ok(())
    }
}

struct Model;

struct Complete(ActorRef<Heard>);

impl Actor for Model {
    type Msg = Complete;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Complete>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<Complete>,
        Complete(session): Complete,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        tokio::spawn(async move { drop(session.cast(Heard::Completed)) });
        Ok(())
    }
}

struct Dispatcher;

struct Dispatch(ActorRef<Heard>);

impl Actor for Dispatcher {
    type Msg = Dispatch;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Dispatch>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<Dispatch>,
        Dispatch(session): Dispatch,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        tokio::spawn(async move { drop(Actor::spawn(None, Call, session).await) });
        Ok(())
    }
}

/// Supervises the run of a call.
struct Call;

enum Never {}

impl Actor for Call {
    type Msg = Never;
    type State = ActorRef<Heard>;
    type Arguments = ActorRef<Heard>;

    async fn pre_start(
        &self,
        me: ActorRef<Never>,
        session: ActorRef<Heard>,
    ) -> Result<ActorRef<Heard>, ActorProcessingErr> {
        Actor::spawn_linked(None, HandlerActor, (), me.get_cell()).await?;
        Ok(session)
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<Never>,
        event: SupervisionEvent,
        session: &mut ActorRef<Heard>,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorTerminated(..) = event {
            session.cast(Heard::CallEnded)?;
            me.stop(None);
        }
        Ok(())
    }
}

struct HandlerActor;

impl Actor for HandlerActor {
    type Msg = Never;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Never>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn post_start(&self, me: ActorRef<Never>, (): &mut ()) -> Result<(), ActorProcessingErr> {
        me.stop(None);
        Ok(())
    }
}
