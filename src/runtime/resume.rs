//! Resumption after a start: sessions that were cut off during a turn continue.

use std::sync::Arc;

use madang_actors::{
    protocol::{EventKind, SessionEvent, TurnId, UserId},
    session::{self, SessionRequest, SessionSlot, StreamItem, Subscription, TurnEnd},
};
use tokio::{sync::oneshot, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{Runtime, error::Error, runtime::shared::SharedRuntime};

impl Runtime {
    /// Wakes every session that was cut off during a turn before this start, so that its turn
    /// continues without a caller. At most `Limits::max_resuming_sessions` of them continue at the
    /// same time. Returns their number after each turn has ended or waits for a person. Without a
    /// model the turns stay open, and only calls that were cut off get their end.
    ///
    /// Dropping the future wakes no further sessions. Those that are awake continue.
    pub async fn resume_open(&self) -> usize {
        let mut running = JoinSet::new();
        let mut count = 0;
        loop {
            while running.len() < self.shared().limits().max_resuming_sessions.max(1)
                && let Some((session, user)) = self.shared().interrupted.take_any()
            {
                let slots = &self.shared().sessions;
                let Some(slot) = slots.slot(&session, &user, self.shared().limits()) else {
                    continue;
                };
                count += 1;
                running.spawn(goes_on(self.shared(), &slot));
            }
            if running.join_next().await.is_none() {
                return count;
            }
        }
    }
}

impl SharedRuntime {
    /// Wakes the sessions of this user that were cut off with an open approval request, so that the
    /// request is asked again. Waits for that, at most `Limits::ask_timeout`. Other sessions that
    /// were cut off stay asleep, because they would continue with the model, and only `resume_open`
    /// bounds how many do so.
    pub(crate) async fn ask_again(&self, user: &UserId) {
        let sessions = self.interrupted.take_asking(user, self.clock().now());
        let slot = |session| self.sessions.slot(&session, user, self.limits());
        let slots: Vec<_> = sessions.into_iter().filter_map(slot).collect();
        let woken: Vec<_> = slots.iter().map(|slot| goes_on(self, slot)).collect();
        let asked = async {
            for session in woken {
                session.await;
            }
        };
        let _ = timeout(self.limits().ask_timeout, asked).await;
    }
}

/// Wakes a session. The future waits until its turn has ended or waits for a person. The request is
/// sent before the future is polled, so the session wakes even if the future is dropped.
fn goes_on(
    runtime: &SharedRuntime,
    slot: &Arc<SessionSlot>,
) -> impl Future<Output = ()> + Send + 'static {
    let events = slot.feed().watch();
    runtime.wake(slot); // it was admitted before its process ended, so it waits for its permit
    let ((reply, running), (ended, end)) = (oneshot::channel(), oneshot::channel());
    let sent = session::send(slot, &runtime.context, SessionRequest::Attach { ended, reply });
    follow(sent, running, events, end, runtime.context.closing.clone())
}

async fn follow(
    sent: Result<(), Error>,
    running: oneshot::Receiver<Result<Option<TurnId>, Error>>,
    mut events: Subscription,
    end: oneshot::Receiver<TurnEnd>,
    closing: CancellationToken,
) {
    // With another answer the session did not wake, and with `None` it has no turn left.
    let mut end = match (sent, running.await) {
        (Ok(()), Ok(Ok(Some(_)))) => Some(end),
        // It waits for its place among the awake sessions, and goes on then.
        (Ok(()), Ok(Err(Error::Overloaded(_)))) => None,
        (Ok(()), Ok(Ok(None) | Err(_)) | Err(_)) | (Err(_), _) => return,
    };
    let asks = |event: &SessionEvent| {
        matches!(event.kind, EventKind::ApprovalRequested { .. } | EventKind::TurnEnded { .. })
    };
    loop {
        let item = tokio::select! {
            biased;
            () = is_over(end.as_mut(), &closing) => return,
            item = events.next() => item,
        };
        match item {
            Some(StreamItem::Event(event)) if asks(&event) => return,
            Some(_) => {}
            None => return,
        }
    }
}

/// Waits for the end of a turn, or for the runtime to close if the turn is not known.
async fn is_over(end: Option<&mut oneshot::Receiver<TurnEnd>>, closing: &CancellationToken) {
    match end {
        // A session that ended before its turn sends no end.
        Some(end) => drop(end.await),
        None => closing.cancelled().await,
    }
}
