//! Where an actor sends its news: it knows the kind of news, not who listens.

use std::{fmt, sync::Arc};

use ractor::{ActorRef, Message};
use tokio::sync::mpsc;

/// Somebody who wants to hear of `E`. Cheap to clone.
pub struct Recipient<E>(Arc<dyn Fn(E) -> bool + Send + Sync>);

impl<E: Send + 'static> Recipient<E> {
    /// An actor whose messages can be made from the news.
    #[must_use]
    pub fn actor<M: Message + From<E>>(actor: ActorRef<M>) -> Self {
        Self(Arc::new(move |event| actor.cast(event.into()).is_ok()))
    }

    /// A channel: for tests, and for callers that are no actors.
    #[must_use]
    pub fn channel(sender: mpsc::UnboundedSender<E>) -> Self {
        Self(Arc::new(move |event| sender.send(event).is_ok()))
    }

    /// Whatever this does with the news, which must not wait; false says that nobody listens any more.
    #[must_use]
    pub fn function(hears: impl Fn(E) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(hears))
    }

    /// Nobody.
    #[must_use]
    pub fn nobody() -> Self {
        Self(Arc::new(|_| false))
    }

    /// The same, and keeps this until nobody can tell it anything any more.
    #[must_use]
    pub fn holding(self, held: impl Send + Sync + 'static) -> Self {
        Self(Arc::new(move |event| {
            let _ = &held;
            self.tell(event)
        }))
    }

    /// Tells the news; false when nobody listens any more.
    pub fn tell(&self, event: E) -> bool {
        (self.0)(event)
    }
}

impl<E> Clone for Recipient<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E> fmt::Debug for Recipient<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recipient")
    }
}
