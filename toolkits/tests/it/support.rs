//! What the promises share: how long they wait, and what they ask about the end of a call.

use std::time::Duration;

use madang::{CallReport, tool::ToolOutcome};
use madang_testing::end_name;
use serde_json::Value;

/// How long a test waits for anything before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Names the end of a call.
pub(crate) fn kind(report: &CallReport) -> String {
    end_name(report.outcome()).to_owned()
}

/// Returns the data of a success.
pub(crate) fn data(outcome: &ToolOutcome) -> &Value {
    let ToolOutcome::Ok(ok) = outcome else { panic!("no success: {outcome:?}") };
    &ok.data
}
