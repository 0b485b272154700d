//! The end of a call as one word, for tables of tests.

use madang_actors::protocol::ToolOutcome;

/// Names the end of a call: `ok`, the code of its error, or the reason for which it was cancelled.
/// Returns `discarded` if the call has no outcome.
///
/// ```
/// use madang_actors::protocol::{CancelReason, ToolOutcome};
/// use madang_testing::end_name;
///
/// assert_eq!(end_name(Some(&ToolOutcome::error("not_found", "no such habit"))), "not_found");
/// assert_eq!(end_name(Some(&ToolOutcome::cancelled(CancelReason::Denied))), "denied");
/// assert_eq!(end_name(None), "discarded");
/// ```
#[must_use]
pub fn end_name(outcome: Option<&ToolOutcome>) -> &str {
    match outcome {
        Some(ToolOutcome::Ok(_)) => "ok",
        Some(ToolOutcome::Err(error)) => &error.code,
        Some(ToolOutcome::Cancelled(cancelled)) => cancelled.reason.name(),
        None => "discarded",
    }
}
