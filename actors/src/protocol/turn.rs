//! The options of a turn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{IdempotencyKey, LanguageTag, ModelName};

/// The options of a turn. They are stored with it, so that it continues in the same way after a
/// crash.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnOptions {
    /// Who is asked for approvals. This is a property of the turn and does not depend on
    /// subscribers.
    pub asks: Asks,
    /// The effect of a dismissal.
    pub on_dismiss: OnDismiss,
    /// The language of reasons, questions and notices. `None` uses that of the runtime, or that of
    /// the user's text if the runtime names none. The tag that was taken is stored with the turn.
    pub language: Option<LanguageTag>,
    /// The IANA name of the user's time zone. `None` uses that of the runtime: its user's, or the
    /// machine's. The zone that was taken is stored with the turn.
    pub time_zone: Option<Arc<str>>,
    /// What the model reads directly after the runtime's system text, in this turn only. It
    /// influences nothing but the model's words: no approval, limit or tool depends on it. At most
    /// [`Limits::max_instructions_bytes`](super::Limits).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Arc<str>>,
    /// The model that is asked. `None` uses that of the runtime: its session's, or the first. If
    /// the runtime's models have names, the one that was taken is stored with the turn. If it is
    /// overloaded, or its connection is lost before it has said anything, the completion goes to
    /// the model after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// The key that makes a repeated submit safe. The same text under the same key in the same
    /// session is the same turn, whether it runs or has ended. The options of the first submit
    /// count.
    #[serde(skip)]
    pub key: Option<IdempotencyKey>,
}

/// Who is asked if a call needs an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Asks {
    /// The user of the session.
    #[default]
    User,
    /// Nobody. A destructive call is cancelled as unreachable.
    Nobody,
}

/// The effect of a dismissal on the running turn. In both cases a handler that has begun commits
/// its writes, and its result is discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnDismiss {
    /// Ends the model's stream and open questions at once, and begins no new round.
    #[default]
    Stop,
    /// Lets the turn run to its end. An open question ends as dismissed, and the dismissed reader
    /// receives nothing more.
    Finish,
}
