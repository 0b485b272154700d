//! The requests that wait at a slot while its session wakes.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::session::SessionRequest;

/// The requests that wait, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    requests: Vec<SessionRequest>,
    arrived: Arc<Notify>,
}

impl Waiting {
    pub(super) fn with(request: SessionRequest) -> Self {
        Self { requests: vec![request], ..Self::default() }
    }

    pub(super) fn push(&mut self, request: SessionRequest) {
        self.requests.push(request);
        self.arrived.notify_one();
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns what is notified of each further request.
    pub(super) fn arrived(&self) -> Arc<Notify> {
        self.arrived.clone()
    }

    /// Returns whether one of them dismisses the turn.
    pub(super) fn has_dismissal(&self) -> bool {
        self.requests.iter().any(is_dismissal)
    }

    /// Takes those of which this is true.
    pub(super) fn take(
        &mut self,
        is_taken: impl Fn(&SessionRequest) -> bool,
    ) -> Vec<SessionRequest> {
        self.requests.extract_if(.., |request| is_taken(request)).collect()
    }

    pub(super) fn into_requests(self) -> Vec<SessionRequest> {
        self.requests
    }
}

/// Returns whether a request dismisses the turn.
pub(super) const fn is_dismissal(request: &SessionRequest) -> bool {
    matches!(request, SessionRequest::Dismiss { .. })
}

/// Returns whether a bound may refuse a request, because its caller waits for an answer.
pub(super) const fn may_be_refused(request: &SessionRequest) -> bool {
    match request {
        SessionRequest::Submit(_)
        | SessionRequest::Attach { .. }
        | SessionRequest::Clear { .. }
        | SessionRequest::Import { .. }
        | SessionRequest::State { .. }
        | SessionRequest::Turn { .. } => true,
        SessionRequest::Dismiss { .. }
        | SessionRequest::Resume { .. }
        | SessionRequest::TakeResolved => false,
    }
}
