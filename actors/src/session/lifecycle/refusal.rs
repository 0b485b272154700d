//! Why a session did not wake, and what the callers that wait for it are told.

use crate::session::{
    SessionRequest,
    request::{ClearError, ImportError, TurnRefused, TurnRequest},
};
use crate::{mailbox::answer, port::StoreError, protocol::LimitExceeded};

/// A reason why a session did not wake.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WakeError {
    /// The store could not be read.
    #[error("failed to load the session")]
    Store(#[source] StoreError),
    /// The session was never opened by this user.
    #[error("the session does not exist")]
    Unknown,
    /// Its actor could not be started: the runtime has shut down.
    #[error("the session could not be started")]
    Closed,
    /// Too many sessions are awake, and none of them can be put to sleep.
    #[error("too many sessions are awake")]
    Overloaded(#[source] LimitExceeded),
}

/// Answers a request with the reason why its session did not wake.
pub(super) fn refuse(request: SessionRequest, cause: &WakeError) {
    let unstored = || match cause {
        WakeError::Store(cause) => cause.clone(),
        WakeError::Unknown | WakeError::Closed | WakeError::Overloaded(_) => {
            StoreError::refused(cause.to_string())
        }
    };
    match (request, cause) {
        (SessionRequest::Ask(TurnRequest { began, .. }), WakeError::Overloaded(refusal)) => {
            answer(began, Err(TurnRefused::Overloaded(*refusal)));
        }
        (SessionRequest::Clear { reply }, WakeError::Overloaded(refusal)) => {
            answer(reply, Err(ClearError::Overloaded(*refusal)));
        }
        (SessionRequest::Import { reply, .. }, WakeError::Overloaded(refusal)) => {
            answer(reply, Err(ImportError::Overloaded(*refusal)));
        }
        (SessionRequest::State { reply, .. }, WakeError::Overloaded(refusal)) => {
            answer(reply, Err(*refusal));
        }
        (SessionRequest::Attach { reply, .. }, WakeError::Overloaded(refusal)) => {
            answer(reply, Err(*refusal));
        }
        (SessionRequest::Turn { reply, .. }, WakeError::Overloaded(refusal)) => {
            answer(reply, Err(*refusal));
        }
        (SessionRequest::Ask(TurnRequest { began, .. }), _) => {
            answer(began, Err(TurnRefused::Store(unstored())))
        }
        (SessionRequest::Clear { reply }, _) => answer(reply, Err(ClearError::Store(unstored()))),
        (SessionRequest::Import { reply, .. }, _) => {
            answer(reply, Err(ImportError::Store(unstored())))
        }
        // A caller whose reply is dropped learns that the session is closed.
        (
            SessionRequest::Dismiss { .. }
            | SessionRequest::State { .. }
            | SessionRequest::Attach { .. }
            | SessionRequest::Turn { .. }
            | SessionRequest::Resume { .. }
            | SessionRequest::TakeResolved,
            _,
        ) => {}
    }
}
