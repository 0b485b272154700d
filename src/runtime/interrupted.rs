//! The sessions and calls that an earlier process left unfinished, as a start finds them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Mutex, MutexGuard},
};

use madang_actors::{
    call::AbandonedCalls,
    ledger::CallState,
    port::{InterruptedSession, LedgerFilter, StoreError},
    protocol::{SessionId, Timestamp, UserId},
    supervisor::RuntimeHandles,
};

/// The sessions that were cut off during a turn before this start and have not woken yet.
#[derive(Debug)]
pub(crate) struct Interrupted(Mutex<BTreeMap<SessionId, CutOff>>);

/// A session that was cut off.
#[derive(Debug)]
struct CutOff {
    user: UserId,
    /// The time until which a person can decide about its open request, if it has one.
    asks_until: Option<Timestamp>,
}

impl Interrupted {
    /// Reads the interrupted sessions, and ends open calls that belong to none of their turns:
    /// calls without a model, whose caller ended with its process. Also returns the calls whose end
    /// the store did not take, for [`AbandonedCalls::end_later`].
    pub(crate) async fn find(
        handles: &RuntimeHandles,
    ) -> Result<(Self, AbandonedCalls), StoreError> {
        let store = handles.store.store();
        let interrupted = store.interrupted().await?;
        let turns: HashSet<_> = interrupted.iter().map(|found| found.turn).collect();
        let open = store.calls(&LedgerFilter::open_calls()).await?;
        let (of_turns, abandoned): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|row| turns.contains(&row.turn));
        let awaiting = of_turns.into_iter().filter(|row| row.state == CallState::Awaiting);
        let mut asking: HashMap<_, _> = awaiting.map(|row| (row.session, row.expires_at)).collect();
        let by_name = |InterruptedSession { session, user, .. }| {
            let asks_until = asking.remove(&session).flatten();
            (session, CutOff { user, asks_until })
        };
        let interrupted = interrupted.into_iter().map(by_name).collect();
        let abandoned = AbandonedCalls::end(abandoned, &handles.calls).await;
        Ok((Self(Mutex::new(interrupted)), abandoned))
    }

    /// Removes a session from the list. Returns true the first time, and false if it is not in the
    /// list.
    pub(crate) fn take(&self, session: &SessionId) -> bool {
        self.sessions().remove(session).is_some()
    }

    pub(crate) fn count(&self) -> usize {
        self.sessions().len()
    }

    pub(crate) fn take_any(&self) -> Option<(SessionId, UserId)> {
        self.sessions().pop_first().map(|(session, cut_off)| (session, cut_off.user))
    }

    /// Removes and returns the sessions of this user that have a request which can be decided now.
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
