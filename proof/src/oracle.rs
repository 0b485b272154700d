//! The oracle: what was acknowledged, written down outside of the process that acknowledged it.

use std::collections::{BTreeMap, BTreeSet};

use madang::{
    TurnId,
    ledger::{CallRecord, Effect},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What somebody who uses the runtime says, one line each, as soon as they know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub enum Line {
    /// The runtime runs.
    Ready,
    /// The user's text is stored.
    Began {
        /// The turn.
        turn: TurnId,
    },
    /// A person is about to say yes.
    Approves {
        /// The call's token.
        token: String,
    },
    /// The outcome of a call was heard.
    Heard(Heard),
    /// A turn has ended.
    Ended {
        /// The turn.
        turn: TurnId,
    },
    /// Every session has slept or ended, and the runtime was shut down.
    Done,
}

/// What was heard of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// The call's token.
    pub token: String,
    /// The tool.
    pub tool: String,
    /// `ok`, the code of an error, the reason of a cancellation, or `discarded`.
    pub outcome: String,
    /// What it did to the world.
    pub effect: Effect,
}

impl Heard {
    /// What the record of a call says; `None` for a call without a token.
    #[must_use]
    pub fn of(record: &CallRecord) -> Option<Self> {
        let outcome = match &record.outcome {
            None => "discarded".to_owned(),
            Some(outcome) if outcome.is_ok() => "ok".to_owned(),
            Some(outcome) => outcome.code().unwrap_or("cancelled").to_owned(),
        };
        Some(Self {
            token: token_of(&record.arguments)?,
            tool: record.name.to_string(),
            outcome,
            effect: record.effect,
        })
    }
}

/// The token among the arguments of a call, or in their raw text where they were never validated.
pub(crate) fn token_of(arguments: &Value) -> Option<String> {
    let token = |arguments: &Value| Some(arguments.get("token")?.as_str()?.to_owned());
    token(arguments).or_else(|| token(&serde_json::from_str(arguments.as_str()?).ok()?))
}

/// Everything that was acknowledged about one database.
#[derive(Debug, Clone, Default)]
pub struct Oracle {
    pub(crate) began: BTreeSet<String>,
    pub(crate) ended: BTreeSet<String>,
    pub(crate) approved: BTreeSet<String>,
    pub(crate) heard: BTreeMap<String, Vec<Heard>>,
}

impl Oracle {
    /// Writes a line down.
    pub fn note(&mut self, line: Line) {
        match line {
            Line::Ready | Line::Done => {}
            Line::Began { turn } => {
                self.began.insert(turn.to_string());
            }
            Line::Ended { turn } => {
                self.ended.insert(turn.to_string());
            }
            Line::Approves { token } => {
                self.approved.insert(token);
            }
            Line::Heard(heard) => self.heard.entry(heard.token.clone()).or_default().push(heard),
        }
    }

    /// Outcomes in it that say that something took effect.
    #[must_use]
    pub fn acknowledged(&self) -> usize {
        let took_effect = |heard: &&Heard| heard.effect == Effect::Committed;
        self.heard.values().flatten().filter(took_effect).count()
    }
}
