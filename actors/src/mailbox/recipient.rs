//! Where an actor sends its news: it knows the kind of news, not who listens.

use std::{fmt, sync::Arc};

use ractor::{ActorRef, Message};
use tokio::sync::mpsc;

/// Somebody who wants to hear of `E`. Cheap to clone.
pub struct Recipient<E> {
    hears: Arc<dyn Fn(E) -> bool + Send + Sync>,
    /// Kept until the last news is told.
    held: Option<Arc<dyn Send + Sync>>,
}

impl<E: Send + 'static> Recipient<E> {
    /// An actor whose messages can be made from the news.
    #[must_use]
    pub fn actor<M: Message + From<E>>(actor: ActorRef<M>) -> Self {
        Self::function(move |event: E| actor.cast(event.into()).is_ok())
    }

    /// A channel: for tests, and for callers that are no actors.
    #[must_use]
    pub fn channel(sender: mpsc::UnboundedSender<E>) -> Self {
        Self::function(move |event| sender.send(event).is_ok())
    }

    /// Whatever this does with the news, which must not wait; false says that nobody listens any more.
    #[must_use]
    pub fn function(hears: impl Fn(E) -> bool + Send + Sync + 'static) -> Self {
        Self { hears: Arc::new(hears), held: None }
    }

    /// Nobody.
    #[must_use]
    pub fn nobody() -> Self {
        Self::function(|_| false)
    }

    /// The same, and keeps this until the last news is told or can be told no more.
    #[must_use]
    pub fn holding(mut self, held: impl Send + Sync + 'static) -> Self {
        self.held = Some(Arc::new(held));
        self
    }

    /// Tells the news; false when nobody listens any more.
    pub fn tell(&self, event: E) -> bool {
        (self.hears)(event)
    }

    /// Tells the last news. What was held is given back before: who hears of an end may begin something at once.
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
