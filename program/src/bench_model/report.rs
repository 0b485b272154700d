//! Reports the measurements of a model, as a table and as JSON.

use std::{collections::BTreeMap, fmt, time::Duration};

use madang::{TurnEnd, error::TurnError, event::TurnEnding};
use serde::Serialize;

use super::measures::Values;
use crate::spread::Spread;

/// The measurements of a model.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    model: String,
    sessions: usize,
    turns: usize,
    /// Turns without an answer, by reason.
    failed: BTreeMap<String, usize>,
    seconds: f64,
    completions: usize,
    /// From the request for a completion until the model takes it.
    queue_wait_ms: Spread,
    /// From the request for a completion to its first token.
    first_token_ms: Spread,
    /// The rate of each completion after its first token.
    session_tokens_per_second: Rates,
    /// The rate of all together, waits included.
    tokens_per_second: f64,
    prompt_tokens: Prompts,
}

/// The rates of completions.
#[derive(Debug, Serialize)]
struct Rates {
    median: f64,
    slowest: f64,
}

/// The reading of prompts.
#[derive(Debug, Serialize)]
struct Prompts {
    evaluated: u64,
    reused: u64,
    /// Completions that reused tokens.
    hits: usize,
}

impl Report {
    pub(crate) fn new(
        model: String,
        sessions: usize,
        ends: &[Option<TurnEnd>],
        measured: &Values,
        took: Duration,
    ) -> Self {
        let of = |name: &str| measured.get(name).map_or(&[][..], |values| values);
        let millis = |name| Spread::of(of(name).iter().map(|seconds| seconds * 1e3).collect());
        let rates = of("madang.completion.token.rate");
        let cached = of("madang.completion.cached_tokens");
        let (read, reused) = (sum(of("gen_ai.client.token.usage input")), sum(cached));
        let seconds = took.as_secs_f64();
        let mut failed = BTreeMap::new();
        for why in ends.iter().filter_map(|end| failure(end.as_ref())) {
            *failed.entry(why).or_default() += 1;
        }
        Self {
            model,
            sessions,
            turns: ends.len(),
            failed,
            seconds,
            completions: of("gen_ai.client.operation.duration").len(),
            queue_wait_ms: millis("madang.completion.wait.duration"),
            first_token_ms: millis("gen_ai.server.time_to_first_token"),
            session_tokens_per_second: Rates {
                median: Spread::of(rates.to_vec()).p50,
                slowest: rates.iter().copied().reduce(f64::min).unwrap_or_default(),
            },
            tokens_per_second: sum(of("gen_ai.client.token.usage output")) as f64
                / seconds.max(f64::EPSILON),
            prompt_tokens: Prompts {
                evaluated: read.saturating_sub(reused),
                reused,
                hits: cached.iter().filter(|tokens| **tokens > 0.0).count(),
            },
        }
    }

    /// Returns a sentence if turns have no answer.
    pub(crate) fn complaint(&self) -> Option<String> {
        let count: usize = self.failed.values().sum();
        (count > 0).then(|| format!("{count} of {} turns failed: {}", self.turns, self.reasons()))
    }

    fn reasons(&self) -> String {
        let reasons = self.failed.iter().map(|(why, count)| format!("{why} {count}"));
        reasons.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the reason why a turn has no answer, if it has none.
fn failure(end: Option<&TurnEnd>) -> Option<String> {
    let Some(TurnEnd { ending, error, .. }) = end else { return Some("refused".to_owned()) };
    match ending {
        TurnEnding::Answered | TurnEnding::Stopped => return None,
        TurnEnding::Failed | TurnEnding::Dismissed => {}
    }
    Some(match error {
        Some(TurnError::Model { kind, .. }) => kind.clone(),
        Some(TurnError::TooManyRounds) => "too many rounds".to_owned(),
        Some(TurnError::Store) => "store".to_owned(),
        Some(TurnError::CutOff) | None => "cut off".to_owned(),
        Some(other) => format!("{other:?}"),
    })
}

/// Adds counts, which are whole numbers.
fn sum(counts: &[f64]) -> u64 {
    counts.iter().map(|count| *count as u64).sum()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, value: String| writeln!(f, "{name:<18}{value}");
        row("model", self.model.clone())?;
        row("sessions", self.sessions.to_string())?;
        row("turns", format!("{} in {:.1} s", self.turns, self.seconds))?;
        row("completions", self.completions.to_string())?;
        row("waited", self.queue_wait_ms.in_ms())?;
        row("first token", self.first_token_ms.in_ms())?;
        let Rates { median, slowest } = self.session_tokens_per_second;
        row("each session", format!("{median:.1} tokens/s median, {slowest:.1} the slowest"))?;
        row("all together", format!("{:.1} tokens/s", self.tokens_per_second))?;
        let Prompts { evaluated, reused, hits } = self.prompt_tokens;
        let share = 100.0 * reused as f64 / ((evaluated + reused) as f64).max(1.0);
        row(
            "prompts",
            format!(
                "{evaluated} tokens read, {reused} known from before ({share:.0} %), in {hits} of {} completions",
                self.completions
            ),
        )?;
        if !self.failed.is_empty() {
            row("failed", self.reasons())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_is_told_in_milliseconds_and_shares() {
        let measured = Values::from([
            ("madang.completion.wait.duration".to_owned(), vec![0.5, 0.001]),
            ("gen_ai.client.operation.duration".to_owned(), vec![1.0, 1.0]),
            ("madang.completion.cached_tokens".to_owned(), vec![0.0, 90.0]),
            ("gen_ai.client.token.usage input".to_owned(), vec![100.0, 100.0]),
            ("gen_ai.client.token.usage output".to_owned(), vec![10.0, 20.0]),
            ("madang.completion.token.rate".to_owned(), vec![4.0, 8.0, 6.0]),
        ]);
        let report = Report::new("m".into(), 1, &[None], &measured, Duration::from_secs(2));
        let shown = report.to_string();
        for part in [
            "500.0 at most",
            "6.0 tokens/s median, 4.0 the slowest",
            "15.0 tokens/s",
            "110 tokens read, 90 known from before (45 %), in 1 of 2",
            "refused 1",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert_eq!(report.complaint().as_deref(), Some("1 of 1 turns failed: refused 1"));
    }
}
