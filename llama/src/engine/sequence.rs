//! A sequence of the context, and sets of them.

/// A sequence of the context. Only this module makes them, so none lies outside of what llama.cpp can keep apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Sequence(u8);

impl Sequence {
    /// The most sequences that llama.cpp can keep apart.
    pub(super) const MOST: usize = 256;

    /// Returns the sequence with this number, if it can exist.
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

    /// Returns the number for llama.cpp's wrapper where it wants no sign.
    pub(super) const fn number(self) -> u32 {
        self.0 as u32
    }
}

/// A set of sequences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sequences([u64; Sequence::MOST / 64]);

impl Sequences {
    pub(super) fn of(sequence: Sequence) -> Self {
        let mut only = Self::default();
        only.insert(sequence);
        only
    }

    pub(super) const fn insert(&mut self, sequence: Sequence) {
        self.0[sequence.index() / 64] |= 1 << (sequence.index() % 64);
    }

    pub(super) const fn remove(&mut self, sequence: Sequence) {
        self.0[sequence.index() / 64] &= !(1 << (sequence.index() % 64));
    }

    pub(super) const fn contains(self, sequence: Sequence) -> bool {
        self.0[sequence.index() / 64] >> (sequence.index() % 64) & 1 == 1
    }

    pub(super) fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Tells whether both contain a common sequence.
    pub(super) fn meet(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(one, other)| one & other != 0)
    }

    /// Iterates in the order of their numbers.
    pub(super) fn iter(self) -> impl Iterator<Item = Sequence> {
        self.0.into_iter().enumerate().flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros() as usize;
                bits &= bits.checked_sub(1)?;
                Sequence::new(word * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_back_what_was_put_in() {
        let mut set = Sequences::default();
        for number in [255, 0, 64, 63, 200] {
            set.insert(Sequence::new(number).unwrap());
        }
        set.remove(Sequence::new(64).unwrap());
        let numbers: Vec<usize> = set.iter().map(Sequence::index).collect();
        assert_eq!(numbers, [0, 63, 200, 255]);
        assert!(!set.is_empty() && Sequences::default().is_empty());
        assert_eq!(Sequence::new(256), None);
    }
}
