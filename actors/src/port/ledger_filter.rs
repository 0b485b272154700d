//! Selects the calls that are read from the ledger: which ones, after which call, and how many.

use crate::protocol::{CallId, SessionId, UserId};

/// Selects calls of the ledger. Without conditions it selects all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerFilter {
    /// Selects only calls of this session.
    pub session: Option<SessionId>,
    /// Selects only calls of this user.
    pub user: Option<UserId>,
    /// Selects only calls of this kind.
    pub calls: SelectedCalls,
    /// Selects only calls after this one, in the order of the proposals.
    pub after: Option<CallId>,
    /// Selects at most this many, from the first.
    pub limit: Option<usize>,
    /// Selects calls until they take this many bytes in the store. The first one is selected
    /// whatever its size.
    pub max_bytes: Option<usize>,
}

/// The calls that a [`LedgerFilter`] selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SelectedCalls {
    /// Selects all calls.
    #[default]
    All,
    /// Selects this call.
    One(CallId),
    /// Selects the calls that have not ended.
    Open,
    /// Selects the calls that began a standing approval which has not been revoked.
    StandingApprovals,
    /// Selects the calls that rest on the standing approval that began with this one.
    RestOn(CallId),
    /// Selects the calls whose effect is unknown.
    Unresolved,
}

impl LedgerFilter {
    /// Selects one call.
    #[must_use]
    pub fn call(call: CallId) -> Self {
        Self::of(SelectedCalls::One(call))
    }

    /// Selects the calls that have not ended.
    #[must_use]
    pub fn open_calls() -> Self {
        Self::of(SelectedCalls::Open)
    }

    /// Selects the calls that began a standing approval which has not been revoked.
    #[must_use]
    pub fn standing_approvals() -> Self {
        Self::of(SelectedCalls::StandingApprovals)
    }

    /// Selects the calls that rest on the standing approval that began with this one.
    #[must_use]
    pub fn rest_on(by_call: CallId) -> Self {
        Self::of(SelectedCalls::RestOn(by_call))
    }

    /// Selects the calls whose effect is unknown.
    #[must_use]
    pub fn unresolved() -> Self {
        Self::of(SelectedCalls::Unresolved)
    }

    fn of(calls: SelectedCalls) -> Self {
        Self { calls, ..Self::default() }
    }

    /// Leaves out the calls of other sessions.
    #[must_use]
    pub fn in_session(self, session: &SessionId) -> Self {
        Self { session: Some(session.clone()), ..self }
    }

    /// Leaves out the calls of other users.
    #[must_use]
    pub fn of_user(self, user: &UserId) -> Self {
        Self { user: Some(user.clone()), ..self }
    }

    /// Leaves out this call and all that were proposed before it, so that the next page begins
    /// after the last call of this one. Only its position counts, so the call itself need not
    /// match. It must be of the filter's user and session, or the reading is
    /// [refused](super::StoreError::Refused).
    #[must_use]
    pub fn after(self, call: impl Into<Option<CallId>>) -> Self {
        Self { after: call.into(), ..self }
    }

    /// Leaves out all but the first `limit` of them.
    #[must_use]
    pub fn at_most(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Keeps calls until they take this many bytes, and leaves out the rest. The first one is kept
    /// whatever its size.
    #[must_use]
    pub fn within(self, max_bytes: usize) -> Self {
        Self { max_bytes: Some(max_bytes), ..self }
    }

    /// Returns how many calls with these bytes fit, if the filter bounds their bytes.
    pub fn fitting(&self, bytes: impl IntoIterator<Item = usize>) -> usize {
        let mut room = self.max_bytes.unwrap_or(usize::MAX);
        let fits = bytes.into_iter().enumerate().take_while(|(at, bytes)| {
            let fits = *at == 0 || *bytes <= room;
            room = room.saturating_sub(*bytes);
            fits
        });
        fits.count()
    }
}
