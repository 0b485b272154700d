//! The reasons why a request to a runtime is refused, in one type for all of them.

use std::sync::Arc;

use crate::{
    port::StoreError,
    protocol::{CallId, Effect, InvalidId, LimitExceeded, SessionId},
};

/// A reason why a request was refused. Nothing has changed, with two exceptions:
/// [`Closed`](Self::Closed), and a [`Store`](Self::Store) whose cause [may have
/// happened](StoreError::may_have_happened). In these cases the request has happened completely or
/// not at all, and only the store knows which. A request that is repeated under the same
/// idempotency key finds what it began.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The runtime has shut down, or the actor of the session died.
    #[error("the session is closed")]
    Closed,
    /// A bound was reached.
    #[error("a bound was reached")]
    Overloaded(#[source] LimitExceeded),
    /// The store could not be read or written.
    #[error("the store could not be read or written")]
    Store(#[from] StoreError),
    /// A turn, a clearing, an import or a call without a model has not ended.
    #[error("the session is busy")]
    Busy,
    /// An id cannot be that of a session or user.
    #[error(transparent)]
    Id(#[from] InvalidId),
    /// The session belongs to another user.
    #[error("session {0} belongs to another user")]
    Foreign(SessionId),
    /// The session was deleted.
    #[error("the session was deleted")]
    Deleted,
    /// A text is empty after trimming.
    #[error("the text is empty")]
    Empty,
    /// A text is too long, or all texts of an import together are.
    #[error("the text has {bytes} bytes, {max_bytes} are allowed")]
    TooLong {
        /// The bytes of the text.
        bytes: usize,
        /// The most bytes that it may have.
        max_bytes: usize,
    },
    /// The instructions of a turn are too long.
    #[error("the instructions have {bytes} bytes, {max_bytes} are allowed")]
    InstructionsTooLong {
        /// The bytes of the instructions.
        bytes: usize,
        /// The most bytes that they may have.
        max_bytes: usize,
    },
    /// An import has too many messages.
    #[error("the import has {messages} messages, {max_messages} are allowed")]
    TooManyMessages {
        /// The number of messages.
        messages: usize,
        /// The most messages that it may have.
        max_messages: usize,
    },
    /// The chat of an import has an entry, or had one before it was cleared.
    #[error("the chat has begun already")]
    HasBegun,
    /// No time zone has this name.
    #[error(transparent)]
    TimeZone(#[from] UnknownTimeZone),
    /// No model of the runtime has this name.
    #[error("no model of this runtime is named {name:?}")]
    UnknownModel {
        /// The name that was asked for.
        name: Arc<str>,
    },
    /// The runtime has no model.
    #[error("this runtime has no model")]
    NoModel,
    /// Another text was submitted under the same idempotency key.
    #[error("the idempotency key was used for another text")]
    OtherText,
    /// The idempotency key is that of another call: of another tool, of other arguments, or in
    /// another session.
    #[error("the key belongs to another call: {0}")]
    OtherCall(CallId),
    /// The chat does not show the entry with this number: it never came, or the chat was cleared
    /// since.
    #[error("this chat has no entry {0}")]
    UnknownEntry(u64),
    /// No turn runs that could be dismissed.
    #[error("no turn is running")]
    NoTurn,
    /// The session has no such call.
    #[error("this session has no call {0}")]
    UnknownCall(CallId),
    /// A handler of the call still runs in this process, and will report its effect itself.
    #[error("the tool still runs, and will report its effect itself")]
    StillRuns,
    /// The effect of the call is known, or the call has not ended.
    #[error("whether the call took effect is not in question")]
    NotUnknown {
        /// The known effect; `None` if the call has not ended.
        effect: Option<Effect>,
    },
}

/// No time zone has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no time zone is named {name:?}: give an IANA name, such as Asia/Seoul")]
pub struct UnknownTimeZone {
    /// The name that was asked for.
    pub name: Arc<str>,
}
