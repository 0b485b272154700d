//! The end of a tool call: exactly one of ok, error, cancelled.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What a tool says beside its result to whoever runs the loop; never sent to the model.
pub type Metadata = Map<String, Value>;

/// The metadata flag that ends the turn after the round.
const STOP_LOOP: &str = "stop_loop";

/// How a tool call ended. Immutable; `with_metadata` gives a new one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It did what was asked.
    Ok(ToolOk),
    /// It failed, or was refused by a rule.
    #[serde(rename = "error")]
    Err(ToolErr),
    /// It did not run, because nobody allowed it. Not an error.
    Cancelled(ToolCancelled),
}

/// The data of a call that succeeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOk {
    /// What the tool gives.
    pub data: Value,
    /// Opaque to the runtime, but for documented flags.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// The code and reason of a call that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolErr {
    /// Names the failure for programs and the model, e.g. `r3_quota`.
    pub code: Cow<'static, str>,
    /// Says it to a person, in the session's language.
    pub reason: String,
    /// Opaque to the runtime, but for documented flags.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// Why a call did not run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCancelled {
    /// Why.
    pub reason: CancelReason,
    /// What the person who denied it wants the model to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<str>>,
    /// Opaque to the runtime, but for documented flags.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// Why a call was cancelled; the five stay distinct for the model and the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CancelReason {
    /// The person said no.
    Denied,
    /// No answer came in time.
    Expired,
    /// Nobody could be asked.
    Unreachable,
    /// The screen was dismissed while the question was open.
    Dismissed,
    /// Its turn ended before it began: the screen was dismissed while nobody was asked, or the session was lost.
    Withdrawn,
}

impl CancelReason {
    /// What the envelope tells the model.
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

    /// Its name in databases and events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Unreachable => "unreachable",
            Self::Dismissed => "dismissed",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl ToolOutcome {
    /// A success with its data.
    #[must_use]
    pub fn ok(data: Value) -> Self {
        Self::Ok(ToolOk { data, metadata: Metadata::new() })
    }

    /// A failure with its code and reason.
    #[must_use]
    pub fn error(code: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Self {
        Self::Err(ToolErr { code: code.into(), reason: reason.into(), metadata: Metadata::new() })
    }

    /// A call that did not run.
    #[must_use]
    pub fn cancelled(reason: CancelReason) -> Self {
        Self::Cancelled(ToolCancelled { reason, message: None, metadata: Metadata::new() })
    }

    /// A call that the person denied, with what the model is told beside.
    #[must_use]
    pub fn denied(message: Option<Arc<str>>) -> Self {
        let reason = CancelReason::Denied;
        Self::Cancelled(ToolCancelled { reason, message, metadata: Metadata::new() })
    }

    /// The same outcome with one more entry in its metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: Value) -> Self {
        match &mut self {
            Self::Ok(ToolOk { metadata, .. })
            | Self::Err(ToolErr { metadata, .. })
            | Self::Cancelled(ToolCancelled { metadata, .. }) => metadata.insert(key.into(), value),
        };
        self
    }

    /// What the tool said beside its result.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        match self {
            Self::Ok(ToolOk { metadata, .. })
            | Self::Err(ToolErr { metadata, .. })
            | Self::Cancelled(ToolCancelled { metadata, .. }) => metadata,
        }
    }

    /// The tool asked for the turn to end after this round.
    #[must_use]
    pub fn stops_loop(&self) -> bool {
        self.metadata().get(STOP_LOOP) == Some(&Value::Bool(true))
    }

    /// The call succeeded.
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        matches!(self, Self::Ok(_))
    }

    /// The error's code, if it is one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Err(error) => Some(&error.code),
            Self::Ok(_) | Self::Cancelled(_) => None,
        }
    }

    /// The form for applications: `{success, output, error, metadata}`, and `cancelled`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let (output, error, cancelled) = match self {
            Self::Ok(ok) => (ok.data.clone(), Value::Null, false),
            Self::Err(error) => (Value::Null, json!(error.reason), false),
            Self::Cancelled(c) => (Value::Null, json!(c.to_string()), true),
        };
        json!({
            "success": self.is_ok(),
            "output": output,
            "error": error,
            "cancelled": cancelled,
            "metadata": self.metadata(),
        })
    }
}

/// Data or reason, never metadata.
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

/// The reason, and the person's message behind it.
impl fmt::Display for ToolCancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.envelope_text())?;
        self.message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
    }
}
