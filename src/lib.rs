//! Madang (마당): an embeddable, actor-based runtime for many concurrent chats in which a language model calls tools.
//!
//! Its promise: what a tool did is never lost, never done twice, never done unasked, and never misreported.
//!
//! A [`Runtime`] is built from a model, a store and tools; [`Session`] is one chat of one user. Everything that a
//! session does is told to its subscribers as [`SessionEvent`]s.

mod block_on;
mod builder;
mod call;
mod call_place;
mod error;
pub mod model;
mod resume;
mod runtime;
mod session;
pub mod store;
pub mod telemetry;
mod time_zone;
pub mod tool;
mod transaction;
mod turn;

pub use block_on::block_on;
pub use builder::Builder;
pub use call::{Call, CallReport, Confirm};
pub use error::{BuildError, SessionError, ShutdownError};
pub use madang_actors::{
    ledger::{ErasedChain, KeyId, NoRandomness, Seal, SealError, SealKey, SealKeys},
    port::{
        AuditError, Audited, ChatModel, Clock, Damaged, Deltas, Forget, ForgetError, Forgotten,
        LedgerFilter, LedgerRow, ModelError, ModelInfo, Owner, SessionLedger, Store, StoreError,
        SystemClock, Unconstrained, UserWeights,
    },
    protocol::{
        Answer, AnswerError, Approval, Asker, Bound, Breach, CallId, CallRecord, CallResult,
        CancelReason, ChatMessage, Completion, CompletionDelta, CompletionRequest, ConfirmationEnd,
        Content, Decision, Digest, Effect, EffectPolicy, EffectResolution, Ending, EventCursor,
        EventKind, FinishReason, Grant, IdempotencyKey, InvalidCursor, InvalidId, LimitExceeded,
        Limits, Locale, Notice, OnDismiss, Problem, PromptMessage, Question, ResolvedBy,
        ResolvedCall, Scope, SessionEvent, SessionId, Shown, Text, Timestamp, ToolCancelled,
        ToolErr, ToolOk, ToolOutcome, ToolSpec, TurnEnding, TurnError, TurnId, TurnOptions, Usage,
        UserId, WantedCall, call_envelope, editable, envelope, plain, quoted, quoted_up_to,
    },
    registry::{Problems, ToolRegistry},
    session::{
        ClearError, DismissError, History, ResolveError, SessionView, StreamItem, Subscription,
        TurnEnd, TurnRefused,
    },
    supervisor::Health,
};
pub use runtime::Runtime;
pub use session::Session;
pub use time_zone::UnknownTimeZone;
pub use transaction::{TransactionError, TransactionFn};
pub use turn::{ReplyError, Turn, TurnEvents};

/// Compiles the README's examples.
#[cfg(all(doctest, feature = "bundled-model", feature = "sqlite"))]
#[doc = include_str!("../README.md")]
struct Readme;
