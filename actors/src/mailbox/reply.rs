//! An answer that cannot be lost: if it is dropped unsent, it reports that.

use tokio::sync::oneshot;
use tracing::trace;

use super::Recipient;

/// The duty to answer once. If its holder dies without an answer, the caller receives the event for
/// that case.
#[derive(Debug)]
#[must_use = "dropping it tells the caller that the answer was lost"]
pub struct Reply<E: Send + 'static>(Option<(Recipient<E>, E)>);

impl<E: Send + 'static> Reply<E> {
    /// Sends the answer to this recipient, or `if_lost` if none is sent.
    pub fn new(to: Recipient<E>, if_lost: E) -> Self {
        Self(Some((to, if_lost)))
    }

    /// Sends the answer.
    pub fn send(mut self, event: E) {
        if let Some((to, _)) = self.0.take() {
            tell(to, event);
        }
    }
}

impl<E: Send + 'static> Drop for Reply<E> {
    fn drop(&mut self) {
        if let Some((to, if_lost)) = self.0.take() {
            tell(to, if_lost);
        }
    }
}

fn tell<E: Send + 'static>(to: Recipient<E>, event: E) {
    if !to.tell_last(event) {
        trace!("the caller has left");
    }
}

/// Answers a message. It is not an error if the caller has left.
pub fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    if reply.send(value).is_err() {
        trace!("the caller has left");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    };

    use super::*;

    struct Held(Arc<AtomicBool>);

    impl Drop for Held {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }

    #[test]
    fn what_was_held_for_an_answer_is_given_back_before_it_is_told() {
        for is_lost in [false, true] {
            let (is_back, told) =
                (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let seen = is_back.clone();
            let hears = told.clone();
            let to = Recipient::function(move |event| {
                assert_eq!(event, is_lost);
                hears.store(seen.load(SeqCst), SeqCst);
                true
            });
            let reply = Reply::new(to.holding(Held(is_back)), true);
            if is_lost {
                drop(reply)
            } else {
                reply.send(false)
            }
            assert!(told.load(SeqCst), "lost: {is_lost}");
        }
    }
}
