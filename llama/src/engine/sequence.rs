//! A sequence of the context, and sets of them.

use std::collections::BTreeSet;

/// A sequence of the context. Only this module makes one, so llama.cpp can keep all of them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Sequence(u8);

impl Sequence {
    /// The most sequences that llama.cpp can keep apart.
    pub(super) const MOST: usize = 256;

    /// Returns the sequence with this number. Returns `None` if llama.cpp cannot have it.
    pub(super) fn new(number: usize) -> Option<Self> {
        u8::try_from(number).ok().map(Self)
    }

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the number for llama.cpp.
    pub(super) const fn id(self) -> i32 {
        self.0 as i32
    }

    /// Returns the number for the calls of llama.cpp's wrapper that take no sign.
    pub(super) const fn number(self) -> u32 {
        self.0 as u32
    }
}

/// A set of sequences.
pub(super) type Sequences = BTreeSet<Sequence>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sequence_lies_outside_of_what_llama_cpp_can_keep_apart() {
        assert_eq!(Sequence::new(255).map(Sequence::index), Some(255));
        assert_eq!(Sequence::new(256), None);
    }
}
