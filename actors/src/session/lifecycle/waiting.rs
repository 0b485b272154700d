//! The messages that wait at a slot while its session wakes.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::session::SessionMsg;

/// The messages that wait, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    messages: Vec<SessionMsg>,
    arrived: Arc<Notify>,
}

impl Waiting {
    pub(super) fn with(msg: SessionMsg) -> Self {
        Self { messages: vec![msg], ..Self::default() }
    }

    pub(super) fn push(&mut self, msg: SessionMsg) {
        self.messages.push(msg);
        self.arrived.notify_one();
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Gives what is notified of each further message.
    pub(super) fn arrived(&self) -> Arc<Notify> {
        self.arrived.clone()
    }

    /// Tells whether one of them dismisses the turn.
    pub(super) fn has_dismissal(&self) -> bool {
        self.messages.iter().any(is_dismissal)
    }

    /// Takes those of which this is true.
    pub(super) fn take(&mut self, is_taken: impl Fn(&SessionMsg) -> bool) -> Vec<SessionMsg> {
        self.messages.extract_if(.., |msg| is_taken(msg)).collect()
    }

    pub(super) fn into_messages(self) -> Vec<SessionMsg> {
        self.messages
    }
}

/// Tells whether a message dismisses the turn.
pub(super) const fn is_dismissal(msg: &SessionMsg) -> bool {
    matches!(msg, SessionMsg::Dismiss { .. })
}

/// Tells whether a caller that sent this message waits for its answer: a bound may refuse it.
pub(super) const fn may_be_refused(msg: &SessionMsg) -> bool {
    match msg {
        SessionMsg::Ask(_)
        | SessionMsg::Attach { .. }
        | SessionMsg::Clear { .. }
        | SessionMsg::Import { .. }
        | SessionMsg::State { .. }
        | SessionMsg::Turn { .. } => true,
        SessionMsg::Dismiss { .. }
        | SessionMsg::Close { .. }
        | SessionMsg::Resume { .. }
        | SessionMsg::Room { .. }
        | SessionMsg::Submitted { .. }
        | SessionMsg::Stored { .. }
        | SessionMsg::Llm(_)
        | SessionMsg::Dispatcher(_)
        | SessionMsg::Resolved
        | SessionMsg::Idle
        | SessionMsg::Sleep { .. } => false,
    }
}
