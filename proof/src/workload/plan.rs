//! Plans what the model of a proof asks for in one turn. The plan is the user's text, so a second
//! request, in this process or the next, gets the same answer.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{dice::Dice, named::named};

named! {
    /// An act of the tools or of the model.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Act {
        /// Writes two rows, without a question.
        Save = "save",
        /// Writes two rows. Destructive: a person is asked.
        Erase = "erase",
        /// Writes two rows and finds a rule broken.
        Breach = "breach",
        /// Writes two rows and panics.
        Panic = "panic",
        /// Sends a letter, which no transaction can take back.
        Mail = "mail",
        /// Does nothing.
        Look = "look",
        /// Takes a while, and writes two rows.
        SlowSave = "slow_save",
        /// Writes two rows, and ends the transaction that it was lent.
        SpoilingSave = "spoiling_save",
        /// Sends a letter later than it may.
        SlowMail = "slow_mail",
        /// Sends a letter and panics.
        PanickingMail = "panicking_mail",
        /// No tool has this name.
        Gone = "gone",
        /// Writes two rows and fails, and no rule says why.
        Fail = "fail",
        /// Writes two rows, and keeps the transaction for ever.
        Hang = "hang",
        /// The model answers, and calls nothing.
        Answer = "answer",
        /// The model fails.
        ModelFails = "model_fails",
        /// The model panics.
        ModelPanics = "model_panics",
    }
}

impl Act {
    /// The acts that a drawn plan has.
    pub const DRAWN: [Self; 6] =
        [Self::Save, Self::Erase, Self::Breach, Self::Panic, Self::Mail, Self::Look];

    /// Tells whether a tool does it.
    #[must_use]
    pub const fn has_tool(self) -> bool {
        !matches!(self, Self::Gone | Self::Answer | Self::ModelFails | Self::ModelPanics)
    }

    /// Tells whether it acts outside of the store.
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(self, Self::Mail | Self::SlowMail | Self::PanickingMail)
    }

    /// Tells whether it writes into the store, even if the write is undone.
    #[must_use]
    pub const fn writes(self) -> bool {
        self.has_tool() && !self.sends() && !matches!(self, Self::Look)
    }

    /// Tells whether nothing of it may stay.
    #[must_use]
    pub const fn leaves_nothing(self) -> bool {
        let is_undone = matches!(self, Self::Breach | Self::Panic | Self::Fail | Self::Hang);
        is_undone || matches!(self, Self::Look) || !self.has_tool()
    }

    /// Tells whether a person must approve it.
    #[must_use]
    pub const fn asks(self) -> bool {
        matches!(self, Self::Erase)
    }
}

/// A call that the model is to make. No two have the same token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The act of the call.
    pub act: Act,
    /// Its name in effects, ledger and oracle.
    pub token: String,
}

/// The calls of a turn: in each round some at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPlan(Vec<Vec<Step>>);

/// Rounds with calls; the answer is one more, and four are allowed.
const ROUNDS: u64 = 3;
/// Calls in one completion.
const CALLS: u64 = 3;

impl TurnPlan {
    /// Draws a plan of these acts whose tokens begin with a name.
    pub fn draw(dice: &mut Dice, name: &str, acts: &[Act]) -> Self {
        let mut count = 0;
        let mut step = |dice: &mut Dice| {
            count += 1;
            // Half of the calls simply write: those can be lost.
            let act = if dice.once_in(2) { Act::Save } else { *dice.pick(acts) };
            Step { act, token: format!("{name}.{count}") }
        };
        let rounds = 1 + dice.below(ROUNDS);
        Self((0..rounds).map(|_| (0..=dice.below(CALLS)).map(|_| step(dice)).collect()).collect())
    }

    /// Returns the calls to ask for after this many have returned: the rest of a round at most.
    #[must_use]
    pub fn after(&self, ended: usize) -> &[Step] {
        let mut before = 0;
        for round in &self.0 {
            if ended < before + round.len() {
                return &round[ended - before..];
            }
            before += round.len();
        }
        &[]
    }

    /// Returns all calls in order.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.0.iter().flatten()
    }

    /// Reads a plan from the user's text.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let step = |word: &str| {
            let (tool, token) = word.split_once(':')?;
            Some(Step { act: Act::named(tool)?, token: token.to_owned() })
        };
        let round = |line: &str| line.split(' ').map(step).collect();
        text.lines().map(round).collect::<Option<_>>().map(Self)
    }
}

/// Writes a line for each round, with a word for each call.
impl fmt::Display for TurnPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |step: &Step| format!("{}:{}", step.act.name(), step.token);
        let line = |round: &Vec<Step>| round.iter().map(word).collect::<Vec<_>>().join(" ");
        f.write_str(&self.0.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}
