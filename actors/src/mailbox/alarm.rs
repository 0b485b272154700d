//! A message that an actor sends to itself later.

use ractor::{ActorRef, Message};
use tokio::{task::AbortHandle, time::Instant};

/// A message that an actor sends to itself later. Dropping the alarm, also with its actor, stops
/// the timer, and the message is not sent.
#[derive(Debug)]
pub(crate) struct Alarm {
    due: Instant,
    timer: AbortHandle,
}

impl Alarm {
    /// Sends the message at this moment.
    pub(crate) fn at<M: Message>(
        due: Instant,
        me: &ActorRef<M>,
        msg: impl FnOnce() -> M + Send + 'static,
    ) -> Self {
        let timer = me.send_after(due.saturating_duration_since(Instant::now()), msg);
        Self { due, timer: timer.abort_handle() }
    }

    /// Keeps one alarm for the earliest of many deadlines, which is this one now.
    pub(crate) fn keep<M: Message>(
        alarm: &mut Option<Self>,
        due: Option<Instant>,
        me: &ActorRef<M>,
        msg: impl FnOnce() -> M + Send + 'static,
    ) {
        if due != alarm.as_ref().map(|alarm| alarm.due) {
            *alarm = due.map(|due| Self::at(due, me, msg));
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.timer.abort();
    }
}
