//! The sessions and calls that the end of a process cut off, as a start finds them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard},
};

use madang_actors::{
    dispatcher::DispatchRequest,
    ledger::CallState,
    port::{InterruptedSession, LedgerFilter, StoreError},
    protocol::{SessionId, Timestamp, UserId},
    session::SessionRegistry,
    supervisor::RuntimeHandles,
};
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::open_call::OpenCall;

/// The sessions that were cut off in mid-turn before this start and have not woken yet.
#[derive(Debug)]
pub(crate) struct Interrupted(Mutex<BTreeMap<SessionId, CutOff>>);

/// A session that was cut off.
#[derive(Debug)]
struct CutOff {
    user: UserId,
    /// The moment until which a person can decide about its open request, if it has one.
    asks_until: Option<Timestamp>,
}

/// The open calls of callers that are gone, whose end the store did not take when the runtime started.
#[derive(Debug)]
#[must_use = "dropped, it leaves its calls open until the next start"]
pub(crate) struct Unended(Vec<OpenCall>);

impl Unended {
    /// Ends each of its calls in a task of its own, as soon as the store takes that. Until then the session of a call does
    /// not wake, as while the call ran.
    pub(crate) fn end_later(self, sessions: &SessionRegistry, tasks: &TaskTracker) {
        for call in self.0 {
            let DispatchRequest { session, user, .. } = &*call.request;
            let slot = sessions.slot(session, user, &call.calls.limits);
            let held = slot.and_then(|slot| slot.begins_asleep());
            tasks.spawn(async move {
                for failures in 0.. {
                    if call.runtime_ends_within_pause(failures).await {
                        return;
                    }
                    if call.has_ended().await {
                        break;
                    }
                }
                let call = call.request.call.id;
                warn!(%call, "ended a call whose caller is gone, as soon as the store took that");
                drop(held);
            });
        }
    }
}

impl Interrupted {
    /// Reads the interrupted sessions, and ends open calls whose turn is over: direct calls, whose caller went with its
    /// process. Gives those whose end the store did not take, for [`Unended::end_later`].
    pub(crate) async fn find(handles: &RuntimeHandles) -> Result<(Self, Unended), StoreError> {
        let store = handles.store.store();
        let interrupted = store.interrupted().await?;
        let turns: HashSet<_> = interrupted.iter().map(|found| found.turn).collect();
        let open = LedgerFilter::open_calls();
        let (mut asking, mut unended) = (HashMap::new(), Vec::new());
        for row in store.calls(&open).await? {
            if turns.contains(&row.turn) {
                if row.state == CallState::Awaiting {
                    asking.insert(row.session, row.expires_at);
                }
                continue;
            }
            let request = Arc::new(DispatchRequest::of(row));
            let call = OpenCall { request, calls: handles.calls.clone() };
            let end = call.end().await;
            if end.is_recorded {
                let (call, effect) = (end.record.id, end.record.effect);
                warn!(%call, ?effect, "ended a call whose caller is gone");
            } else {
                unended.push(call);
            }
        }
        let by_name = |InterruptedSession { session, user, .. }| {
            let asks_until = asking.remove(&session).flatten();
            (session, CutOff { user, asks_until })
        };
        let interrupted = interrupted.into_iter().map(by_name).collect();
        Ok((Self(Mutex::new(interrupted)), Unended(unended)))
    }

    /// Takes a session out of the list; true once for each.
    pub(crate) fn take(&self, session: &SessionId) -> bool {
        self.sessions().remove(session).is_some()
    }

    pub(crate) fn count(&self) -> usize {
        self.sessions().len()
    }

    pub(crate) fn take_any(&self) -> Option<(SessionId, UserId)> {
        self.sessions().pop_first().map(|(session, cut_off)| (session, cut_off.user))
    }

    /// Takes the sessions of this user whose request can be decided at this moment.
    pub(crate) fn take_asking(&self, user: &UserId, now: Timestamp) -> Vec<SessionId> {
        let mut sessions = self.sessions();
        let asks = |cut_off: &CutOff| {
            cut_off.user == *user && cut_off.asks_until.is_some_and(|until| now < until)
        };
        sessions.extract_if(.., |_, cut_off| asks(cut_off)).map(|(session, _)| session).collect()
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, CutOff>> {
        self.0.lock().expect("no code under this lock panics")
    }
}
