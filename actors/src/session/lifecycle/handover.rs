//! What a lost actor or a recovery leaves at its slot.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::session::msg::TurnEnd;
use crate::{
    mailbox::answer,
    protocol::{Timestamp, TurnId},
};

/// The remains of a lost actor, and the notes of a recovery that has begun. The next actor takes them over.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct Handover {
    /// The abandoned turn, whose end the store may not have.
    pub(in crate::session) turn: Option<AbandonedTurn>,
    /// The last error in words.
    pub(in crate::session) error: Option<String>,
    /// The turn whose resumption an attempt to wake has counted, and its number.
    pub(in crate::session) counted: Option<(TurnId, u32)>,
}

/// A turn that no actor of this process goes on with. Its end is told when the store has it, and not before.
#[derive(Debug, Clone)]
pub(in crate::session) struct AbandonedTurn {
    /// The end that the store is to have, unless it has one already, and when it ended.
    pub(in crate::session) end: (TurnEnd, Timestamp),
    /// The end that was on its way to the store.
    pub(in crate::session) sent_end: Option<(TurnEnd, Timestamp)>,
    pub(in crate::session) waiting: WaitingForEnd,
}

/// The callers that wait for the end of an abandoned turn.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct WaitingForEnd(Arc<Mutex<Vec<oneshot::Sender<TurnEnd>>>>);

impl WaitingForEnd {
    pub(in crate::session) fn new(waiting: Vec<oneshot::Sender<TurnEnd>>) -> Self {
        Self(Arc::new(Mutex::new(waiting)))
    }

    /// Tells each caller the end, or without one that the session is closed.
    pub(super) fn complete(&self, end: Option<&TurnEnd>) {
        let waiting = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(end) = end {
            waiting.into_iter().for_each(|ended| answer(ended, end.clone()));
        }
    }
}
