//! What a server wants otherwise than others do. It is learned from the server's refusals, and kept
//! after an answer came.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A way in which a server differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quirk {
    /// It knows only the older name of the bound on tokens.
    OldBound = 1,
    /// It does not know the options of streams.
    NoStreamOptions = 2,
    /// It wants a thought with each message of a model, even of a model that had none.
    EmptyThoughts = 4,
    /// It wants a signature with each call, even of a model that had none.
    EmptySignatures = 8,
    /// Its prompts open the thought, so that the text begins within it.
    OpenedThoughts = 16,
}

/// A set of quirks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Quirks(u8);

impl Quirks {
    pub(super) const fn has(self, quirk: Quirk) -> bool {
        self.0 & quirk as u8 != 0
    }

    #[must_use]
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether the other has all of these.
    pub(super) const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}

impl FromIterator<Quirk> for Quirks {
    fn from_iter<I: IntoIterator<Item = Quirk>>(quirks: I) -> Self {
        Self(quirks.into_iter().fold(0, |all, quirk| all | quirk as u8))
    }
}

/// The quirks that a server is known to have.
#[derive(Debug, Default)]
pub(super) struct KnownQuirks(AtomicU8);

impl KnownQuirks {
    pub(super) fn get(&self) -> Quirks {
        Quirks(self.0.load(Relaxed))
    }

    pub(super) fn add(&self, quirks: Quirks) {
        self.0.fetch_or(quirks.0, Relaxed);
    }
}
