//! The vocabulary: plain data that every actor and every port uses.
//!
//! A [`ChatMessage`] is an entry of a chat, and a [`SessionEvent`] is what a subscriber reads. A
//! [`ToolOutcome`] is the end of a call, and an [`ApprovalRequest`] is the question to a person.
//! [`Limits`] bounds every queue, buffer and wait, and [`Text`] identifies the sentences for
//! people.
//!
//! Invariants:
//! - Nothing here is async, reads a clock or invents ids. The actors pass them in.
//! - A value deeper than [`MAX_LEVELS`] or longer than the bound on bytes is refused before it is
//!   written, so that each stored value can be read again.
//! - An approval request makes each invisible character of the call visible.

mod approval;
mod approval_request;
mod as_text;
mod chat;
mod completion;
mod conversation;
mod cut;
mod digest;
mod effect_resolution;
mod envelope;
mod event;
mod feed_cursor;
mod id;
mod imported;
mod language;
mod language_tag;
mod limit_exceeded;
mod limit_ranges;
mod limits;
mod locale;
mod model_name;
mod outcome;
mod plain;
mod problem;
mod prompt_bytes;
mod prompt_message;
mod prompt_size;
#[cfg(feature = "schema")]
pub(crate) mod schema;
mod storable;
mod texts;
mod tool_call;
mod tool_progress;
mod tool_spec;
mod turn;
mod unread_call;

pub use approval::{Approval, StandingApproval};
pub use approval_request::{ApprovalEnd, ApprovalRequest, Decision, DecisionError, Shown};
pub(crate) use as_text::as_text;
pub use chat::{ChatMessage, Content, Ending, EntryOrigin, Notice};
pub use completion::{Completion, CompletionDelta, CompletionRequest, FinishReason, Usage};
pub use conversation::{ConversationCall, ConversationMessage, SILENCE, conversation};
pub use digest::Digest;
pub(crate) use digest::from_hex;
pub use effect_resolution::{Effect, EffectResolution, ResolvedBy, ResolvedCall};
pub use envelope::{bare_envelope, call_envelope, envelope};
pub use event::{EventCursor, EventKind, InvalidCursor, SessionEvent, TurnEnding, TurnError};
pub use feed_cursor::{FeedCursor, FeedEpoch};
pub use id::{
    CallId, CompletionId, IdempotencyKey, InvalidId, SessionId, Timestamp, TurnId, UserId,
};
pub use imported::{Imported, ImportedRole};
pub use language::{English, Korean, Language, Languages, Particle};
pub use language_tag::{InvalidLanguageTag, LanguageTag};
pub use limit_exceeded::{Bound, LimitExceeded, Scope};
pub use limit_ranges::LimitError;
pub use limits::Limits;
pub use locale::Locale;
pub use model_name::{InvalidModelName, ModelName};
pub use outcome::{CancelReason, Metadata, ToolCancelled, ToolErr, ToolOk, ToolOutcome};
pub use plain::{editable, is_visible, plain, quoted, quoted_up_to};
pub use problem::{Breach, Problem};
pub use prompt_message::PromptMessage;
pub use prompt_size::{PromptPart, PromptSize};
pub(crate) use storable::json_bytes;
pub use storable::{
    MAX_BYTES, MAX_LEVELS, Unstorable, dismantle, is_deeper, storable, storable_text,
};
pub use texts::{Fault, Text};
pub(crate) use tool_call::bytes_before_cut;
pub use tool_call::{CallRecord, CallResult, ToolCall, WantedCall};
pub use tool_progress::ToolProgress;
pub use tool_spec::{EffectPolicy, SpecError, ToolSpec};
pub use turn::{Asks, OnDismiss, TurnOptions};
