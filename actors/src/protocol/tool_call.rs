//! The model's request to use a tool, and the record of what became of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Approval, CallId, Limits, MAX_BYTES, ResolvedBy, Timestamp, ToolOutcome};

/// A call as the model wrote it: a name and the raw text of its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedCall {
    /// The tool's name, registered or not.
    pub name: Arc<str>,
    /// The arguments as the model wrote them; JSON if it did well.
    pub arguments: Arc<str>,
}

/// So many bytes are kept of a name or of arguments that are too long: enough to see what they were.
const KEPT_BYTES: usize = 1_024;
/// The longest name that is kept whole; no tool's is longer in use.
const MAX_NAME_BYTES: usize = 1_024;

impl WantedCall {
    /// Cuts what is longer than a runtime reads, before anything of it is stored or told: arguments that pass
    /// `max_arguments_bytes`, and a name of kilobytes. What was cut ends in `…(+n bytes)`, which no tool's name and no JSON
    /// does: such a call is refused, after a restart as well.
    #[must_use]
    pub fn bounded(self, limits: &Limits) -> Self {
        let max_bytes = limits.max_arguments_bytes.min(MAX_BYTES);
        Self {
            name: bounded(self.name, MAX_NAME_BYTES),
            arguments: bounded(self.arguments, max_bytes),
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

/// Gives how many bytes a text had before it was cut.
pub(crate) fn bytes_before_cut(text: &str) -> usize {
    let cut = text.strip_suffix(CUT_END).and_then(|text| text.rsplit_once(CUT));
    let missing = cut.and_then(|(kept, missing)| Some((kept, missing.parse::<usize>().ok()?)));
    missing.map_or(text.len(), |(kept, missing)| kept.len().saturating_add(missing))
}

/// A call with the id that the runtime gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Every step of the call is idempotent by this id.
    pub id: CallId,
    /// The tool's name, registered or not.
    pub name: Arc<str>,
    /// The raw text of the arguments.
    pub arguments: Arc<str>,
}

/// What a call did to the world, as far as the ledger knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing: it did not run, only read, or was undone.
    None,
    /// It took effect.
    Committed,
    /// It may have taken effect: nobody can tell.
    Unknown,
}

/// Whether the outcome was given to the person and the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallResult {
    /// It was.
    Shown,
    /// The turn had been dismissed: the data is given to nobody, the effect stays.
    Discarded,
}

/// A tool call's entry in the transcript, which is its ledger entry: there is no copy that could disagree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The call's id.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// The arguments that were validated, or the raw text as a JSON string where they were refused. Where the user
    /// changed them, those that the user typed.
    pub arguments: Value,
    /// What the model had asked for and the user was shown, where the user changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Value>,
    /// How it was approved; `None` where it needed no approval or got none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// How it ended; `None` where the result was discarded. The ledger keeps it all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ToolOutcome>,
    /// What it did to the world.
    pub effect: Effect,
    /// Who found out what it did, where the effect was unknown when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<ResolvedBy>,
    /// Whether the outcome was given to anybody.
    pub result: CallResult,
    /// When it was proposed.
    pub proposed_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
}

impl CallRecord {
    /// The tool asked for the turn to end after this round.
    #[must_use]
    pub fn stops_loop(&self) -> bool {
        self.outcome.as_ref().is_some_and(ToolOutcome::stops_loop)
    }
}
