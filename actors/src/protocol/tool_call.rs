//! The model's request to use a tool, and the record of what became of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::IntoStaticStr;

use super::{
    Approval, CallId, Effect, Limits, MAX_BYTES, ModelName, ResolvedBy, Timestamp, ToolOutcome,
};

/// A call as the model wrote it: a name and the raw text of its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WantedCall {
    /// The tool's name, registered or not.
    pub name: Arc<str>,
    /// The arguments as the model wrote them, which should be JSON.
    pub arguments: Arc<str>,
    /// What a remote model wants back with the call, such as a signed thought. Only that model
    /// reads it. It is stored with the call and never shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub opaque: Option<Arc<str>>,
}

/// The bytes that are kept of a name or of arguments that are too long: enough to recognise them.
const KEPT_BYTES: usize = 1_024;
/// The longest name that is not cut. No tool in use has a longer one.
const MAX_NAME_BYTES: usize = 1_024;

impl WantedCall {
    /// Makes a call without opaque state.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, arguments: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), arguments: arguments.into(), opaque: None }
    }

    /// Cuts texts that are longer than a runtime reads, before they are stored or published:
    /// arguments longer than `max_arguments_bytes`, and names of kilobytes. A cut text ends in
    /// `…(+n bytes)`, as no tool's name and no JSON does. Such a call is refused, even after a
    /// restart. Opaque state longer than `max_opaque_bytes` is left out.
    #[must_use]
    pub fn bounded(self, limits: &Limits) -> Self {
        let max_bytes = limits.max_arguments_bytes.min(MAX_BYTES);
        Self {
            name: bounded(self.name, MAX_NAME_BYTES),
            arguments: bounded(self.arguments, max_bytes),
            opaque: self.opaque.filter(|opaque| opaque.len() <= limits.max_opaque_bytes),
        }
    }
}

fn bounded(text: Arc<str>, max_bytes: usize) -> Arc<str> {
    if text.len() <= max_bytes {
        return text;
    }
    let kept = text.floor_char_boundary(KEPT_BYTES.min(max_bytes));
    format!("{}{CUT}{}{CUT_END}", &text[..kept], text.len() - kept).into()
}

const CUT: &str = "…(+";
const CUT_END: &str = " bytes)";

/// Returns the bytes that a text had before it was cut.
pub(crate) fn bytes_before_cut(text: &str) -> usize {
    let cut = text.strip_suffix(CUT_END).and_then(|text| text.rsplit_once(CUT));
    let missing = cut.and_then(|(kept, missing)| Some((kept, missing.parse::<usize>().ok()?)));
    missing.map_or(text.len(), |(kept, missing)| kept.len().saturating_add(missing))
}

/// A call with the id that the runtime chose for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// The id of the call. Every step of the call is idempotent by it.
    pub id: CallId,
    /// The tool's name, registered or not.
    pub name: Arc<str>,
    /// The raw text of the arguments.
    pub arguments: Arc<str>,
    /// The model that asked, if it has a name. Absent for a call without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// What the model wants back with the call. It is never shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub opaque: Option<Arc<str>>,
}

/// Whether the person and the model receive the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CallResult {
    /// They receive the outcome.
    Shown,
    /// The turn had been dismissed. Nobody receives the outcome, but the effect remains.
    Discarded,
}

/// A tool call's entry in the transcript, which is its ledger entry. There is no copy that could
/// disagree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallRecord {
    /// The id of the call.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// The arguments that were validated, or the raw text as a JSON string if they were refused. If
    /// the user changed them, those that the user typed.
    pub arguments: Arc<Value>,
    /// The model that asked, if it has a name. Absent for a call without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// What the model wants back with the call. It is never shown.
    #[serde(skip)]
    pub opaque: Option<Arc<str>>,
    /// The arguments that the model had asked for and the user saw, if the user changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Arc<Value>>,
    /// How the call was approved. Absent if it needed no approval or received none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The outcome. Absent if the result was discarded; the ledger keeps it in that case too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ToolOutcome>,
    /// The effect of the call on the world.
    pub effect: Effect,
    /// The handler or person that found out the effect, if it was unknown when the call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<ResolvedBy>,
    /// Whether a reader received the outcome.
    pub result: CallResult,
    /// The time of the proposal.
    pub proposed_at: Timestamp,
    /// The time of the end.
    pub ended_at: Timestamp,
}

impl CallRecord {
    /// Returns whether the tool asked for the turn to end after this round.
    #[must_use]
    pub fn stops_loop(&self) -> bool {
        self.outcome.as_ref().is_some_and(ToolOutcome::stops_loop)
    }
}
