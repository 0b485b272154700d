//! An answer that cannot vanish: dropped unsent, it says that it was lost.

use std::fmt;

use tokio::sync::oneshot;
use tracing::trace;

use super::Recipient;

/// The right and the duty to answer once. Whoever holds it may die: the asker then hears the event for that case.
#[must_use = "dropping it tells the asker that the answer was lost"]
pub struct Reply<E: Send + 'static>(Option<(Recipient<E>, E)>);

impl<E: Send + 'static> Reply<E> {
    /// Answers go to the recipient; `if_lost` goes there if there is none.
    pub fn new(to: Recipient<E>, if_lost: E) -> Self {
        Self(Some((to, if_lost)))
    }

    /// Answers.
    pub fn send(mut self, event: E) {
        if let Some((to, _)) = self.0.take() {
            tell(&to, event);
        }
    }
}

impl<E: Send + 'static> Drop for Reply<E> {
    fn drop(&mut self) {
        if let Some((to, if_lost)) = self.0.take() {
            tell(&to, if_lost);
        }
    }
}

fn tell<E: Send + 'static>(to: &Recipient<E>, event: E) {
    if !to.tell(event) {
        trace!("the asker has left");
    }
}

impl<E: Send + 'static> fmt::Debug for Reply<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

/// Answers a question; an asker who has left is no error.
pub fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    if reply.send(value).is_err() {
        trace!("the asker has left");
    }
}
