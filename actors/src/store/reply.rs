//! The one true answer to a caller of the store. Here a writer and a deadline meet, and the first of them decides.

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use super::{
    deadlines::{Deadlines, Expires},
    stage::{Happens, Stage, Word},
};
use crate::{mailbox::answer, port::StoreError};

/// Takes the result of a job of the store, once.
pub trait ReplySink<T>: Send + 'static {
    /// Takes the result: from a writer, or from the deadline that says that none will come. Must neither wait nor panic.
    fn complete(self, result: Result<T, StoreError>);

    /// Tells whether the caller has left.
    fn has_left(&self) -> bool {
        false
    }
}

impl<T: Send + 'static> ReplySink<T> for oneshot::Sender<Result<T, StoreError>> {
    fn complete(self, result: Result<T, StoreError>) {
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

/// Completes a caller's job once. A job whose time is up before a writer begins it is
/// withdrawn. Dropped, it says so too, or that nobody knows, where a writer had begun the job.
#[must_use = "dropping it tells the asker that there is no answer"]
pub struct ReplySender<T: 'static>(Option<Arc<dyn ReplySlot<T>>>);

impl<T: 'static> ReplySender<T> {
    /// A reply to this asker, whose time begins now.
    pub(super) fn new(asker: impl ReplySink<T>, deadlines: &Deadlines) -> Self {
        Self::at(Stage::Queued, asker, deadlines)
    }

    /// The same for a job that a writer has begun already.
    pub(super) fn begun(asker: impl ReplySink<T>, deadlines: &Deadlines) -> Self {
        Self::at(Stage::Taken { is_late: false }, asker, deadlines)
    }

    fn at(stage: Stage, asker: impl ReplySink<T>, deadlines: &Deadlines) -> Self {
        let at = At { stage, asker: Some(asker) };
        let slot = Arc::new(PendingReply { at: Mutex::new(at), of: PhantomData::<fn(T)> });
        deadlines.push(slot.clone());
        Self(Some(slot))
    }

    /// A writer comes to its job. False: it was withdrawn, and nothing of it may be done.
    #[must_use]
    pub(super) fn begins(&self) -> bool {
        self.0.as_ref().is_some_and(|slot| slot.goes_on(Happens::Begins))
    }

    /// Its writer undid all of its job. False: it is not done once more.
    #[must_use]
    pub(super) fn is_done_again(&self) -> bool {
        self.0.as_ref().is_some_and(|slot| slot.goes_on(Happens::IsUndone))
    }

    /// Answers.
    pub(super) fn send(mut self, result: Result<T, StoreError>) {
        if let Some(slot) = self.0.take() {
            slot.tell(Happens::IsAnswered, result);
        }
    }

    /// Its asker was told already.
    pub(super) fn is_over(&self) -> bool {
        self.0.as_ref().is_none_or(|slot| slot.is_told())
    }

    /// Nobody would hear it: the asker has left, or was told that its time is up.
    pub(super) fn is_closed(&self) -> bool {
        self.0.as_ref().is_none_or(|slot| slot.is_left())
    }
}

impl<T: 'static> Drop for ReplySender<T> {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            slot.tell(Happens::IsLost, Err(StoreError::Silent));
        }
    }
}

impl<T: 'static> fmt::Debug for ReplySender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplySender")
    }
}

/// A reply that is still to be given: the first that has a word for it gives it.
struct PendingReply<T, A> {
    at: Mutex<At<A>>,
    of: PhantomData<fn(T)>,
}

struct At<A> {
    stage: Stage,
    asker: Option<A>,
}

trait ReplySlot<T>: Send + Sync {
    /// Tells the asker, if it is to be told: what the writer knows, or why nobody does.
    fn tell(&self, happens: Happens, result: Result<T, StoreError>) -> Stage;
    fn is_told(&self) -> bool;
    fn is_left(&self) -> bool;

    /// Whether the job is not over with this.
    fn goes_on(&self, happens: Happens) -> bool {
        self.tell(happens, Err(StoreError::Silent)) != Stage::Told
    }
}

impl<T, A> PendingReply<T, A> {
    fn at(&self) -> MutexGuard<'_, At<A>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: 'static, A: ReplySink<T>> ReplySlot<T> for PendingReply<T, A> {
    fn tell(&self, happens: Happens, result: Result<T, StoreError>) -> Stage {
        let mut at = self.at();
        let (stage, word) = at.stage.after(happens);
        at.stage = stage;
        let asker = word.and_then(|word| Some((word, at.asker.take()?)));
        drop(at);
        // Not under the lock: the asker does what it likes with it.
        if let Some((word, asker)) = asker {
            asker.complete(match word {
                Word::Withdrawn => Err(StoreError::Withdrawn),
                Word::Answer => result,
                Word::NotKnown => Err(StoreError::Silent),
            });
        }
        stage
    }

    fn is_told(&self) -> bool {
        self.at().stage == Stage::Told
    }

    fn is_left(&self) -> bool {
        self.at().asker.as_ref().is_none_or(A::has_left)
    }
}

impl<T: 'static, A: ReplySink<T>> Expires for PendingReply<T, A> {
    fn expire(&self) {
        self.goes_on(Happens::TimeIsUp);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A reply, and what its asker hears.
    fn reply() -> (ReplySender<u8>, oneshot::Receiver<Result<u8, StoreError>>) {
        let (asker, answer) = oneshot::channel();
        (ReplySender::new(asker, &Deadlines::new(Duration::from_secs(1), || {})), answer)
    }

    #[tokio::test]
    async fn an_answer_is_heard() {
        let (reply, answer) = reply();
        assert!(reply.begins());
        reply.send(Ok(7));
        assert!(matches!(heard(answer).await, Ok(7)));
    }

    #[tokio::test]
    async fn dropped_before_it_was_begun_it_says_that_nothing_has_happened() {
        let (reply, mut answer) = reply();
        drop(reply);
        assert!(matches!(answer.try_recv(), Ok(Err(StoreError::Withdrawn))));
    }

    #[tokio::test]
    async fn dropped_by_its_writer_it_says_that_nobody_knows() {
        let (reply, mut answer) = reply();
        assert!(reply.begins());
        drop(reply);
        assert!(matches!(answer.try_recv(), Ok(Err(StoreError::Silent))));
    }

    #[tokio::test(start_paused = true)]
    async fn whose_time_is_up_before_the_writer_comes_is_told_so_and_is_not_begun() {
        let (asker, answer) = oneshot::channel();
        let deadlines = Deadlines::new(Duration::from_secs(1), || {});
        let reply = ReplySender::new(asker, &deadlines);
        assert!(!reply.is_closed());
        assert!(matches!(heard(answer).await, Err(StoreError::Withdrawn)));
        assert!(reply.is_closed() && !reply.begins());
        reply.send(Ok(7)); // to nobody, and nothing happens
    }

    #[tokio::test(start_paused = true)]
    async fn whose_writer_came_in_time_hears_what_the_writer_says_however_late() {
        let (asker, mut answer) = oneshot::channel();
        let deadlines = Deadlines::new(Duration::from_secs(1), || {});
        let reply = ReplySender::new(asker, &deadlines);
        assert!(reply.begins());
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert!(answer.try_recv().is_err(), "nobody knows yet");
        reply.send(Ok(7));
        assert!(matches!(heard(answer).await, Ok(7)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_undone_when_its_time_was_up_is_not_done_again() {
        let (asker, answer) = oneshot::channel();
        let deadlines = Deadlines::new(Duration::from_secs(1), || {});
        let reply = ReplySender::<u8>::new(asker, &deadlines);
        assert!(reply.begins() && reply.is_done_again() && reply.begins(), "in time");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!reply.is_done_again());
        assert!(matches!(heard(answer).await, Err(StoreError::Withdrawn)));
    }

    /// Hears, and has no way to leave.
    struct Stays;

    impl ReplySink<u8> for Stays {
        fn complete(self, _: Result<u8, StoreError>) {}
    }

    #[tokio::test(start_paused = true)]
    async fn an_asker_who_cannot_leave_stays_until_its_time_is_up() {
        let patience = Duration::from_secs(1);
        let reply = ReplySender::new(Stays, &Deadlines::new(patience, || {}));
        assert!(!reply.is_closed());
    }

    #[tokio::test]
    async fn it_is_closed_once_its_asker_has_left() {
        let (reply, answer) = reply();
        drop(answer);
        assert!(reply.is_closed());
    }
}
