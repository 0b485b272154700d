//! Falling asleep: a session that has been idle for long enough, or that makes room for another.

use crate::session::state::SessionState;

impl SessionState {
    /// Sleeps, if it was idle for long enough.
    pub(in crate::session) fn idle(&mut self) {
        self.idle = None;
        if self.active_at.elapsed() >= self.outbox.limits().session_idle {
            self.sleep();
        }
    }

    /// Sleeps, if no turn or write goes on and every request sent to it is handled.
    pub(in crate::session) fn sleep(&mut self) -> bool {
        self.may_sleep() && self.outbox.sleep()
    }

    /// Marks whether the session may be put to sleep for others. It sleeps at once if another
    /// session already waits for its permit, or if it has none. While it is busy no alarm is set.
    pub(in crate::session) fn mark_idle_or_busy(&mut self) {
        if !self.may_sleep() {
            self.idle_entry = None;
            return;
        }
        if self.outbox.should_sleep() && self.sleep() {
            return;
        }
        let due = self.active_at + self.outbox.limits().session_idle;
        self.idle.get_or_insert_with(|| self.outbox.idle_alarm(due));
        self.idle_entry.get_or_insert_with(|| self.outbox.enter_idle());
    }

    fn may_sleep(&self) -> bool {
        let is_busy = self.turn.is_some() || self.has_exclusive_write || self.lookups > 0;
        !is_busy && self.closing.is_none()
    }
}
