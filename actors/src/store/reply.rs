//! The answer that somebody who waits for the store gets: one, and in time.

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::oneshot;

use super::deadlines::{Deadlines, Waits};
use crate::{mailbox::answer, port::StoreError};

/// Somebody who waits for the store, and is told once what became of it.
pub trait Asker<T>: Send + 'static {
    /// Hears it: from a writer, or from whoever finds out that there will be no answer. Must neither wait nor panic.
    fn hear(self, result: Result<T, StoreError>);

    /// Nobody is left who would hear it.
    fn has_left(&self) -> bool {
        false
    }
}

impl<T: Send + 'static> Asker<T> for oneshot::Sender<Result<T, StoreError>> {
    fn hear(self, result: Result<T, StoreError>) {
        answer(self, result);
    }

    fn has_left(&self) -> bool {
        self.is_closed()
    }
}

/// What the other end of a channel hears.
pub(super) async fn heard<T>(
    answer: oneshot::Receiver<Result<T, StoreError>>,
) -> Result<T, StoreError> {
    answer.await.unwrap_or(Err(StoreError::Silent))
}

/// The right and the duty to answer an asker. Dropped, it says that the store is silent; so does the keeper of deadlines
/// when the asker's time is up, and what comes after that is heard by nobody.
#[must_use = "dropping it tells the asker that the store is silent"]
pub struct TimedReply<T: 'static>(Option<Arc<dyn Seat<T>>>);

impl<T: 'static> TimedReply<T> {
    /// A reply to this asker, whose time begins now.
    pub(super) fn new(asker: impl Asker<T>, deadlines: &Deadlines) -> Self {
        let seat = Arc::new(Seated { asker: Mutex::new(Some(asker)), of: PhantomData::<fn(T)> });
        deadlines.push(seat.clone());
        Self(Some(seat))
    }

    /// Answers.
    pub(super) fn send(mut self, result: Result<T, StoreError>) {
        if let Some(seat) = self.0.take() {
            seat.tell(result);
        }
    }

    /// Nobody would hear it: the asker has left, or its time is up.
    pub(super) fn is_closed(&self) -> bool {
        self.0.as_ref().is_none_or(|seat| seat.is_left())
    }
}

impl<T: 'static> Drop for TimedReply<T> {
    fn drop(&mut self) {
        if let Some(seat) = self.0.take() {
            seat.tell(Err(StoreError::Silent));
        }
    }
}

impl<T: 'static> fmt::Debug for TimedReply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TimedReply")
    }
}

/// Where an asker waits, until the first who comes tells it.
struct Seated<T, A> {
    asker: Mutex<Option<A>>,
    of: PhantomData<fn(T)>,
}

trait Seat<T>: Send + Sync {
    fn tell(&self, result: Result<T, StoreError>);
    fn is_left(&self) -> bool;
}

impl<T: 'static, A: Asker<T>> Seat<T> for Seated<T, A> {
    fn tell(&self, result: Result<T, StoreError>) {
        let asker = self.asker.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Not under the lock: the asker does what it likes with it.
        if let Some(asker) = asker {
            asker.hear(result);
        }
    }

    fn is_left(&self) -> bool {
        let asker = self.asker.lock().unwrap_or_else(PoisonError::into_inner);
        asker.as_ref().is_none_or(A::has_left)
    }
}

impl<T: 'static, A: Asker<T>> Waits for Seated<T, A> {
    fn time_is_up(&self) {
        self.tell(Err(StoreError::Silent));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A reply, and what its asker hears.
    fn reply() -> (TimedReply<u8>, oneshot::Receiver<Result<u8, StoreError>>) {
        let (asker, answer) = oneshot::channel();
        (TimedReply::new(asker, &Deadlines::new(Duration::from_secs(1))), answer)
    }

    #[tokio::test]
    async fn an_answer_is_heard() {
        let (reply, answer) = reply();
        reply.send(Ok(7));
        assert!(matches!(heard(answer).await, Ok(7)));
    }

    #[tokio::test]
    async fn dropped_it_says_that_the_store_is_silent() {
        let (reply, mut answer) = reply();
        drop(reply);
        assert!(matches!(answer.try_recv(), Ok(Err(StoreError::Silent))));
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_after_the_time_is_up_is_not_heard() {
        let (asker, answer) = oneshot::channel();
        let deadlines = Deadlines::new(Duration::from_secs(1));
        let reply = TimedReply::new(asker, &deadlines);
        assert!(!reply.is_closed());
        assert!(matches!(heard(answer).await, Err(StoreError::Silent)));
        assert!(reply.is_closed());
        reply.send(Ok(7)); // to nobody, and nothing happens
    }

    #[tokio::test]
    async fn it_is_closed_once_its_asker_has_left() {
        let (reply, answer) = reply();
        drop(answer);
        assert!(reply.is_closed());
    }
}
