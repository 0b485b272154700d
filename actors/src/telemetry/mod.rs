//! The telemetry of a runtime: a span for each turn, completion and tool call, and metrics.
//!
//! Spans go through `tracing` and metrics through the facade `metrics`. Without a subscriber both
//! cost next to nothing and nothing is printed. All names are in [`name`], after OpenTelemetry's
//! conventions for generative AI. `turn`, `completion` and `tool_call` write the spans, and
//! `metric` writes the metrics.
//!
//! Invariants:
//! - Ids of sessions, users, turns and calls are in spans only. A metric's labels are words that
//!   the program or its registry knows, so that no chat can make a new series.
//! - Spans and metrics contain no text of people, models or tools, and not the name of an
//!   unregistered tool either, which a model made up.
//! - A span that is dropped without an end says so: the turn was left, the call's answer lost, or
//!   the engine died.

mod completion;
mod metric;
pub mod name;
mod tool_call;
mod turn;

use std::borrow::Cow;

pub use completion::{CompletionClock, CompletionSpan};
pub use metric::{METRICS, Metric, MetricKind, describe};
pub(crate) use metric::{group_ended, permits_returned, permits_taken, refused, tool_executed};
pub use tool_call::{CallIds, ToolCallSpan};
pub use turn::TurnSpan;

/// Returns a word of the program. A word that was made at run time could be any text, and is left
/// out.
#[expect(clippy::ptr_arg, reason = "whether it is borrowed is the question")]
fn word(text: &Cow<'static, str>) -> &'static str {
    match text {
        Cow::Borrowed(word) => word,
        Cow::Owned(_) => name::OTHER,
    }
}
