//! Going on with a turn that lost its actor, or whose process ended. Its session wakes, and is
//! tried again until it does.

use std::sync::{Arc, Weak};

use tokio::{sync::mpsc, time::timeout};

use crate::protocol::{EventKind, Locale, Text, TurnId};
use crate::session::{
    RuntimeContext, SessionSlot,
    events::feed::Durability,
    lifecycle::lost::{LostSession, LostSessions},
    lifecycle::place::WakePolicy,
    lifecycle::wake::open,
};

impl RuntimeContext {
    /// Makes the context. From now on, a session that loses its actor in mid-turn wakes and its
    /// turn goes on.
    pub fn start(make: impl FnOnce(LostSessions) -> Self) -> Arc<Self> {
        let (lost, mut all_lost) = mpsc::unbounded_channel();
        let context = Arc::new(make(LostSessions::new(lost)));
        let weak: Weak<Self> = Arc::downgrade(&context);
        tokio::spawn(async move {
            while let Some(LostSession { slot, turn }) = all_lost.recv().await {
                let Some(context) = weak.upgrade() else { return };
                wakes(slot, context, turn);
            }
        });
        context
    }
}

/// Goes on with the open turn of a session that sleeps, unless a task already does so.
pub fn go_on(slot: &Arc<SessionSlot>, context: &Arc<RuntimeContext>) {
    if slot.turn().begins_to_go_on() {
        wakes(slot.clone(), context.clone(), None);
    }
}

/// Wakes the session in a task. It is marked as waking at once, so that requests sent from now on
/// wait for that.
fn wakes(slot: Arc<SessionSlot>, context: Arc<RuntimeContext>, turn: Option<(TurnId, Locale)>) {
    let is_first = slot.turn().count_try() == 0;
    let opens = is_first && slot.begins_waking();
    let tasks = context.tasks.clone();
    tasks.spawn(until_awake(slot, context, turn, opens));
}

async fn until_awake(
    slot: Arc<SessionSlot>,
    context: Arc<RuntimeContext>,
    mut turn: Option<(TurnId, Locale)>,
    mut opens: bool,
) {
    loop {
        if opens {
            // In a task of its own, so that a panic of the store ends no more than this try.
            let opens = open(slot.clone(), context.clone(), WakePolicy::Wait);
            let is_awake = context.tasks.spawn(opens).await.unwrap_or(false);
            if is_awake && has_gone_on(&slot) {
                return;
            }
            if !is_awake {
                // The end may come late, or only with the next start: callers do not wait for it.
                slot.turn().leave_callers();
                if let Some((turn, locale)) = turn.take() {
                    is_interrupted(&slot, &context, turn, locale);
                }
            }
        }
        let pause = context.calls.limits.retry_pause(slot.turn().count_try().saturating_sub(1));
        let _ = timeout(pause, context.closing.cancelled()).await;
        if context.closing.is_cancelled() {
            slot.turn().ends_to_go_on();
            return slot.turn().leave_callers();
        }
        if slot.awake().is_some() && has_gone_on(&slot) {
            return;
        }
        opens = slot.begins_waking();
    }
}

/// Returns whether the session is awake, so that its task may end.
fn has_gone_on(slot: &SessionSlot) -> bool {
    // Before the look: an actor that is lost from here on finds that no task sees to its turn.
    slot.turn().ends_to_go_on();
    slot.awake().is_some() || !slot.turn().begins_to_go_on()
}

/// Publishes that the store does not let the turn go on yet.
fn is_interrupted(slot: &SessionSlot, context: &RuntimeContext, turn: TurnId, locale: Locale) {
    let text = Text::TurnInterrupted.in_locale(locale);
    let at = context.calls.clock.now();
    let kind = EventKind::TurnInterrupted { text };
    slot.feed().publish(turn, at, Durability::Transient, kind);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[tokio::test]
    async fn a_session_that_is_lost_before_its_task_ends_keeps_the_task() {
        let runtime = TestRuntime::new([]).await;
        let slot = runtime.slot("s").await;
        assert!(slot.turn().begins_to_go_on());
        assert!(!has_gone_on(&slot), "it is not awake");
        assert!(!slot.turn().begins_to_go_on(), "the task goes on");
        runtime.state(&slot).await;
        assert!(has_gone_on(&slot));
        assert!(slot.turn().begins_to_go_on(), "a later loss begins a task");
    }
}
