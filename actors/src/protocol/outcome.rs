//! The outcome of a tool call: exactly one of ok, error, cancelled.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::IntoStaticStr;

/// What a tool reports to the runtime and the application in addition to its result. The model
/// never reads it.
pub type Metadata = Map<String, Value>;

/// The metadata flag that ends the turn after the round.
const STOP_LOOP: &str = "stop_loop";

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ToolOutcome {
    /// The call did what was asked.
    Ok(ToolOk),
    /// The call failed, or a rule refused it.
    #[serde(rename = "error")]
    Err(ToolErr),
    /// The call did not run, because it was not allowed. This is not an error.
    Cancelled(ToolCancelled),
}

/// The data of a call that succeeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolOk {
    /// The tool's result.
    pub data: Value,
    /// What the tool adds for the application. The runtime reads only the documented flags.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// The code and reason of a call that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolErr {
    /// The name of the failure for programs and the model, e.g. `r3_quota`.
    pub code: Cow<'static, str>,
    /// The sentence for a person, in the session's language.
    pub reason: String,
    /// What the tool adds for the application. The runtime reads only the documented flags.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// The reason why a call did not run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCancelled {
    /// The kind of reason.
    pub reason: CancelReason,
    /// The message of the person that denied it, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<str>>,
    /// What the tool adds for the application. The runtime reads only the documented flags.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// The reason why a call was cancelled. The five stay distinct for the model and the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum CancelReason {
    /// The person denied it.
    Denied,
    /// No answer came in time.
    Expired,
    /// No person could be asked.
    Unreachable,
    /// The user dismissed the turn while the question was open.
    Dismissed,
    /// The turn ended before the call began: the user dismissed it while no question was open, or
    /// the session or its process was lost.
    Withdrawn,
}

impl CancelReason {
    /// Returns the sentence that the model reads in the envelope. The bundled model learnt the very
    /// words of all but [`Withdrawn`](Self::Withdrawn).
    #[must_use]
    pub const fn envelope_text(self) -> &'static str {
        match self {
            Self::Denied => "user did not confirm",
            Self::Expired => "the question expired without an answer",
            Self::Unreachable => "nobody could be asked to confirm",
            Self::Dismissed => "the user left before answering",
            Self::Withdrawn => "the turn ended before this began, so it was not run",
        }
    }

    /// Returns its name in databases and events.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl ToolOutcome {
    /// Makes a success with its data.
    #[must_use]
    pub fn ok(data: Value) -> Self {
        Self::Ok(ToolOk { data, metadata: Metadata::new() })
    }

    /// Makes a failure with its code and reason.
    #[must_use]
    pub fn error(code: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Self {
        Self::Err(ToolErr { code: code.into(), reason: reason.into(), metadata: Metadata::new() })
    }

    /// Makes the outcome of a call that did not run.
    #[must_use]
    pub fn cancelled(reason: CancelReason) -> Self {
        Self::Cancelled(ToolCancelled { reason, message: None, metadata: Metadata::new() })
    }

    /// Makes the outcome of a call that the person denied, with a message for the model.
    #[must_use]
    pub fn denied(message: Option<Arc<str>>) -> Self {
        let reason = CancelReason::Denied;
        Self::Cancelled(ToolCancelled { reason, message, metadata: Metadata::new() })
    }

    /// Returns the outcome with one more entry in its metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: Value) -> Self {
        match &mut self {
            Self::Ok(ToolOk { metadata, .. })
            | Self::Err(ToolErr { metadata, .. })
            | Self::Cancelled(ToolCancelled { metadata, .. }) => metadata.insert(key.into(), value),
        };
        self
    }

    /// Returns what the tool reports in addition to its result.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        match self {
            Self::Ok(ToolOk { metadata, .. })
            | Self::Err(ToolErr { metadata, .. })
            | Self::Cancelled(ToolCancelled { metadata, .. }) => metadata,
        }
    }

    /// Returns whether the tool asked for the turn to end after this round.
    #[must_use]
    pub fn stops_loop(&self) -> bool {
        self.metadata().get(STOP_LOOP) == Some(&Value::Bool(true))
    }

    /// Returns whether the call succeeded.
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        matches!(self, Self::Ok(_))
    }

    /// Returns the error's code, if it is an error.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Err(error) => Some(&error.code),
            Self::Ok(_) | Self::Cancelled(_) => None,
        }
    }
}

/// Writes data or reason, never metadata.
impl fmt::Display for ToolOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok(ToolOk { data: Value::String(text), .. }) => f.write_str(text),
            Self::Ok(ok) => write!(f, "{}", ok.data),
            Self::Err(error) => f.write_str(&error.reason),
            Self::Cancelled(cancelled) => cancelled.fmt(f),
        }
    }
}

/// Writes the reason, and the person's message after it.
impl fmt::Display for ToolCancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.envelope_text())?;
        self.message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
    }
}
