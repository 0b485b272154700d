//! The figures of a run under stress.

use std::{collections::BTreeMap, time::Duration};

use madang::{
    TurnId,
    event::{EventKind, TurnEnding},
    tool::{CancelReason, ToolOutcome},
};

use super::{
    Gone, Ran,
    plan::{Came, Expected},
};
use crate::{
    audit::{Counter, Findings},
    oracle::{Began, Oracle},
};

/// The figures of a run under stress.
#[derive(Debug, Clone, Default)]
pub struct StressFigures {
    /// The time from the first to the last turn.
    pub took: Duration,
    /// The time from the submit to the end of each turn that ended.
    pub turns: Vec<Duration>,
    /// The endings of turns.
    pub endings: BTreeMap<&'static str, u64>,
    /// The ends of calls: `ok`, the code of an error, or the reason of a cancellation.
    pub calls: BTreeMap<String, u64>,
    /// Submits that were refused and tried again.
    pub refused: u64,
    /// Kills of actors that all sessions share.
    pub kills: usize,
    /// Turns in which nothing else went wrong and that did not end as planned beside such a kill.
    pub cut: u64,
    /// The broken promises.
    pub findings: Findings,
}

impl Ran {
    /// Counts the events, and finds turns that another's failure has changed.
    pub(super) fn figures(self, findings: Findings) -> StressFigures {
        let Self { oracle, expected, times, kills, took, .. } = self;
        let turns = times.turns.iter().flatten();
        let turns = turns.filter_map(|(began, ended)| Some((*ended)? - *began)).collect();
        let refused = times.refused;
        let kills_count = kills.len();
        let mut figures = StressFigures {
            took,
            turns,
            refused,
            kills: kills_count,
            findings,
            ..StressFigures::default()
        };
        let heard = figures.count(&oracle);
        let mut asked_before = vec![0; expected.len()];
        for asked in &oracle.asks {
            let index = asked_before[asked.session];
            asked_before[asked.session] += 1;
            let Some(Began::Yes(turn)) = asked.began else { continue };
            let Some(expected) = expected[asked.session].get(index) else { continue };
            let (ending, came) = heard.get(&turn).copied().unwrap_or_default();
            if !expected.is_disturbed(ending, came) {
                continue;
            }
            if is_beside(times.turns[asked.session][index], &kills) {
                figures.cut += 1;
            } else {
                let what = format!(
                    "turn {turn} of {:?} ended as {ending:?} with {came:?}, not {expected:?}",
                    asked.text
                );
                figures.findings.find(Counter::Disturbed, what);
            }
        }
        figures
    }
}

impl StressFigures {
    /// Counts endings and outcomes, and gives those of each turn.
    fn count(&mut self, oracle: &Oracle) -> BTreeMap<TurnId, (Option<TurnEnding>, Came)> {
        let mut heard = BTreeMap::<TurnId, (Option<TurnEnding>, Came)>::new();
        for (_, event) in oracle.heard.values().flatten() {
            let (end, came) = heard.entry(event.turn).or_default();
            if let EventKind::ToolCallEnded { record } = &event.kind {
                let (count, word) = match &record.outcome {
                    Some(ToolOutcome::Ok(_)) => (&mut came.ok, "ok".to_owned()),
                    Some(ToolOutcome::Err(error)) => (&mut came.other, error.code.to_string()),
                    Some(ToolOutcome::Cancelled(end)) => {
                        let is_denied = end.reason == CancelReason::Denied;
                        let count = if is_denied { &mut came.denied } else { &mut came.other };
                        (count, end.reason.name().to_owned())
                    }
                    None => (&mut came.other, "discarded".to_owned()),
                };
                *count += 1;
                *self.calls.entry(word).or_default() += 1;
            } else if let EventKind::TurnEnded { ending, .. } = &event.kind {
                *end = Some(*ending);
                *self.endings.entry(name_of(*ending)).or_default() += 1;
            }
        }
        heard
    }
}

impl Expected {
    fn is_disturbed(self, ending: Option<TurnEnding>, came: Came) -> bool {
        match self {
            Self::Whatever => false,
            Self::Answer(planned) => ending != Some(TurnEnding::Answered) || came != planned,
            Self::Undisturbed => {
                !matches!(ending, Some(TurnEnding::Answered | TurnEnding::Stopped))
            }
        }
    }
}

/// Tells whether a turn ran while an actor was gone that all sessions share.
fn is_beside((began, ended): Gone, kills: &[Gone]) -> bool {
    let meets = |(from, to): &Gone| {
        ended.is_none_or(|ended| *from <= ended) && to.is_none_or(|to| began <= to)
    };
    kills.iter().any(meets)
}

const fn name_of(ending: TurnEnding) -> &'static str {
    match ending {
        TurnEnding::Answered => "answered",
        TurnEnding::Stopped => "stopped",
        TurnEnding::Failed => "failed",
        TurnEnding::Dismissed => "dismissed",
    }
}
