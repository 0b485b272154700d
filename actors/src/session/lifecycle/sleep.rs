//! Falling asleep: a session that is idle for long enough, or that makes room for another.

use std::time::Duration;

use ractor::ActorRef;
use tokio::time::Instant;

use crate::session::{
    context::{History, RuntimeContext},
    msg::SessionMsg,
    state::SessionState,
};
use crate::{mailbox::Alarm, protocol::Bound};

impl SessionState {
    /// Sleeps, if it was idle for long enough.
    pub(in crate::session) fn idle(&mut self) {
        let rest = self.context.calls.limits.session_idle;
        if self.active_at.elapsed() < rest || !self.sleep() {
            self.idle = idle_alarm(&self.context, &self.me);
        }
    }

    /// Sleeps, if no turn or write goes on and every message sent to it is handled.
    pub(in crate::session) fn sleep(&mut self) -> bool {
        let sleeps = self.may_sleep() && self.slot.try_sleep(self.me.get_id());
        if sleeps {
            self.me.stop(None);
        }
        sleeps
    }

    /// Marks whether the session may be put to sleep for others. Where another session waits for its permit already, it
    /// sleeps.
    pub(in crate::session) fn mark_idle_or_busy(&mut self) {
        if !self.may_sleep() {
            self.idle_entry = None;
            return;
        }
        let admission = &self.context.calls.admission;
        let is_wanted = admission.is_wanted(Bound::AwakeSessions, self.slot.user());
        if (is_wanted || self.slot.has_no_permit()) && self.sleep() {
            return;
        }
        self.idle_entry.get_or_insert_with(|| self.slot.enter_idle());
    }

    fn may_sleep(&self) -> bool {
        let is_busy = self.turn.is_some() || self.has_exclusive_write || self.lookups > 0;
        self.context.history == History::Stored
            && !is_busy
            && !self.has_left
            && self.closing.is_none()
    }
}

/// Sets the alarm after which the session looks whether it may sleep.
pub(in crate::session) fn idle_alarm(context: &RuntimeContext, me: &ActorRef<SessionMsg>) -> Alarm {
    // A session that may sleep at once does not look all the time while it is busy.
    let rest = context.calls.limits.session_idle.max(Duration::from_millis(1));
    Alarm::at(Instant::now() + rest, me, || SessionMsg::Idle)
}
