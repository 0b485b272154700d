//! Every sentence of a runtime for a person. A [`Language`](super::Language) writes it.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Breach, CancelReason, Effect, EffectResolution, LimitExceeded, Notice, PromptSize};

/// The type of a failure inside of a call, as the model and the user read it. It never includes the
/// message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fault(Cow<'static, str>);

impl Fault {
    /// The handler panicked.
    pub const PANIC: Self = Self(Cow::Borrowed("Panic"));
    /// The outcome could not be serialised.
    pub const SERIALIZE: Self = Self(Cow::Borrowed("Serialize"));
    /// The reply was lost and the ledger knows no end.
    pub const REPLY_LOST: Self = Self(Cow::Borrowed("ReplyLost"));

    /// Makes the type that an error names itself.
    #[must_use]
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self(name.into())
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// Returns `Error`, for an error that names no type.
impl Default for Fault {
    fn default() -> Self {
        Self(Cow::Borrowed("Error"))
    }
}

/// A text for a person. `text.in_locale(..)` returns the sentence.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Text<'a> {
    /// No tool of this name is registered.
    UnknownTool(&'a str),
    /// A call names no tool: it could not be read.
    NoTool,
    /// The arguments break the schema; the problems are listed.
    BadArguments(&'a str),
    /// A problem with the arguments.
    Breach(&'a Breach),
    /// The handler failed unexpectedly.
    HandlerFailed(&'a Fault),
    /// The handler passed its deadline.
    TimedOut {
        /// The deadline that passed.
        seconds: f64,
        /// The effect that the handler may have had.
        effect: Effect,
    },
    /// A bound was reached.
    Overloaded,
    /// A bound of admission was reached.
    TooMany(&'a LimitExceeded),
    /// The model asked for more calls at once than are taken. This one did not run.
    TooManyCalls(usize),
    /// The store is unavailable or full. Nothing ran.
    StoreFailed,
    /// The tool has changed since the person was asked about it.
    ToolChanged,
    /// The approval in the ledger was not sealed here, or was changed.
    NotSealed,
    /// What "always" covers, for the question.
    Standing {
        /// The time that it lasts.
        lifetime: Duration,
        /// The number of calls that it covers.
        uses: u32,
        /// The resource that it is bound to.
        resource: Option<&'a str>,
    },
    /// The call was recorded as begun, and its end is unknown.
    EndUnknown,
    /// The stored outcome of a call cannot be read.
    Unreadable,
    /// More rounds were asked for than are allowed.
    TooManyRounds,
    /// The model failed, in this way.
    ModelFailed(&'a str),
    /// The prompt was too long for the model. Its parts have these sizes.
    PromptTooLong(&'a PromptSize),
    /// The model answered without this many of the oldest messages.
    MessagesLeftOut(u32),
    /// The turn cannot continue for now, because the store fails.
    TurnInterrupted,
    /// The turn was cut off, and the runtime has no model with which it could continue.
    WaitsForModel,
    /// The turn was cut off and does not continue.
    TurnCutOff,
    /// A system notice.
    Notice(Notice),
    /// The sentence that the model reads instead of a message that is left out.
    LeftOut,
    /// Why a call was cancelled.
    Cancelled(CancelReason),
    /// The sentence that the model reads of a call whose result was discarded.
    Discarded {
        /// The name of the tool.
        tool: &'a str,
        /// The effect of the call.
        effect: Effect,
    },
    /// What an unknown effect turned out to be.
    Resolved {
        /// The name of the tool.
        tool: &'a str,
        /// The effect that the call had.
        resolution: EffectResolution,
    },
    /// The sentence of a question if the tool does not describe a consequence itself.
    RunTool(&'a str),
}
