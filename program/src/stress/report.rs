//! What a run has shown, as a table and as JSON.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;

use super::{audit::Findings, run::Ran};
use crate::spread::Spread;

/// What a run has shown.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) seed: u64,
    sessions: usize,
    turns: u64,
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
    lost: usize,
    doubled: usize,
    unasked: usize,
    misreported: usize,
    disturbed: usize,
    #[serde(skip)]
    examples: Vec<String>,
}

/// Bytes on the heap, those of llama.cpp left out, and tasks; `None` where no run came before to compare with.
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
    pub(crate) fn new(seed: u64, ran: &Ran, findings: &Findings) -> Self {
        let chats = &ran.oracles.chats;
        let turns = chats.iter().flat_map(|chat| &chat.turns);
        let took: Vec<f64> =
            turns.filter_map(|turn| turn.took().map(|took| took.as_secs_f64() * 1e3)).collect();
        let (turns, seconds) = (took.len() as u64, ran.took.as_secs_f64());
        let examples = findings.broken().into_iter().flat_map(|(word, found)| {
            found.iter().take(EXAMPLES).map(move |what| format!("{word}: {what}"))
        });
        Self {
            seed,
            sessions: chats.len(),
            turns,
            turns_per_second: turns as f64 / seconds.max(f64::EPSILON),
            seconds,
            latency_ms: Spread::of(took),
            endings: findings.endings.clone(),
            calls: findings.calls.clone(),
            refused: chats.iter().map(|chat| chat.refused).sum(),
            kills: ran.oracles.kills.len(),
            cut: findings.cut,
            heap: Heap::default(),
            lost: findings.lost.len(),
            doubled: findings.doubled.len(),
            unasked: findings.unasked.len(),
            misreported: findings.misreported.len(),
            disturbed: findings.disturbed.len(),
            examples: examples.collect(),
        }
    }

    /// What stays behind is known last.
    pub(crate) fn set_heap(&mut self, heap: Heap) {
        self.heap = heap;
    }

    /// Says in one sentence what is wrong, with the seed that shows it again.
    pub(crate) fn complaint(&self) -> Option<String> {
        let counts = self.broken();
        let leak = self.heap.leak();
        if counts.iter().all(|(_, count)| *count == 0) && leak.is_none() {
            return None;
        }
        let found = counts.iter().filter(|(_, count)| *count > 0);
        let mut words: Vec<String> = found.map(|(word, count)| format!("{count} {word}")).collect();
        words.extend(leak);
        Some(format!("seed {} broke the promise: {}", self.seed, words.join(", ")))
    }

    /// What was found, some of each kind.
    pub(crate) fn examples(&self) -> &[String] {
        &self.examples
    }

    const fn broken(&self) -> [(&'static str, usize); 5] {
        [
            ("lost", self.lost),
            ("doubled", self.doubled),
            ("unasked", self.unasked),
            ("misreported", self.misreported),
            ("disturbed", self.disturbed),
        ]
    }
}

impl Heap {
    /// What stays behind that was not there before, if it is more than it may be.
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
        let counted = |counts: Vec<(&str, u64)>| {
            let words = counts.into_iter().map(|(word, count)| format!("{word} {count}"));
            words.collect::<Vec<_>>().join(", ")
        };
        let mib = |bytes: usize| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        row("seed", self.seed.to_string())?;
        row("sessions", self.sessions.to_string())?;
        let each = format!(
            "{} in {:.1} s, {:.0} a second",
            self.turns, self.seconds, self.turns_per_second
        );
        row("turns", each)?;
        row(
            "endings",
            counted(self.endings.iter().map(|(word, count)| (*word, *count)).collect()),
        )?;
        row("calls", counted(self.calls.iter().map(|(word, count)| (&**word, *count)).collect()))?;
        let Spread { p50, p90, p99, max } = &self.latency_ms;
        row(
            "a turn took",
            format!("{p50:.1} ms median, {p90:.1} p90, {p99:.1} p99, {max:.1} at most"),
        )?;
        row("tried again", self.refused.to_string())?;
        row("shared kills", format!("{}, which cut off {} turns", self.kills, self.cut))?;
        let heap = &self.heap;
        let before =
            heap.before_bytes.map_or(String::new(), |before| format!(", {} before", mib(before)));
        row(
            "heap",
            format!("{} at most, {} after{before}", mib(heap.peak_bytes), mib(heap.after_bytes)),
        )?;
        for (word, count) in self.broken() {
            row(word, count.to_string())?;
        }
        Ok(())
    }
}
