//! Keeps the context, and knows where each chat rests: in a sequence, in memory, or nowhere.
//!
//! - `assign` gives a sequence to a completion: its session's own, or a free one. The completion
//!   begins with the longest part that it may share, or with the chat's state from memory if that
//!   is longer.
//! - `rest` lets an answered chat keep its sequence. If resting chats hold too much, `resting`
//!   moves the chat that has rested longest to memory, without the part that others share.
//! - `make_room` frees tokens of the context, first those of resting chats and then those of common
//!   beginnings.
//!
//! Invariants:
//! - `make_room` never takes the sequence of a running completion. If there is no room, the engine
//!   decides which completion gives up its sequence.
//! - A chat rests in one tier at a time, and memory holds at most `swapped_bytes`.
//! - A chat that cannot be restored is read again. Nothing of the attempt stays in its sequence.

use llama_cpp_2::context::LlamaContext;

mod resting;

use super::{
    kv_context::KvContext,
    load::Keeps,
    prefixes,
    scope::{Held, Owner},
    sequence::Sequence,
    slots::Slots,
    states::{State, States},
    stats::EngineStats,
    swapped::Swapped,
};

/// The context and the content of its sequences.
///
/// An answered chat rests in its sequence. If resting chats hold more than `resting_tokens`, or a
/// sequence is needed, the chat that has rested longest moves to memory, without the part that
/// others share. Chats are forgotten from memory in the same order. A common beginning of several
/// chats stays in a sequence of its own.
pub(super) struct Cache<'m> {
    pub(super) kv: KvContext<'m>,
    slots: Slots,
    swapped: Swapped<Held, State>,
    states: States,
    resting_tokens: usize,
}

/// The bounds of the tiers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tiers {
    /// Sequences of the context.
    pub(super) sequences: usize,
    /// Tokens of chats that rest in the context.
    pub(super) resting_tokens: usize,
    /// Bytes of chats that rest in memory.
    pub(super) swapped_bytes: usize,
}

/// The sequence that a completion was given, and what it holds of its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Assigned {
    pub(super) sequence: Sequence,
    /// The tokens of its prompt that the sequence holds already.
    pub(super) known: usize,
    /// How many of these tokens this chat itself had read. Only this number may be reported, since
    /// the others depend on what other users asked.
    pub(super) own: usize,
}

/// The least tokens for which copying from memory pays. Fewer are read again as fast.
const RESTORE_GAIN: usize = 16;

impl<'m> Cache<'m> {
    pub(super) fn new(context: LlamaContext<'m>, keeps: Keeps, tiers: Tiers) -> Self {
        let (slots, scratch) = Slots::new(tiers.sequences);
        Self {
            kv: KvContext::new(context, scratch, keeps),
            slots,
            swapped: Swapped::new(tiers.swapped_bytes),
            states: States::new(tiers.swapped_bytes),
            resting_tokens: tiers.resting_tokens,
        }
    }

    /// Returns whether others may begin with a part of a sequence.
    pub(super) fn keeps_parts(&self) -> bool {
        self.kv.keeps() != Keeps::State
    }

    /// Counts the tokens of this prompt that would be known if its session got a sequence now.
    pub(super) fn known(&self, prompt: &[Held]) -> usize {
        self.kv.best(readable(prompt)).map_or(0, |known| known.tokens)
    }

    /// Assigns a chat a sequence with as much of its prompt as it may share. Returns `None` if all
    /// sequences run.
    pub(super) fn assign(
        &mut self,
        owner: &Owner,
        prompt: &[Held],
        stats: &mut EngineStats,
    ) -> Option<Assigned> {
        let rests = self.slots.find(owner);
        let readable = readable(prompt);
        let mut own = rests.map_or(0, |rests| self.kv.held().common(rests, readable));
        let sequence = match rests {
            Some(own) => {
                self.slots.wake(own);
                own
            }
            None => self.take_sequence(stats)?,
        };
        let best = self.kv.best(readable);
        let shared = best.map_or(0, |best| best.tokens);
        let restored = self.swapped.take(owner).and_then(|chat| {
            let common = prefixes::common(&chat.tokens, readable);
            own = own.max(common);
            let is_of_use = self.kv.keeps() == Keeps::All || common == chat.tokens.len();
            let is_longer = chat.from <= shared && common >= shared + RESTORE_GAIN && is_of_use;
            let restored =
                is_longer.then(|| self.kv.restore(sequence, best, &chat, common)).flatten();
            self.states.give_back(chat.state);
            restored
        });
        stats.restored += u64::from(restored.is_some());
        let known = restored.unwrap_or_else(|| self.begin_with_best(sequence, readable));
        Some(Assigned { sequence, known, own: own.min(known) })
    }

    fn begin_with_best(&mut self, sequence: Sequence, readable: &[Held]) -> usize {
        let Some(best) = self.kv.best(readable) else {
            // Its own content is of no use.
            self.kv.empty(sequence);
            return 0;
        };
        self.slots.used(best.by);
        self.kv.begin_with(sequence, best, readable)
    }

    fn take_sequence(&mut self, stats: &mut EngineStats) -> Option<Sequence> {
        loop {
            if let Some(free) = self.slots.take() {
                return Some(free);
            }
            if !self.make_room(stats) {
                return None;
            }
        }
    }

    /// Returns the sequence that no chat holds.
    pub(super) const fn scratch(&self) -> Sequence {
        self.kv.scratch()
    }

    /// Returns all sequences.
    pub(super) fn sequences(&self) -> impl Iterator<Item = Sequence> + use<> {
        self.slots.all()
    }

    /// Frees a sequence that no chat needs.
    pub(super) fn free(&mut self, sequence: Sequence) {
        self.kv.empty(sequence);
        self.slots.free(sequence);
    }

    /// Forgets the content of the context after a failure.
    pub(super) fn reset(&mut self) {
        self.kv.empty_all();
        for sequence in self.slots.all() {
            self.slots.free(sequence);
        }
    }

    pub(super) fn tell(&self, stats: &mut EngineStats) {
        stats.resting_sessions = self.slots.resting().count();
        stats.common_beginnings = self.slots.commons();
        stats.swapped_sessions = self.swapped.len();
        stats.swapped_bytes = self.swapped.bytes();
    }
}

/// Leaves out the last token of a prompt, which is always read, because its logits are not kept.
pub(super) fn readable(prompt: &[Held]) -> &[Held] {
    prompt.split_last().map_or(prompt, |(_, before)| before)
}
