//! Why a session did not wake, and what the callers that wait for it are told.

use crate::session::{
    SessionMsg,
    msg::{ClearError, ImportError, TurnRefused, TurnRequest},
};
use crate::{mailbox::answer, port::StoreError, protocol::LimitExceeded};

/// A reason why a session did not wake.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WakeError {
    /// The store could not be read.
    #[error("failed to load the session")]
    Store(#[source] StoreError),
    /// The session was never opened.
    #[error("the session does not exist")]
    Unknown,
    /// Its actor could not be started: the runtime has shut down.
    #[error("the session could not be started")]
    Closed,
    /// Too many sessions are awake, and none of them can be put to sleep.
    #[error("too many sessions are awake")]
    Overloaded(#[source] LimitExceeded),
}

/// Tells the caller of a message why its session did not wake.
pub(super) fn refuse(msg: SessionMsg, cause: &WakeError) {
    let unstored = || match cause {
        WakeError::Store(cause) => cause.clone(),
        WakeError::Unknown | WakeError::Closed | WakeError::Overloaded(_) => {
            StoreError::refused(cause.to_string())
        }
    };
    match (msg, cause) {
        (SessionMsg::Ask(TurnRequest { began, .. }), WakeError::Overloaded(refusal)) => {
            answer(began, Err(TurnRefused::Overloaded(*refusal)));
        }
        (SessionMsg::Clear { reply }, WakeError::Overloaded(refusal)) => {
            answer(reply, Err(ClearError::Overloaded(*refusal)));
        }
        (SessionMsg::Import { reply, .. }, WakeError::Overloaded(refusal)) => {
            answer(reply, Err(ImportError::Overloaded(*refusal)));
        }
        (SessionMsg::State { reply, .. }, WakeError::Overloaded(refusal)) => {
            answer(reply, Err(*refusal));
        }
        (SessionMsg::Attach { reply, .. }, WakeError::Overloaded(refusal)) => {
            answer(reply, Err(*refusal));
        }
        (SessionMsg::Turn { reply, .. }, WakeError::Overloaded(refusal)) => {
            answer(reply, Err(*refusal));
        }
        (SessionMsg::Ask(TurnRequest { began, .. }), _) => {
            answer(began, Err(TurnRefused::Store(unstored())))
        }
        (SessionMsg::Clear { reply }, _) => answer(reply, Err(ClearError::Store(unstored()))),
        (SessionMsg::Import { reply, .. }, _) => answer(reply, Err(ImportError::Store(unstored()))),
        // Dropping these tells the caller that the session is closed.
        (
            SessionMsg::Dismiss { .. }
            | SessionMsg::State { .. }
            | SessionMsg::Attach { .. }
            | SessionMsg::Turn { .. }
            | SessionMsg::Close { .. }
            | SessionMsg::Resume { .. }
            | SessionMsg::Room { .. }
            | SessionMsg::Submitted { .. }
            | SessionMsg::Stored { .. }
            | SessionMsg::Llm(_)
            | SessionMsg::Dispatcher(_)
            | SessionMsg::Resolved
            | SessionMsg::Idle
            | SessionMsg::Sleep { .. },
            _,
        ) => {}
    }
}
