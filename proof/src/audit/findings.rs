//! The findings of an audit, by the kind of damage.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::named::named;

named! {
    /// A kind of findings.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Counter {
        /// An acknowledged fact is missing.
        Lost = "lost",
        /// An effect or a fact exists more than once.
        Doubled = "doubled",
        /// An effect without a person's approval.
        Unasked = "unasked",
        /// The ledger or an event differs from the facts.
        Misreported = "misreported",
        /// The database, or the chain of its ledger, is broken.
        Damaged = "damaged",
        /// A call or a turn stays open after everything came to rest.
        Stuck = "stuck",
        /// What befell another session changed a turn.
        Disturbed = "disturbed",
        /// A user reached what belongs to another.
        Exposed = "exposed",
    }
}

/// The findings, one sentence each without repeats. A kept promise gives none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings(BTreeMap<Counter, BTreeSet<String>>);

impl Findings {
    /// Adds a finding.
    pub fn find(&mut self, counter: Counter, what: String) {
        self.0.entry(counter).or_default().insert(what);
    }

    /// Adds the findings of another audit.
    pub fn add(&mut self, other: Self) {
        for (counter, all) in other.0 {
            self.0.entry(counter).or_default().extend(all);
        }
    }

    /// Returns the findings of one kind.
    pub fn of(&self, counter: Counter) -> impl ExactSizeIterator<Item = &str> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.0.get(&counter).unwrap_or(&NONE).iter().map(String::as_str)
    }

    /// Returns the kinds that have findings.
    #[must_use]
    pub fn raised(&self) -> BTreeSet<Counter> {
        self.0.keys().copied().collect()
    }

    /// Tells whether there is no finding.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.0.is_empty()
    }
}
