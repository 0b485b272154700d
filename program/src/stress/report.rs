//! What a run has shown, as a table and as JSON.

use std::{collections::BTreeMap, fmt};

use madang_proof::{
    audit::Counter,
    stress::{Stress, StressFigures},
};
use serde::Serialize;

use crate::spread::Spread;

/// What a run has shown.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    seed: u64,
    sessions: usize,
    turns: usize,
    turns_per_second: f64,
    seconds: f64,
    /// From the submit to the end of a turn.
    latency_ms: Spread,
    endings: BTreeMap<&'static str, u64>,
    calls: BTreeMap<String, u64>,
    /// What was refused and tried again.
    refused: u64,
    /// Kills of shared actors, and turns that they cut off.
    kills: usize,
    cut: u64,
    heap: Heap,
    #[serde(flatten)]
    broken: BTreeMap<&'static str, usize>,
    #[serde(skip)]
    examples: Vec<String>,
}

/// Bytes on the heap, those of llama.cpp left out, and tasks; `None` where no run came before to
/// compare with.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Heap {
    pub(crate) peak_bytes: usize,
    pub(crate) before_bytes: Option<usize>,
    pub(crate) after_bytes: usize,
    pub(crate) tasks_before: usize,
    pub(crate) tasks_after: usize,
}

/// Examples of each broken promise that are shown.
const EXAMPLES: usize = 5;

/// What may stay on the heap after a run.
const SLACK_BYTES: usize = 1 << 20;

impl Report {
    pub(crate) fn new(run: &Stress, figures: &StressFigures) -> Self {
        let StressFigures { took, turns, endings, calls, refused, kills, cut, findings } = figures;
        let seconds = took.as_secs_f64();
        let examples = Counter::ALL.into_iter().flat_map(|counter| {
            let found = findings.of(counter).take(EXAMPLES);
            found.map(move |what| format!("{}: {what}", counter.name()))
        });
        let count = |counter: Counter| (counter.name(), findings.of(counter).len());
        Self {
            seed: run.seed,
            sessions: run.sessions,
            turns: turns.len(),
            turns_per_second: turns.len() as f64 / seconds.max(f64::EPSILON),
            seconds,
            latency_ms: Spread::of(turns.iter().map(|took| took.as_secs_f64() * 1e3).collect()),
            endings: endings.clone(),
            calls: calls.clone(),
            refused: *refused,
            kills: *kills,
            cut: *cut,
            heap: Heap::default(),
            broken: Counter::ALL.map(count).into(),
            examples: examples.collect(),
        }
    }

    /// Adds the memory and the tasks that stay behind, which are known last.
    pub(crate) fn set_heap(&mut self, heap: Heap) {
        self.heap = heap;
    }

    /// Says in one sentence what is wrong, with the seed that shows it again.
    pub(crate) fn complaint(&self) -> Option<String> {
        let found = self.broken.iter().filter(|(_, count)| **count > 0);
        let mut words: Vec<String> = found.map(|(word, count)| format!("{count} {word}")).collect();
        words.extend(self.heap.leak());
        let is_broken = !words.is_empty();
        is_broken.then(|| format!("seed {} broke the promise: {}", self.seed, words.join(", ")))
    }

    /// Returns some findings of each kind.
    pub(crate) fn examples(&self) -> &[String] {
        &self.examples
    }
}

impl Heap {
    /// Describes the memory or the tasks that stay behind, if they are more than allowed.
    fn leak(&self) -> Option<String> {
        let before = self.before_bytes?;
        let left = self.after_bytes.saturating_sub(before);
        if left > SLACK_BYTES.max(before / 20) {
            return Some(format!("{left} bytes stay on the heap"));
        }
        let tasks = self.tasks_after.saturating_sub(self.tasks_before);
        (tasks > 0).then(|| format!("{tasks} tasks stay behind"))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, value: String| writeln!(f, "{name:<18}{value}");
        let mib = |bytes: usize| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        row("seed", self.seed.to_string())?;
        row("sessions", self.sessions.to_string())?;
        let each = format!(
            "{} in {:.1} s, {:.0} a second",
            self.turns, self.seconds, self.turns_per_second
        );
        row("turns", each)?;
        row("endings", counted(&self.endings))?;
        row("calls", counted(&self.calls))?;
        row("a turn took", self.latency_ms.in_ms())?;
        row("tried again", self.refused.to_string())?;
        row("shared kills", format!("{}, which cut off {} turns", self.kills, self.cut))?;
        let heap = &self.heap;
        let before =
            heap.before_bytes.map_or(String::new(), |before| format!(", {} before", mib(before)));
        row(
            "heap",
            format!("{} at most, {} after{before}", mib(heap.peak_bytes), mib(heap.after_bytes)),
        )?;
        for counter in Counter::ALL {
            row(counter.name(), self.broken[counter.name()].to_string())?;
        }
        Ok(())
    }
}

fn counted<W: fmt::Display>(counts: &BTreeMap<W, u64>) -> String {
    let words = counts.iter().map(|(word, count)| format!("{word} {count}"));
    words.collect::<Vec<_>>().join(", ")
}
