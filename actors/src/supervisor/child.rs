//! A permanent child of the supervisor: how it is started, at which address it is found, and how it
//! is restarted.

use std::fmt::Debug;

use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef};

use super::restart::{Policy, Restarts};
use crate::{
    approval::ConfirmActor,
    dispatcher::DispatcherActor,
    llm::LlmActor,
    mailbox::Address,
    port::BoxFuture,
    protocol::{Limits, ModelName},
    store::{StoreActor, StoreMsg},
};

/// An actor that is a permanent child. After a restart it has the same arguments again.
pub(super) trait PermanentActor:
    Actor<Msg: Debug, Arguments: Clone + Debug + Sync> + Debug
{
    const ACTOR: Self;
    /// The name in logs and in the health of a runtime.
    const NAME: &'static str;
    const POLICY: Policy = Policy::Permanent;

    /// Runs after another actor was started and is at the address.
    fn is_back(_: &ActorRef<Self::Msg>) {}

    /// Runs when no other actor will be started.
    fn is_given_up(_: &Self::Arguments) {}
}

impl PermanentActor for StoreActor {
    const ACTOR: Self = Self;
    const NAME: &'static str = "store";

    fn is_back(actor: &ActorRef<StoreMsg>) {
        // For a job that came after the actor before it had looked, and that was reported to that
        // actor.
        let _ = actor.cast(StoreMsg::Work);
    }

    fn is_given_up(arguments: &Self::Arguments) {
        arguments.jobs.close();
    }
}

impl PermanentActor for LlmActor {
    const ACTOR: Self = Self;
    const NAME: &'static str = "llm";
    const POLICY: Policy = Policy::PermanentWithDelay;
}

impl PermanentActor for ConfirmActor {
    const ACTOR: Self = Self;
    const NAME: &'static str = "confirm";
}

impl PermanentActor for DispatcherActor {
    const ACTOR: Self = Self;
    const NAME: &'static str = "dispatcher";
}

/// A child of any kind.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) name: &'static str,
    /// The model of the child, if it has one with a name.
    pub(super) model: Option<ModelName>,
    pub(super) restarts: Restarts,
    pub(super) actor: Box<dyn ChildActor>,
}

impl Child {
    /// Starts a child and adds it to the others. Returns its address.
    pub(super) async fn start<A: PermanentActor>(
        children: &mut Vec<Self>,
        arguments: A::Arguments,
        model: Option<ModelName>,
        (supervisor, limits): (&ActorCell, &Limits),
    ) -> Result<Address<A::Msg>, ActorProcessingErr> {
        let address = Address::new(spawn::<A>(arguments.clone(), supervisor.clone()).await?);
        let restarts = Restarts::new(A::POLICY, limits.max_restarts, limits.restart_window);
        let actor = Box::new(AtAddress::<A> { address: address.clone(), arguments });
        children.push(Self { name: A::NAME, model, restarts, actor });
        Ok(address)
    }
}

/// The actor of a child, whatever its messages: one follows another at its address.
pub(super) trait ChildActor: Debug + Send + Sync {
    /// Returns the id of the actor that is there now.
    fn id(&self) -> ActorId;
    /// Starts another actor there.
    fn restart(&self, supervisor: ActorCell) -> BoxFuture<'_, Result<(), ActorProcessingErr>>;
    /// Marks that no other actor comes.
    fn give_up(&self);
}

#[derive(Debug)]
struct AtAddress<A: PermanentActor> {
    address: Address<A::Msg>,
    arguments: A::Arguments,
}

impl<A: PermanentActor> ChildActor for AtAddress<A> {
    fn id(&self) -> ActorId {
        self.address.actor().get_id()
    }

    fn restart(&self, supervisor: ActorCell) -> BoxFuture<'_, Result<(), ActorProcessingErr>> {
        Box::pin(async {
            let actor = spawn::<A>(self.arguments.clone(), supervisor).await?;
            self.address.moved(actor.clone());
            A::is_back(&actor);
            Ok(())
        })
    }

    fn give_up(&self) {
        A::is_given_up(&self.arguments);
        self.address.restarts_end();
    }
}

async fn spawn<A: PermanentActor>(
    arguments: A::Arguments,
    supervisor: ActorCell,
) -> Result<ActorRef<A::Msg>, ActorProcessingErr> {
    Ok(A::spawn_linked(None, A::ACTOR, arguments, supervisor).await?.0)
}
