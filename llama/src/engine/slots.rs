//! Tracks the holders of a context's sequences, and which holder has rested longest.

use super::{scope::Owner, sequence::Sequence};

/// The use of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Use {
    Free,
    /// A completion runs on it.
    Runs,
    /// It holds a chat that rests.
    Rests {
        owner: Owner,
        since: u64,
    },
    /// It holds a beginning that several chats have in common.
    Common {
        since: u64,
    },
}

/// The holder of each sequence.
#[derive(Debug)]
pub(super) struct Slots {
    uses: Vec<Use>,
    /// Counts events, to find the chat that has rested longest.
    now: u64,
}

impl Slots {
    /// Creates this many sequences, and after them one more for copies, which no chat ever holds.
    pub(super) fn new(count: usize) -> (Self, Sequence) {
        let count = count.clamp(1, Sequence::MOST - 1);
        (Self { uses: vec![Use::Free; count], now: 0 }, sequence(count))
    }

    /// Returns all sequences.
    pub(super) fn all(&self) -> impl Iterator<Item = Sequence> + use<> {
        (0..self.uses.len()).map(sequence)
    }

    /// Takes a free sequence for a completion. Returns `None` if none is free.
    pub(super) fn take(&mut self) -> Option<Sequence> {
        let free = self.uses.iter().position(|held| *held == Use::Free)?;
        self.uses[free] = Use::Runs;
        Some(sequence(free))
    }

    /// Takes the sequence on which a chat rests.
    pub(super) fn wake(&mut self, sequence: Sequence) {
        self.uses[sequence.index()] = Use::Runs;
    }

    /// Finds the sequence of this resting chat.
    pub(super) fn find(&self, owner: &Owner) -> Option<Sequence> {
        self.uses
            .iter()
            .position(|held| matches!(held, Use::Rests { owner: of, .. } if of == owner))
            .map(sequence)
    }

    /// Lets the chat of an ended completion rest.
    pub(super) fn rest(&mut self, sequence: Sequence, owner: Owner) {
        self.now += 1;
        self.uses[sequence.index()] = Use::Rests { owner, since: self.now };
    }

    /// Marks a sequence as a common beginning.
    pub(super) fn keep_common(&mut self, sequence: Sequence) {
        self.now += 1;
        self.uses[sequence.index()] = Use::Common { since: self.now };
    }

    /// Notes that a prompt began with a sequence.
    pub(super) fn used(&mut self, sequence: Sequence) {
        self.now += 1;
        if let Use::Rests { since, .. } | Use::Common { since } = &mut self.uses[sequence.index()] {
            *since = self.now;
        }
    }

    pub(super) fn free(&mut self, sequence: Sequence) {
        self.uses[sequence.index()] = Use::Free;
    }

    pub(super) fn is_common(&self, sequence: Sequence) -> bool {
        matches!(self.uses[sequence.index()], Use::Common { .. })
    }

    /// Finds the chat that has rested longest.
    pub(super) fn longest_resting(&self) -> Option<(Sequence, Owner)> {
        let rests = self.uses.iter().enumerate().filter_map(|(at, held)| match held {
            Use::Rests { owner, since } => Some((*since, at, owner)),
            Use::Free | Use::Runs | Use::Common { .. } => None,
        });
        rests.min_by_key(|(since, ..)| *since).map(|(_, at, owner)| (sequence(at), owner.clone()))
    }

    /// Lists the sequences of resting chats.
    pub(super) fn resting(&self) -> impl Iterator<Item = Sequence> + '_ {
        let rests = |held: &Use| matches!(held, Use::Rests { .. });
        (0..self.uses.len()).filter(move |at| rests(&self.uses[*at])).map(sequence)
    }

    /// Counts the running completions.
    pub(super) fn running(&self) -> usize {
        self.uses.iter().filter(|held| **held == Use::Runs).count()
    }

    /// Counts the common beginnings.
    pub(super) fn commons(&self) -> usize {
        self.uses.iter().filter(|held| matches!(held, Use::Common { .. })).count()
    }

    /// Finds the common beginning that was unused for longest.
    pub(super) fn stalest_common(&self) -> Option<Sequence> {
        let commons = self.uses.iter().enumerate().filter_map(|(at, held)| match held {
            Use::Common { since } => Some((*since, at)),
            Use::Free | Use::Runs | Use::Rests { .. } => None,
        });
        commons.min().map(|(_, at)| sequence(at))
    }
}

fn sequence(at: usize) -> Sequence {
    Sequence::new(at).expect("no more are made than there can be")
}

#[cfg(test)]
mod tests {
    use super::{super::scope::chat as owner, *};

    #[test]
    fn a_session_finds_the_sequence_on_which_it_rests() {
        let (mut slots, scratch) = Slots::new(2);
        assert_eq!(scratch, sequence(2));
        let first = slots.take().unwrap();
        let second = slots.take().unwrap();
        assert_eq!((first, second, slots.take()), (sequence(0), sequence(1), None));
        slots.rest(first, owner("a"));
        assert_eq!(slots.find(&owner("a")), Some(first));
        slots.wake(first);
        assert_eq!(slots.find(&owner("a")), None);
        slots.free(second);
        assert_eq!(slots.take(), Some(second));
    }

    #[test]
    fn the_longest_resting_goes_first_and_use_counts_as_new() {
        let (mut slots, _) = Slots::new(4);
        let all: Vec<Sequence> = std::iter::from_fn(|| slots.take()).collect();
        slots.rest(all[0], owner("a"));
        slots.rest(all[1], owner("b"));
        slots.keep_common(all[2]);
        slots.keep_common(all[3]);
        slots.used(all[0]);
        slots.used(all[2]);
        assert_eq!(slots.longest_resting(), Some((all[1], owner("b"))));
        assert_eq!((slots.stalest_common(), slots.commons()), (Some(all[3]), 2));
        assert_eq!(slots.resting().collect::<Vec<_>>(), [all[0], all[1]]);
        assert!(slots.is_common(all[2]) && !slots.is_common(all[0]));
    }

    #[test]
    fn there_are_never_more_than_llama_cpp_can_keep_apart() {
        let (mut slots, scratch) = Slots::new(10_000);
        let taken = std::iter::from_fn(|| slots.take()).count();
        assert_eq!((taken, scratch.id()), (255, 255));
    }
}
