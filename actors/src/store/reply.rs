//! The one true answer to a caller of the store. Here a writer and a deadline meet, and the first
//! of them decides.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use super::stage::{Happens, Stage, Word};
use crate::{mailbox::answer, port::StoreError};

/// Completes a caller's job once. A job whose time is up before a writer begins it is withdrawn.
/// Dropping this reports that the job is withdrawn, or that its end is unknown if a writer had
/// begun it.
#[derive(Debug)]
#[must_use = "dropping it leaves the caller without an answer"]
pub struct ReplySender<T> {
    caller: Option<oneshot::Sender<Result<T, StoreError>>>,
    at: At,
}

/// Waits for the answer to a job.
pub(super) struct PendingReply<T> {
    answer: oneshot::Receiver<Result<T, StoreError>>,
    at: At,
}

/// The stage of a job, which both ends share, and its deadline.
#[derive(Debug, Clone)]
struct At {
    stage: Arc<Mutex<Stage>>,
    /// The deadline. `None` if it is too late to be ever reached.
    due: Option<Instant>,
}

/// Makes both ends of the reply to a job whose time begins now.
pub(super) fn reply<T>(stage: Stage, patience: Duration) -> (ReplySender<T>, PendingReply<T>) {
    let (caller, answer) = oneshot::channel();
    let due = Instant::now().checked_add(patience);
    let at = At { stage: Arc::new(Mutex::new(stage)), due };
    (ReplySender { caller: Some(caller), at: at.clone() }, PendingReply { answer, at })
}

impl<T> PendingReply<T> {
    /// Waits until the job's time is up or, if a writer has begun it, for that writer.
    pub(super) async fn wait(mut self) -> Result<T, StoreError> {
        if let Some(due) = self.at.due.filter(|_| self.at.stage() == Stage::Queued) {
            match timeout_at(due, &mut self.answer).await {
                Ok(answer) => return answer.unwrap_or(Err(StoreError::Silent)),
                Err(_) if self.at.after(Happens::TimeIsUp).1 == Some(Word::Withdrawn) => {
                    return Err(StoreError::Withdrawn);
                }
                Err(_) => {}
            }
        }
        self.answer.await.unwrap_or(Err(StoreError::Silent))
    }
}

impl<T> ReplySender<T> {
    /// Begins the job for a writer. Returns false if it was withdrawn, and must not be done.
    #[must_use]
    pub(super) fn begins(&mut self) -> bool {
        self.advance(Happens::Begins)
    }

    /// Notes that its writer undid all of the job. Returns false if it is not to be done once more.
    #[must_use]
    pub(super) fn is_done_again(&mut self) -> bool {
        self.advance(Happens::IsUndone)
    }

    /// Sends the answer.
    pub(super) fn send(mut self, result: Result<T, StoreError>) {
        self.tell(Happens::IsAnswered, result);
    }

    /// Returns whether the caller was already answered, or will receive that nothing was done.
    pub(super) fn is_over(&self) -> bool {
        match self.at.stage() {
            Stage::Queued => self.at.is_late(),
            Stage::Taken { .. } => false,
            Stage::Answered => true,
        }
    }

    /// Returns whether the caller has left, or has received that its time is up.
    pub(super) fn is_closed(&self) -> bool {
        self.caller.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// Moves the job to its next stage, and returns whether it continues. The clock is read first,
    /// because the caller may have dropped its end.
    fn advance(&mut self, happens: Happens) -> bool {
        if self.at.is_late() {
            self.tell(Happens::TimeIsUp, Err(StoreError::Silent));
        }
        self.tell(happens, Err(StoreError::Silent)) != Stage::Answered
    }

    /// Answers the caller, if there is an answer: the writer's result, or the reason why there is
    /// none.
    fn tell(&mut self, happens: Happens, result: Result<T, StoreError>) -> Stage {
        let (stage, word) = self.at.after(happens);
        if let Some((word, caller)) = word.and_then(|word| Some((word, self.caller.take()?))) {
            answer(
                caller,
                match word {
                    Word::Withdrawn => Err(StoreError::Withdrawn),
                    Word::Answer => result,
                    Word::NotKnown => Err(StoreError::Silent),
                },
            );
        }
        stage
    }
}

impl At {
    fn stage(&self) -> Stage {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_late(&self) -> bool {
        self.due.is_some_and(|due| due <= Instant::now())
    }

    fn after(&self, happens: Happens) -> (Stage, Option<Word>) {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let after = stage.after(happens);
        *stage = after.0;
        after
    }
}

impl<T> Drop for ReplySender<T> {
    fn drop(&mut self) {
        self.tell(Happens::IsLost, Err(StoreError::Silent));
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(1);

    /// Makes a reply with both ends.
    fn queued() -> (ReplySender<u8>, PendingReply<u8>) {
        reply(Stage::Queued, PATIENCE)
    }

    #[tokio::test]
    async fn an_answer_is_heard() {
        let (mut reply, answer) = queued();
        assert!(reply.begins());
        reply.send(Ok(7));
        assert!(matches!(answer.wait().await, Ok(7)));
    }

    #[tokio::test]
    async fn dropped_before_it_was_begun_it_says_that_nothing_has_happened() {
        let (reply, mut answer) = queued();
        drop(reply);
        assert!(matches!(answer.answer.try_recv(), Ok(Err(StoreError::Withdrawn))));
    }

    #[tokio::test]
    async fn dropped_by_its_writer_it_says_that_the_end_is_unknown() {
        let (mut reply, mut answer) = queued();
        assert!(reply.begins());
        drop(reply);
        assert!(matches!(answer.answer.try_recv(), Ok(Err(StoreError::Silent))));
    }

    #[tokio::test(start_paused = true)]
    async fn whose_time_is_up_before_the_writer_comes_is_told_so_and_is_not_begun() {
        let (mut reply, answer) = queued();
        assert!(!reply.is_closed() && !reply.is_over());
        assert!(matches!(answer.wait().await, Err(StoreError::Withdrawn)));
        assert!(reply.is_closed() && reply.is_over() && !reply.begins());
        reply.send(Ok(7)); // no caller is left, and nothing happens
    }

    #[tokio::test(start_paused = true)]
    async fn whose_time_is_up_is_not_begun_though_its_caller_does_not_look() {
        let (mut reply, answer) = queued();
        sleep(PATIENCE).await;
        assert!(reply.is_over() && !reply.begins());
        assert!(matches!(answer.wait().await, Err(StoreError::Withdrawn)));
    }

    #[tokio::test(start_paused = true)]
    async fn whose_writer_came_in_time_hears_what_the_writer_says_however_late() {
        for looks_before in [true, false] {
            let (mut reply, answer) = queued();
            let mut waits = Box::pin(answer.wait());
            if looks_before {
                assert!(timeout_at(Instant::now(), &mut waits).await.is_err(), "no writer comes");
            }
            assert!(reply.begins() && !reply.is_over());
            let late = Instant::now() + PATIENCE * 9;
            assert!(timeout_at(late, &mut waits).await.is_err(), "the writer has not said yet");
            reply.send(Ok(7));
            assert!(matches!(waits.await, Ok(7)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_undone_when_its_time_was_up_is_not_done_again() {
        let (mut reply, answer) = queued();
        assert!(reply.begins() && reply.is_done_again() && reply.begins(), "in time");
        sleep(PATIENCE * 2).await;
        assert!(!reply.is_done_again());
        assert!(matches!(answer.wait().await, Err(StoreError::Withdrawn)));
    }

    #[tokio::test(start_paused = true)]
    async fn patience_that_no_clock_reaches_never_ends() {
        let (mut reply, answer) = reply(Stage::Queued, Duration::MAX);
        sleep(PATIENCE * 1_000_000).await;
        assert!(!reply.is_over() && reply.begins());
        reply.send(Ok(7));
        assert!(matches!(answer.wait().await, Ok(7)));
    }

    #[tokio::test]
    async fn it_is_closed_once_its_caller_has_left() {
        let (reply, answer) = queued();
        assert!(!reply.is_closed());
        drop(answer);
        assert!(reply.is_closed());
    }
}
