//! The context, and where each chat rests in it: in a sequence, in memory, or nowhere.

use llama_cpp_2::{
    DecodeError, LlamaStateSeqFlags, SeqState, context::LlamaContext, llama_batch::LlamaBatch,
    token::LlamaToken,
};
use madang_actors::protocol::SessionId;
use tracing::debug;

use super::{
    load::Keeps,
    parked::{Chat, Parked},
    prefixes::{self, Known, Prefixes},
    sequence::Sequence,
    slots::Slots,
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
    parked: Parked<LlamaToken, SeqState>,
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

/// So many common beginnings are kept: an application has a few sets of tools and system texts, seldom more.
const COMMONS: usize = 8;
/// A beginning is worth a sequence of its own from so many tokens more than what is kept already.
const COMMON_GAIN: usize = 32;
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
        // The last token is always read: its logits are not kept.
        let prompt = &prompt[..prompt.len().saturating_sub(1)];
        let part = self.held.longest(prompt, |by| self.is_complete(by));
        let whole = self.held.longest_whole(prompt);
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
        let is_longer = |chat: &Chat<LlamaToken, SeqState>| {
            let common = prefixes::common(&chat.tokens, &prompt[..prompt.len() - 1]);
            let is_whole = common == chat.tokens.len();
            let is_of_use = self.keeps == Keeps::All || is_whole;
            chat.from <= shared && common >= shared + RESTORE_GAIN && is_of_use
        };
        if let Some(chat) = parked.filter(is_longer) {
            if let Some(known) = self.restore(sequence, best, &chat, prompt) {
                stats.restored += 1;
                return Some((sequence, known));
            }
            // What it began with is still there.
            self.empty(sequence);
        }
        let best = self.best(prompt);
        let known = best.map_or(0, |best| self.begin_with(sequence, best, prompt));
        Some((sequence, known))
    }

    /// Lets a sequence hold what another one knows of the prompt, or what it knows of it itself.
    fn begin_with(&mut self, sequence: Sequence, best: Known, prompt: &[LlamaToken]) -> usize {
        let own = self.held.common(sequence, &prompt[..prompt.len() - 1]);
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
        chat: &Chat<LlamaToken, SeqState>,
        prompt: &[LlamaToken],
    ) -> Option<usize> {
        if let Err(error) = self.context.state_seq_set(&chat.state, self.scratch.id()) {
            debug!(%error, "failed to bring a chat back from memory; it is read again");
            self.clear(self.scratch, 0);
            return None;
        }
        let common = prefixes::common(&chat.tokens, &prompt[..prompt.len() - 1]);
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

    /// The completion on a sequence is over: its chat rests there.
    pub(super) fn rest(
        &mut self,
        sequence: Sequence,
        session: &SessionId,
        stats: &mut EngineStats,
    ) {
        if let Some(older) = self.slots.of(session) {
            self.free(older);
        }
        self.slots.rest(sequence, session.clone());
        self.park_most(Some(sequence), stats);
    }

    /// Moves chats to memory until those that rest hold no more than they may, but not this one. In a decode each token
    /// looks at all that the context holds, so the more run the less may rest.
    pub(super) fn park_most(&mut self, but: Option<Sequence>, stats: &mut EngineStats) {
        let may_rest = self.resting_tokens / (1 + self.slots.running());
        while let Some((longest, _)) = self.slots.longest_resting()
            && Some(longest) != but
            && self.resting() > may_rest
        {
            self.park_longest(stats);
        }
    }

    /// How many tokens are held by chats that rest and by nobody else.
    fn resting(&self) -> usize {
        let own = |sequence| self.held.len(sequence) - self.shared(sequence);
        self.slots.resting().map(own).sum()
    }

    fn shared(&self, sequence: Sequence) -> usize {
        self.held.shared(sequence, |_| true).map_or(0, |known| known.tokens)
    }

    /// Nobody needs what a sequence holds.
    pub(super) fn free(&mut self, sequence: Sequence) {
        self.empty(sequence);
        self.slots.free(sequence);
    }

    /// Makes room in the context. False if only running completions are left in it.
    pub(super) fn make_room(&mut self, stats: &mut EngineStats) -> bool {
        if self.park_longest(stats) {
            return true;
        }
        match self.slots.stalest_common() {
            Some(common) => {
                self.free(common);
                true
            }
            None => false,
        }
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

    /// Moves the chat that has rested longest to memory, but for what others share with it.
    fn park_longest(&mut self, stats: &mut EngineStats) -> bool {
        let Some((sequence, session)) = self.slots.longest_resting() else { return false };
        let tokens = self.held.tokens(sequence);
        let kept = self.held.shared(sequence, |by| self.slots.is_common(by));
        let kept = kept.map_or(0, |known| known.tokens);
        let shared = self.shared(sequence);
        let is_complete = self.is_complete(sequence);
        let is_common = is_complete && shared >= kept + COMMON_GAIN;
        let from = match (self.keeps == Keeps::All && is_complete, is_common) {
            (false, _) => 0,
            (true, true) => shared,
            (true, false) => kept,
        };
        if from < tokens.len() {
            let state = self.state(sequence, from);
            let forgotten = match state {
                Ok(state) => {
                    let state_bytes = state.byte_len();
                    self.parked.park(session, Chat { tokens, from, state, state_bytes })
                }
                Err(error) => {
                    debug!(%error, "failed to move a chat to memory; it is forgotten");
                    1
                }
            };
            stats.parked += 1;
            stats.forgotten += forgotten as u64;
        }
        if is_common && self.cut(sequence, shared) {
            self.slots.keep_common(sequence);
            if self.slots.commons() > COMMONS
                && let Some(stalest) = self.slots.stalest_common()
            {
                self.free(stalest);
            }
            return true;
        }
        self.free(sequence);
        true
    }

    /// What a sequence holds from here on.
    fn state(
        &mut self,
        sequence: Sequence,
        from: usize,
    ) -> Result<SeqState, llama_cpp_2::StateSeqError> {
        if from == 0 {
            return self.context.state_seq_get(sequence.id(), LlamaStateSeqFlags::empty());
        }
        self.copy(sequence, self.scratch, from, None);
        let state = self.context.state_seq_get(self.scratch.id(), LlamaStateSeqFlags::empty());
        self.clear(self.scratch, 0);
        state
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
