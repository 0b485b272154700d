//! The address of an actor, which stays valid when its supervisor restarts the actor.

use std::{
    pin::pin,
    sync::{Arc, RwLock, RwLockReadGuard},
    time::Duration,
};

use ractor::{ActorRef, Message, MessagingErr};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

/// The address of an actor. Cheap to clone; after a restart every clone leads to the new actor.
#[derive(Debug)]
pub struct Address<M>(Arc<AddressState<M>>);

#[derive(Debug)]
struct AddressState<M> {
    actor: RwLock<ActorRef<M>>,
    /// Wakes waiting callers in the order in which they came; a `watch` would wake them in a random
    /// one.
    moves: Notify,
    restart_limit_reached: CancellationToken,
}

/// Returned if a message has no answer: the actor is gone, died before it answered, or did not
/// answer in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the actor is gone, or did not answer in time")]
pub struct AskError;

impl<M: Message> Address<M> {
    /// Makes the address of this actor.
    #[must_use]
    pub fn new(actor: ActorRef<M>) -> Self {
        let actor = RwLock::new(actor);
        let moves = Notify::new();
        Self(Arc::new(AddressState {
            actor,
            moves,
            restart_limit_reached: CancellationToken::new(),
        }))
    }

    /// Returns the actor that is there now.
    #[must_use]
    pub fn actor(&self) -> ActorRef<M> {
        self.there().clone()
    }

    fn there(&self) -> RwLockReadGuard<'_, ActorRef<M>> {
        self.0.actor.read().expect("no code under this lock panics")
    }

    /// Refers to this actor from now on, because the supervisor restarted it.
    pub fn moved(&self, actor: ActorRef<M>) {
        let mut there = self.0.actor.write().expect("no code under this lock panics");
        let gone = std::mem::replace(&mut *there, actor);
        drop(there);
        drop(gone);
        self.0.moves.notify_waiters();
    }

    /// Waits for another actor than this one. Waits forever if the [restart
    /// limit](Self::restart_limit_reached) was reached.
    pub async fn after(&self, gone: &ActorRef<M>) -> ActorRef<M> {
        loop {
            let mut moves = pin!(self.0.moves.notified());
            // Registered before the look: a move in between is not missed.
            moves.as_mut().enable();
            let there = self.actor();
            if there.get_id() != gone.get_id() {
                return there;
            }
            moves.await;
        }
    }

    /// Marks that the supervisor starts no other actor at this address.
    pub fn restarts_end(&self) {
        self.0.restart_limit_reached.cancel();
    }

    /// Waits until the supervisor gives the actor up. A caller that waits for the next actor waits
    /// for this too.
    pub async fn restart_limit_reached(&self) {
        self.0.restart_limit_reached.cancelled().await;
    }

    /// Kills the actor, as a fault would, and waits for the next one. For tests of supervision.
    pub async fn kill(&self) {
        let gone = self.actor();
        gone.kill();
        self.after(&gone).await;
    }

    /// Sends a message, or returns it if the actor is gone.
    ///
    /// # Errors
    /// The message, if the actor is gone.
    pub fn send(&self, msg: M) -> Result<(), Option<M>> {
        let sent = self.there().cast(msg);
        match sent {
            Ok(()) => Ok(()),
            Err(MessagingErr::SendErr(msg)) => Err(Some(msg)),
            Err(MessagingErr::ChannelClosed | MessagingErr::InvalidActorType) => Err(None),
        }
    }

    /// Asks, and waits for the answer until the deadline. Dropping the future does not withdraw the
    /// message.
    ///
    /// # Errors
    /// [`AskError`] if there is no answer.
    pub async fn ask<T>(
        &self,
        question: impl FnOnce(oneshot::Sender<T>) -> M,
        deadline: Duration,
    ) -> Result<T, AskError> {
        let (reply, answer) = oneshot::channel();
        self.send(question(reply)).map_err(|_| AskError)?;
        let answered = tokio::time::timeout(deadline, answer).await;
        answered.ok().and_then(Result::ok).ok_or(AskError)
    }
}

impl<M> Clone for Address<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
