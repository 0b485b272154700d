//! The context, and where each chat rests in it: in a sequence, in memory, or nowhere.

use llama_cpp_2::{DecodeError, context::LlamaContext, llama_batch::LlamaBatch, token::LlamaToken};
use madang_actors::protocol::SessionId;
use tracing::debug;

mod resting;

use super::{
    load::Keeps,
    parked::{Chat, Parked},
    prefixes::{self, Known, Prefixes},
    sequence::Sequence,
    slots::Slots,
    states::{State, States},
    stats::EngineStats,
};

/// The context with what its sequences hold.
///
/// A chat that was just answered rests in its sequence. As soon as those that rest hold more than `resting_tokens`, or a
/// sequence or its room is needed, the one that has rested longest moves to memory, with what it shares with nobody; and
/// from there it is forgotten. What several begin with stays behind in a sequence of its own.
pub(super) struct Cache<'m> {
    context: LlamaContext<'m>,
    slots: Slots,
    /// For copies on their way; nobody's.
    scratch: Sequence,
    held: Prefixes<LlamaToken>,
    parked: Parked<LlamaToken, State>,
    states: States,
    keeps: Keeps,
    resting_tokens: usize,
}

/// How much the tiers may hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tiers {
    /// Sequences of the context.
    pub(super) sequences: usize,
    /// Tokens of chats that rest in the context.
    pub(super) resting_tokens: usize,
    /// Bytes of chats that rest in memory.
    pub(super) parked_bytes: usize,
}

/// What is in memory is worth copying from so many tokens: less is read again as fast.
const RESTORE_GAIN: usize = 16;

impl<'m> Cache<'m> {
    pub(super) fn new(context: LlamaContext<'m>, keeps: Keeps, tiers: Tiers) -> Self {
        let (slots, scratch) = Slots::new(tiers.sequences);
        Self {
            context,
            slots,
            scratch,
            held: Prefixes::new(),
            parked: Parked::new(tiers.parked_bytes),
            states: States::new(tiers.parked_bytes),
            keeps,
            resting_tokens: tiers.resting_tokens,
        }
    }

    /// Whether others may begin with a part of what a sequence has read.
    pub(super) fn keeps_parts(&self) -> bool {
        self.keeps != Keeps::State
    }

    /// Whether the context holds a sequence from its first token on: only then can it be cut, and go on from there. Where
    /// it does not, what lay before a sliding window is gone, or all was summed up, and it goes on from its end only.
    /// llama.cpp leaves no hole behind the first; nor may what is joined here, for a hole would not be seen.
    fn is_complete(&self, sequence: Sequence) -> bool {
        self.begins_at(sequence) == Some(0)
    }

    /// The first place of a sequence that the context holds.
    fn begins_at(&self, sequence: Sequence) -> Option<usize> {
        usize::try_from(self.context.kv_cache_seq_pos_min(sequence.id())).ok()
    }

    /// How many tokens of this prompt would be known if its session got a place now.
    pub(super) fn known(&self, prompt: &[LlamaToken]) -> usize {
        self.best(prompt).map_or(0, |known| known.tokens)
    }

    fn best(&self, prompt: &[LlamaToken]) -> Option<Known> {
        let part = self.held.longest(readable(prompt), |by| self.is_complete(by));
        let whole = self.held.longest_whole(readable(prompt));
        part.into_iter().chain(whole).max_by_key(|known| known.tokens)
    }

    /// Gives a session a sequence that holds as much of its prompt as is known anywhere, and how much that is. `None` if
    /// all sequences run.
    pub(super) fn place(
        &mut self,
        session: &SessionId,
        prompt: &[LlamaToken],
        stats: &mut EngineStats,
    ) -> Option<(Sequence, usize)> {
        let own = self.slots.of(session);
        let sequence = match own {
            Some(own) => {
                self.slots.wake(own);
                own
            }
            None => self.take_sequence(stats)?,
        };
        let best = self.best(prompt);
        let shared = best.map_or(0, |best| best.tokens);
        let parked = self.parked.take(session);
        let keeps = self.keeps;
        let is_longer = |chat: &&Chat<LlamaToken, State>| {
            let common = prefixes::common(&chat.tokens, readable(prompt));
            let is_whole = common == chat.tokens.len();
            let is_of_use = keeps == Keeps::All || is_whole;
            chat.from <= shared && common >= shared + RESTORE_GAIN && is_of_use
        };
        let restored = parked
            .as_ref()
            .filter(is_longer)
            .and_then(|chat| self.restore(sequence, best, chat, prompt));
        if let Some(chat) = parked {
            self.states.give_back(chat.state);
        }
        if let Some(known) = restored {
            stats.restored += 1;
            return Some((sequence, known));
        }
        let known = match self.best(prompt) {
            Some(best) => self.begin_with(sequence, best, prompt),
            // What it holds of its own cannot be gone on with.
            None => {
                self.empty(sequence);
                0
            }
        };
        Some((sequence, known))
    }

    /// Lets a sequence hold what another one knows of the prompt, or what it knows of it itself.
    fn begin_with(&mut self, sequence: Sequence, best: Known, prompt: &[LlamaToken]) -> usize {
        let own = self.held.common(sequence, readable(prompt));
        if own >= best.tokens && self.cut(sequence, own) {
            return own;
        }
        self.empty(sequence);
        let is_whole = best.tokens == self.held.len(best.by);
        if best.by == sequence || !(is_whole || self.is_complete(best.by)) {
            return 0;
        }
        self.copy(best.by, sequence, 0, (!is_whole).then_some(best.tokens));
        self.slots.used(best.by);
        self.held.extend(sequence, &prompt[..best.tokens]);
        best.tokens
    }

    /// Brings a chat back from memory. `None` if there is no room for it, or if what came back is not all that is needed.
    fn restore(
        &mut self,
        sequence: Sequence,
        best: Option<Known>,
        chat: &Chat<LlamaToken, State>,
        prompt: &[LlamaToken],
    ) -> Option<usize> {
        if !chat.state.restore(&mut self.context, self.scratch) {
            debug!("failed to bring a chat back from memory; it is read again");
            self.clear(self.scratch, 0);
            return None;
        }
        let common = prefixes::common(&chat.tokens, readable(prompt));
        let is_all = self.begins_at(self.scratch) == Some(chat.from);
        if !is_all && (chat.from > 0 || common < chat.tokens.len()) {
            self.clear(self.scratch, 0);
            return None;
        }
        match best.filter(|_| chat.from > 0) {
            Some(best) => {
                let known = self.begin_with(sequence, Known { tokens: chat.from, ..best }, prompt);
                if known < chat.from || !self.cut(sequence, chat.from) {
                    self.clear(self.scratch, 0);
                    return None;
                }
            }
            None => self.empty(sequence),
        }
        self.copy(self.scratch, sequence, chat.from, None);
        self.clear(self.scratch, 0);
        self.held.extend(sequence, &chat.tokens[chat.from..]);
        self.cut(sequence, common).then_some(common)
    }

    /// A sequence holds these, too.
    pub(super) fn holds(&mut self, sequence: Sequence, tokens: &[LlamaToken]) {
        self.held.extend(sequence, tokens);
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

    /// Nobody needs what a sequence holds.
    pub(super) fn free(&mut self, sequence: Sequence) {
        self.empty(sequence);
        self.slots.free(sequence);
    }

    /// Forgets whatever the context holds, after something went wrong in it.
    pub(super) fn reset(&mut self) {
        self.context.clear_kv_cache();
        for sequence in self.slots.all() {
            self.held.forget(sequence);
            self.slots.free(sequence);
        }
    }

    /// Decodes a batch. Where there is no room for it, nothing has happened.
    pub(super) fn decode(&mut self, batch: &mut LlamaBatch<'_>) -> Result<(), DecodeError> {
        self.context.decode(batch)
    }

    /// The logits behind a token of the batch that asked for them.
    pub(super) fn logits(&self, at: i32) -> &[f32] {
        self.context.get_logits_ith(at)
    }

    pub(super) fn tell(&self, stats: &mut EngineStats) {
        stats.resting_sessions = self.slots.resting().count();
        stats.common_beginnings = self.slots.commons();
        stats.parked_sessions = self.parked.len();
        stats.parked_bytes = self.parked.bytes();
    }

    fn empty(&mut self, sequence: Sequence) {
        self.clear(sequence, 0);
        self.held.forget(sequence);
    }

    /// Lets a sequence hold no more than so many tokens. False if it could not be cut and holds nothing now.
    fn cut(&mut self, sequence: Sequence, len: usize) -> bool {
        if self.held.len(sequence) <= len {
            return true;
        }
        if self.is_complete(sequence) && self.clear(sequence, len) {
            self.held.truncate(sequence, len);
            return true;
        }
        self.empty(sequence);
        false
    }

    /// Removes what a sequence holds from a place on. Some kinds of models cannot do that in the middle.
    fn clear(&mut self, sequence: Sequence, from: usize) -> bool {
        let Ok(from) = u32::try_from(from) else { return false };
        matches!(
            self.context.clear_kv_cache_seq(Some(sequence.number()), Some(from), None),
            Ok(true)
        )
    }

    /// Shares what one sequence holds with another one: no keys and values are copied.
    fn copy(&mut self, from: Sequence, to: Sequence, begin: usize, end: Option<usize>) {
        let place = |at: usize| u32::try_from(at).expect("a context has fewer tokens than 2^32");
        self.context
            .kv_cache_seq_cp(from.id(), to.id(), Some(place(begin)), end.map(place))
            .expect("a context has fewer tokens than 2^31");
    }
}

/// The last token of a prompt is always read: its logits are not kept.
pub(super) fn readable(prompt: &[LlamaToken]) -> &[LlamaToken] {
    prompt.split_last().map_or(prompt, |(_, before)| before)
}
