//! What an audit finds, by what is broken.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A kind of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Acknowledged, and not there.
    Lost,
    /// There more than once.
    Doubled,
    /// Done, and nobody said yes.
    Unasked,
    /// The ledger, or what was heard, says otherwise than what is there.
    Misreported,
    /// The database itself, or the chain of its ledger, is broken.
    Damaged,
    /// Left open although everybody went on.
    Stuck,
}

impl Counter {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Lost, Self::Doubled, Self::Unasked, Self::Misreported, Self::Damaged, Self::Stuck];

    /// Its name in `docs/proof.md` and in figures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Doubled => "doubled",
            Self::Unasked => "unasked",
            Self::Misreported => "misreported",
            Self::Damaged => "damaged",
            Self::Stuck => "stuck",
        }
    }
}

/// What is wrong, one sentence each, however often it was found. Empty is what is promised.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings(BTreeMap<Counter, BTreeSet<String>>);

impl Findings {
    /// Adds a finding.
    pub fn find(&mut self, counter: Counter, what: String) {
        self.0.entry(counter).or_default().insert(what);
    }

    /// Adds what was found elsewhere.
    pub fn add(&mut self, other: Self) {
        for (counter, all) in other.0 {
            self.0.entry(counter).or_default().extend(all);
        }
    }

    /// Gives what was found of one kind.
    pub fn of(&self, counter: Counter) -> impl ExactSizeIterator<Item = &str> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.0.get(&counter).unwrap_or(&NONE).iter().map(String::as_str)
    }

    /// Gives the kinds of which something was found.
    #[must_use]
    pub fn raised(&self) -> BTreeSet<Counter> {
        self.0.keys().copied().collect()
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.0.is_empty()
    }
}
