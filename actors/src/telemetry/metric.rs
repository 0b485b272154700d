//! The metrics: each with its unit and its labels.

use std::{sync::Arc, time::Duration};

use metrics::{
    Label, SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram,
    gauge, histogram,
};

use super::name;
use crate::protocol::{Bound, LimitExceeded, Usage};

/// A metric, with its unit and its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The name of the metric.
    pub name: &'static str,
    /// The kind of the metric.
    pub kind: MetricKind,
    /// The unit in which it counts.
    pub unit: Unit,
    /// The description, with its labels.
    pub description: &'static str,
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricKind {
    /// A number that only grows.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// A count of values, by value.
    Histogram,
}

const TURNS: &str = "madang.turns";
const TURN_DURATION: &str = "gen_ai.invoke_agent.duration";
const COMPLETIONS: &str = "madang.completions";
const COMPLETION_DURATION: &str = "gen_ai.client.operation.duration";
const COMPLETION_WAIT: &str = "madang.completion.wait.duration";
const FIRST_TOKEN: &str = "gen_ai.server.time_to_first_token";
const TOKEN_RATE: &str = "madang.completion.token.rate";
const CACHED_TOKENS: &str = "madang.completion.cached_tokens";
const TOKENS: &str = "gen_ai.client.token.usage";
const TOOL_CALLS: &str = "madang.tool_calls";
const TOOL_DURATION: &str = "gen_ai.execute_tool.duration";
const GROUP_JOBS: &str = "madang.store.group.jobs";
const COMMIT_DURATION: &str = "madang.store.commit.duration";
const REFUSALS: &str = "madang.refusals";
const HELD: &str = "madang.permits.held";

/// All metrics of a runtime.
pub const METRICS: &[Metric] = {
    use MetricKind::{Counter, Gauge, Histogram};
    const fn metric(
        name: &'static str,
        kind: MetricKind,
        unit: Unit,
        description: &'static str,
    ) -> Metric {
        Metric { name, kind, unit, description }
    }
    &[
        metric(TURNS, Counter, Unit::Count, "turns that ended, by ending and error"),
        metric(TURN_DURATION, Histogram, Unit::Seconds, "from a turn's beginning to its end"),
        metric(COMPLETIONS, Counter, Unit::Count, "completions, by model, finish and error"),
        metric(
            COMPLETION_DURATION,
            Histogram,
            Unit::Seconds,
            "from the request for a completion to its end, by model and error",
        ),
        metric(
            COMPLETION_WAIT,
            Histogram,
            Unit::Seconds,
            "how long a completion waited for the model, by model",
        ),
        metric(
            FIRST_TOKEN,
            Histogram,
            Unit::Seconds,
            "from the request for a completion to its first token, by model",
        ),
        metric(
            TOKEN_RATE,
            Histogram,
            Unit::CountPerSecond,
            "tokens a second of a completion behind its first, by model",
        ),
        metric(
            CACHED_TOKENS,
            Histogram,
            Unit::Count,
            "tokens of a completion's prompt that were known from before, by model",
        ),
        metric(TOKENS, Histogram, Unit::Count, "tokens of a completion, by model and type"),
        metric(TOOL_CALLS, Counter, Unit::Count, "tool calls that ended, by tool, outcome, error"),
        metric(
            TOOL_DURATION,
            Histogram,
            Unit::Seconds,
            "from the moment when a call may run to its recorded end, by tool; no question's time is in it",
        ),
        metric(GROUP_JOBS, Histogram, Unit::Count, "jobs that share one commit"),
        metric(COMMIT_DURATION, Histogram, Unit::Seconds, "how long a commit took, by error"),
        metric(REFUSALS, Counter, Unit::Count, "what was not let in, by bound and whose it is"),
        metric(
            HELD,
            Gauge,
            Unit::Count,
            "permits that are taken, by bound: sessions awake, turns, questions, inboxes, calls, bytes",
        ),
    ]
};

/// Passes the units and descriptions of all metrics to the installed recorder. Call it once after
/// the recorder's installation. Without it the metrics are the same, but unexplained.
pub fn describe() {
    for Metric { name, kind, unit, description } in METRICS {
        match kind {
            MetricKind::Counter => describe_counter!(*name, *unit, *description),
            MetricKind::Gauge => describe_gauge!(*name, *unit, *description),
            MetricKind::Histogram => describe_histogram!(*name, *unit, *description),
        }
    }
}

fn with_error(mut labels: Vec<Label>, error: Option<&'static str>) -> Vec<Label> {
    labels.extend(error.map(|error| Label::from_static_parts(name::ERROR, error)));
    labels
}

pub(super) fn turn_ended(ending: &'static str, error: Option<&'static str>, took: Duration) {
    let ending = Label::from_static_parts(name::ENDING, ending);
    counter!(TURNS, with_error(vec![ending.clone()], error)).increment(1);
    let operation = Label::from_static_parts(name::OPERATION, "invoke_agent");
    histogram!(TURN_DURATION, with_error(vec![operation, ending], error)).record(took);
}

pub(super) fn completion_waited(model: &SharedString, waited: Duration) {
    histogram!(COMPLETION_WAIT, name::MODEL => model.clone()).record(waited);
}

pub(super) fn completion_ended(
    model: &SharedString,
    finish: &'static str,
    error: Option<&'static str>,
    took: Duration,
) {
    let model = Label::new(name::MODEL, model.clone());
    let finish = Label::from_static_parts(name::FINISH, finish);
    counter!(COMPLETIONS, with_error(vec![model.clone(), finish], error)).increment(1);
    let operation = Label::from_static_parts(name::OPERATION, "chat");
    histogram!(COMPLETION_DURATION, with_error(vec![operation, model], error)).record(took);
}

pub(super) fn tokens_used(model: &SharedString, usage: Usage) {
    for (kind, count) in [("input", usage.prompt_tokens), ("output", usage.completion_tokens)] {
        histogram!(
            TOKENS,
            name::OPERATION => "chat",
            name::MODEL => model.clone(),
            name::TOKEN_TYPE => kind
        )
        .record(count);
    }
    histogram!(CACHED_TOKENS, name::MODEL => model.clone()).record(usage.cached_tokens);
}

pub(super) fn first_token_came(model: &SharedString, after: Duration) {
    histogram!(FIRST_TOKEN, name::MODEL => model.clone()).record(after);
}

/// Counts tokens, all but the first of which came in this time.
pub(super) fn tokens_came(model: &SharedString, tokens: u32, time: Duration) {
    if tokens > 1 && !time.is_zero() {
        let rate = f64::from(tokens - 1) / time.as_secs_f64();
        histogram!(TOKEN_RATE, name::MODEL => model.clone()).record(rate);
    }
}

pub(super) fn tool_call_ended(
    tool: &SharedString,
    outcome: &'static str,
    error: Option<&'static str>,
) {
    let tool = Label::new(name::TOOL, tool.clone());
    let outcome = Label::from_static_parts(name::OUTCOME, outcome);
    counter!(TOOL_CALLS, with_error(vec![tool, outcome], error)).increment(1);
}

/// Measures a call of this registered tool, from the moment when it was let run to its recorded
/// end.
pub(crate) fn tool_executed(tool: &Arc<str>, took: Duration) {
    let tool = SharedString::from(tool.clone());
    histogram!(TOOL_DURATION, name::OPERATION => "execute_tool", name::TOOL => tool).record(took);
}

/// Measures a group that the store was asked to commit.
pub(crate) fn group_ended(jobs: usize, took: Duration, error: Option<&'static str>) {
    #[expect(clippy::cast_precision_loss, reason = "a group is far smaller than 2^52")]
    histogram!(GROUP_JOBS).record(jobs as f64);
    histogram!(COMMIT_DURATION, with_error(Vec::new(), error)).record(took);
}

/// Counts a caller that was refused.
pub(crate) fn refused(refusal: &LimitExceeded) {
    let (bound, scope): (&str, &str) = (refusal.bound.into(), refusal.scope.into());
    counter!(REFUSALS, name::BOUND => bound, name::SCOPE => scope).increment(1);
}

/// Counts permits as taken.
pub(crate) fn permits_taken(of: Bound, permits: usize) {
    held(of).increment(float(permits));
}

/// Counts permits as free again.
pub(crate) fn permits_returned(of: Bound, permits: usize) {
    held(of).decrement(float(permits));
}

fn held(of: Bound) -> metrics::Gauge {
    gauge!(HELD, name::BOUND => <&str>::from(of))
}

#[expect(clippy::cast_precision_loss, reason = "no bound comes near 2^52")]
fn float(permits: usize) -> f64 {
    permits as f64
}
