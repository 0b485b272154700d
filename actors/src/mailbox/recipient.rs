//! A receiver of an actor's events. The actor knows the kind of event and not its listener.

use std::{fmt, sync::Arc};

use ractor::{ActorRef, Message};
use tokio::sync::mpsc;

/// A receiver of events `E`. Cheap to clone.
pub struct Recipient<E> {
    hears: Arc<dyn Fn(E) -> bool + Send + Sync>,
    /// Kept until the last event is sent.
    held: Option<Arc<dyn Send + Sync>>,
}

impl<E: Send + 'static> Recipient<E> {
    /// Sends each event to an actor, as a message made from it.
    #[must_use]
    pub fn actor<M: Message + From<E>>(actor: ActorRef<M>) -> Self {
        Self::function(move |event: E| actor.cast(event.into()).is_ok())
    }

    /// Sends each event to a channel, for tests and for callers that are not actors.
    #[must_use]
    pub fn channel(sender: mpsc::UnboundedSender<E>) -> Self {
        Self::function(move |event| sender.send(event).is_ok())
    }

    /// Passes each event to this function, which must not block. It returns false if no listener is
    /// left.
    #[must_use]
    pub fn function(hears: impl Fn(E) -> bool + Send + Sync + 'static) -> Self {
        Self { hears: Arc::new(hears), held: None }
    }

    /// Drops each event.
    #[must_use]
    pub fn discard() -> Self {
        Self::function(|_| false)
    }

    /// Keeps this value until the last event is sent or the last clone is dropped.
    #[must_use]
    pub fn holding(mut self, held: impl Send + Sync + 'static) -> Self {
        self.held = Some(Arc::new(held));
        self
    }

    /// Sends an event. Returns false if no listener is left.
    pub fn tell(&self, event: E) -> bool {
        (self.hears)(event)
    }

    /// Sends the last event. The value of [`holding`](Self::holding) is dropped first, because a
    /// listener of an end may begin something at once.
    pub fn tell_last(self, event: E) -> bool {
        drop(self.held);
        (self.hears)(event)
    }
}

impl<E> Clone for Recipient<E> {
    fn clone(&self) -> Self {
        Self { hears: self.hears.clone(), held: self.held.clone() }
    }
}

impl<E> fmt::Debug for Recipient<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recipient")
    }
}
