//! Compares the driver's oracle with the ledger and the table of effects, call by call.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::RangeInclusive,
};

use madang::{
    CallId,
    event::TurnEnding,
    ledger::{CallResult, Effect, LedgerRow},
};
use tokio::time::Instant;

use super::{
    oracle::{ChatOracle, Told, TurnNote, Word},
    snapshot::Snapshot,
    world::Handled,
};

/// What the driver knows.
#[derive(Debug, Default)]
pub(crate) struct Oracles {
    pub(crate) chats: Vec<ChatOracle>,
    pub(crate) handled: HashMap<CallId, Handled>,
    /// While a shared actor was gone.
    pub(crate) kills: Vec<RangeInclusive<Instant>>,
    /// Turns that every chat was to have.
    pub(crate) turns: usize,
}

/// What was found. Each list is empty where the promise holds.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) lost: Vec<String>,
    pub(crate) doubled: Vec<String>,
    pub(crate) unasked: Vec<String>,
    pub(crate) misreported: Vec<String>,
    pub(crate) disturbed: Vec<String>,
    /// Turns that another's failure changed while a shared actor was killed.
    pub(crate) cut: u64,
    pub(crate) calls: BTreeMap<String, u64>,
    pub(crate) endings: BTreeMap<&'static str, u64>,
}

/// Compares.
pub(crate) fn audit(oracles: &Oracles, snapshot: &Snapshot) -> Findings {
    let mut findings = Findings::default();
    findings.misreported.extend(snapshot.damaged.iter().cloned());
    let rows: HashMap<CallId, &LedgerRow> =
        snapshot.ledger.iter().map(|row| (row.call, row)).collect();
    for row in &snapshot.ledger {
        let handled = oracles.handled.get(&row.call).cloned().unwrap_or_default();
        findings.call(row, &handled, snapshot.effects_of(row.call));
    }
    let recorded: HashSet<_> = snapshot.ledger.iter().map(|row| row.call.to_string()).collect();
    for (call, handled) in
        oracles.handled.iter().filter(|(call, _)| !recorded.contains(&call.to_string()))
    {
        findings.lost.push(format!("call {call} was run and is not in the ledger: {handled:?}"));
    }
    for call in snapshot.effects.keys().filter(|call| !recorded.contains(*call)) {
        findings.lost.push(format!("call {call} took effect and is not in the ledger"));
    }
    let mut told = HashMap::new();
    for chat in &oracles.chats {
        findings.chat(chat, oracles);
        for outcome in &chat.told {
            *told.entry(outcome.call).or_insert(0_u32) += 1;
            findings.told(outcome, rows.get(&outcome.call).copied());
        }
    }
    for (call, times) in told {
        if times > 1 {
            findings.misreported.push(format!("the end of call {call} was told {times} times"));
        }
    }
    findings.unasked(oracles);
    findings
}

impl Findings {
    /// Lists by the names of what is promised.
    pub(crate) fn broken(&self) -> [(&'static str, &[String]); 5] {
        [
            ("lost", &self.lost),
            ("doubled", &self.doubled),
            ("unasked", &self.unasked),
            ("misreported", &self.misreported),
            ("disturbed", &self.disturbed),
        ]
    }

    /// The ledger says of a call what the tables have.
    fn call(&mut self, row: &LedgerRow, handled: &Handled, there: u32) {
        let call = row.call;
        let (Some(effect), Some(outcome)) = (row.effect, &row.outcome) else {
            self.lost.push(format!("call {call} was left {}", row.state.name()));
            return;
        };
        let outcome = Word::of(outcome);
        *self.calls.entry(outcome.name().to_owned()).or_default() += 1;
        let done = there + handled.letters;
        if handled.entered > 1 || done > 1 {
            self.doubled.push(format!(
                "call {call} was run {} times and took effect {done} times",
                handled.entered
            ));
        }
        let acts = handled.is_transactional || handled.letters > 0;
        match effect {
            Effect::Committed if done == 0 && handled.is_transactional => {
                self.lost
                    .push(format!("call {call} took effect, says the ledger; nothing is there"));
            }
            Effect::None if done > 0 => {
                self.misreported.push(format!("call {call} did nothing, says the ledger; it did"));
            }
            Effect::Unknown if handled.is_transactional => {
                self.misreported
                    .push(format!("the ledger says that the effect of call {call} is unknown"));
            }
            Effect::Committed | Effect::None | Effect::Unknown => {}
        }
        let is_true = outcome != Word::Ok || handled.succeeded;
        if !is_true || acts && handled.entered == 0 {
            self.misreported
                .push(format!("call {call} is {}; its handler says otherwise", outcome.name()));
        }
    }

    /// What was told of a call is what the ledger says.
    fn told(&mut self, told: &Told, row: Option<&LedgerRow>) {
        let call = told.call;
        let Some(row) = row else {
            self.lost.push(format!("the end of call {call} was told and is not in the ledger"));
            return;
        };
        let is_same_outcome = match &told.outcome {
            None => row.result == Some(CallResult::Discarded),
            Some(word) => row.outcome.as_ref().is_some_and(|outcome| Word::of(outcome) == *word),
        };
        // The truth about an unknown effect may have come later.
        let is_same_effect = told.effect == Effect::Unknown || row.effect == Some(told.effect);
        if !is_same_outcome || !is_same_effect {
            self.misreported.push(format!(
                "call {call} was told as {:?} with effect {:?}; the ledger says {:?} with effect {:?}",
                told.outcome, told.effect, row.outcome, row.effect
            ));
        }
    }

    fn chat(&mut self, chat: &ChatOracle, oracles: &Oracles) {
        if chat.counted_twice > 0 {
            let (name, times) = (&chat.session, chat.counted_twice);
            self.doubled
                .push(format!("{name}: an answer or a submit counted twice, {times} times"));
        }
        if chat.turns.len() < oracles.turns {
            self.lost.push(format!("{}: it could not be opened", chat.session));
        }
        for turn in &chat.turns {
            self.turn(chat, turn, &oracles.kills);
        }
    }

    fn turn(&mut self, chat: &ChatOracle, turn: &TurnNote, kills: &[RangeInclusive<Instant>]) {
        let name = &chat.session;
        let Some(end) = turn.ended else {
            self.lost.push(format!("{name}: turn {:?} never ended", turn.id));
            return;
        };
        *self.endings.entry(name_of(end.ending)).or_default() += 1;
        if !turn.is_disturbed() {
            return;
        }
        if kills.iter().any(|gone| *gone.start() <= end.at && turn.began <= *gone.end()) {
            self.cut += 1;
        } else {
            self.disturbed.push(format!(
                "{name}: a turn in which nothing went wrong ended as {} with {:?}, not {:?}",
                name_of(end.ending),
                turn.came,
                turn.expected
            ));
        }
    }

    /// Whatever must be asked about ran after a yes only.
    fn unasked(&mut self, oracles: &Oracles) {
        let must_be = |handled: &Handled| handled.must_be_asked && handled.entered > 0;
        let approved: HashSet<_> = oracles.chats.iter().flat_map(|chat| &chat.approved).collect();
        for (call, _) in oracles.handled.iter().filter(|(_, handled)| must_be(handled)) {
            if !approved.contains(call) {
                self.unasked.push(format!("call {call} ran without a yes"));
            }
        }
    }
}

pub(crate) const fn name_of(ending: TurnEnding) -> &'static str {
    match ending {
        TurnEnding::Answered => "answered",
        TurnEnding::Stopped => "stopped",
        TurnEnding::Failed => "failed",
        TurnEnding::Dismissed => "dismissed",
    }
}
