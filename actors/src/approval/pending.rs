//! The table of open approval requests, with their deadlines. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use tokio::time::Instant;

use crate::protocol::{ApprovalRequest, CallId, DecisionError, Digest, UserId};

/// Open requests, each with the `W` that waits for the decision.
#[derive(Debug)]
pub(super) struct Pending<W> {
    open: BTreeMap<CallId, Open<W>>,
    /// Invariant: one entry for each of `open`.
    deadlines: BTreeSet<(Instant, CallId)>,
}

#[derive(Debug)]
struct Open<W> {
    request: Arc<ApprovalRequest>,
    due: Instant,
    waiter: W,
}

impl<W> Pending<W> {
    pub(super) fn new() -> Self {
        Self { open: BTreeMap::new(), deadlines: BTreeSet::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Opens a request and replaces one about the same call. Admission bounds how many are open.
    pub(super) fn open(&mut self, request: Arc<ApprovalRequest>, due: Instant, waiter: W) {
        let call = request.call;
        let _ = self.withdraw(call);
        self.deadlines.insert((due, call));
        self.open.insert(call, Open { request, due, waiter });
    }

    /// Returns the waiter of a request about which this user may decide now. The request stays
    /// open. A wrong or late decision is an error.
    pub(super) fn decidable(
        &self,
        call: CallId,
        digest: Digest,
        user: &UserId,
        now: Instant,
    ) -> Result<&W, DecisionError> {
        let open = self.open.get(&call).ok_or(DecisionError::NotOpen)?;
        if open.due <= now {
            return Err(DecisionError::NotOpen);
        }
        if open.request.user != *user {
            return Err(DecisionError::NotYours);
        }
        if open.request.digest != digest {
            return Err(DecisionError::WrongDigest);
        }
        Ok(&open.waiter)
    }

    /// Closes the request about which this user decides.
    pub(super) fn decide(
        &mut self,
        call: CallId,
        digest: Digest,
        user: &UserId,
        now: Instant,
    ) -> Result<W, DecisionError> {
        self.decidable(call, digest, user, now)?;
        self.withdraw(call).ok_or(DecisionError::NotOpen)
    }

    /// Closes a request without a decision.
    pub(super) fn withdraw(&mut self, call: CallId) -> Option<W> {
        let open = self.open.remove(&call)?;
        self.deadlines.remove(&(open.due, call));
        Some(open.waiter)
    }

    /// Closes every request that is due, and returns their waiters.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<W> {
        let mut expired = Vec::new();
        while let Some((_, call)) = self.deadlines.first().copied().filter(|(due, _)| *due <= now) {
            expired.extend(self.withdraw(call));
        }
        expired
    }

    /// Returns the earliest deadline.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.deadlines.first().map(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{SessionId, Timestamp};
    use std::time::Duration;
    use uuid::Uuid;

    fn request(call: u128) -> Arc<ApprovalRequest> {
        Arc::new(ApprovalRequest {
            call: CallId::new(Uuid::from_u128(call)),
            session: SessionId::new("s").unwrap(),
            user: UserId::new("kim").unwrap(),
            tool: "add_habit".into(),
            arguments: serde_json::json!({}).into(),
            consequence: "".into(),
            text: "".into(),
            digest: Digest::new([7; 32]),
            expires_at: Timestamp::from_millis(0),
        })
    }

    fn decide(
        pending: &mut Pending<&'static str>,
        call: u128,
        now: Instant,
    ) -> Result<&'static str, DecisionError> {
        let request = request(call);
        pending.decide(request.call, request.digest, &request.user, now)
    }

    fn in_a_minute() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_decision_that_comes_too_late_is_none() {
        let mut pending = Pending::new();
        let due = in_a_minute();
        pending.open(request(1), due, "waiter");
        assert_eq!(decide(&mut pending, 1, due), Err(DecisionError::NotOpen));
        assert_eq!(pending.expire(due), ["waiter"]);
    }

    #[test]
    fn exactly_one_of_two_decisions_wins() {
        let mut pending = Pending::new();
        pending.open(request(1), in_a_minute(), "waiter");
        assert_eq!(decide(&mut pending, 1, Instant::now()), Ok("waiter"));
        assert_eq!(decide(&mut pending, 1, Instant::now()), Err(DecisionError::NotOpen));
    }

    #[test]
    fn a_decision_by_another_user_or_for_other_arguments_leaves_the_request_open() {
        let mut pending = Pending::new();
        pending.open(request(1), in_a_minute(), "waiter");
        let request = request(1);
        let now = Instant::now();
        let ApprovalRequest { call, digest, user, .. } = &*request;
        let lee = UserId::new("lee").unwrap();
        let stale = Digest::new([8; 32]);
        assert_eq!(pending.decide(*call, *digest, &lee, now), Err(DecisionError::NotYours));
        assert_eq!(pending.decide(*call, stale, user, now), Err(DecisionError::WrongDigest));
        assert_eq!(pending.decidable(*call, *digest, user, now), Ok(&"waiter"));
        assert_eq!(decide(&mut pending, 2, Instant::now()), Err(DecisionError::NotOpen));
        assert_eq!(decide(&mut pending, 1, Instant::now()), Ok("waiter"));
    }

    #[test]
    fn requests_expire_in_the_order_of_their_deadlines() {
        let mut pending = Pending::new();
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        for (call, due) in [(1, at(3)), (2, at(1)), (3, at(2))] {
            pending.open(request(call), due, call);
        }
        assert_eq!(pending.next_due(), Some(at(1)));
        assert_eq!(pending.expire(at(2)), [2, 3]);
        assert_eq!((pending.len(), pending.next_due()), (1, Some(at(3))));
    }

    #[test]
    fn asking_again_replaces_the_first_asking() {
        let mut pending = Pending::new();
        let now = Instant::now();
        pending.open(request(1), now, "first");
        pending.open(request(1), now + Duration::from_secs(1), "again");
        assert_eq!(pending.len(), 1);
        assert_eq!(pending.expire(now), Vec::<&str>::new());
        assert_eq!(pending.withdraw(request(1).call), Some("again"));
        assert_eq!(pending.len(), 0);
    }
}
