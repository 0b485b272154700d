//! Wraps a context of llama.cpp, and tracks the tokens of each sequence.

use llama_cpp_2::{DecodeError, context::LlamaContext, llama_batch::LlamaBatch};
use tracing::debug;

use super::{
    load::Keeps,
    prefixes::{PrefixMatch, Prefixes},
    scope::Held,
    sequence::Sequence,
    states::{State, States},
    swapped::Chat,
};

/// A context and the content of its sequences.
pub(super) struct KvContext<'m> {
    context: LlamaContext<'m>,
    held: Prefixes<Held>,
    /// A sequence for copies, which no chat holds.
    scratch: Sequence,
    keeps: Keeps,
}

impl<'m> KvContext<'m> {
    pub(super) fn new(context: LlamaContext<'m>, scratch: Sequence, keeps: Keeps) -> Self {
        Self { context, held: Prefixes::new(), scratch, keeps }
    }

    pub(super) const fn keeps(&self) -> Keeps {
        self.keeps
    }

    pub(super) const fn scratch(&self) -> Sequence {
        self.scratch
    }

    /// Returns the tokens of all sequences.
    pub(super) const fn held(&self) -> &Prefixes<Held> {
        &self.held
    }

    /// Decodes a batch. Changes nothing if there is no room for it. A graphics card may go on
    /// computing after llama.cpp returns. This waits for it, because the time of a decode decides
    /// how much of a prompt is read between two others.
    pub(super) fn decode(&mut self, batch: &mut LlamaBatch<'_>) -> Result<(), DecodeError> {
        self.context.decode(batch)?;
        self.context.synchronize();
        Ok(())
    }

    /// Returns the logits of a token of the batch that requested them.
    pub(super) fn logits(&self, at: i32) -> &[f32] {
        self.context.get_logits_ith(at)
    }

    /// Adds tokens to a sequence.
    pub(super) fn holds(&mut self, sequence: Sequence, tokens: &[Held]) {
        self.held.extend(sequence, tokens);
    }

    /// Returns whether the context holds a sequence from its first token on. Only then can the
    /// sequence be cut and continued. If not, a sliding window lost the beginning, or a state sums
    /// it up, and the sequence goes on only from its end. Neither llama.cpp nor a join here may
    /// leave a hole.
    pub(super) fn is_complete(&self, sequence: Sequence) -> bool {
        self.begins_at(sequence) == Some(0)
    }

    /// Returns the first position of a sequence that the context holds.
    fn begins_at(&self, sequence: Sequence) -> Option<usize> {
        usize::try_from(self.context.kv_cache_seq_pos_min(sequence.id())).ok()
    }

    /// Finds the sequence with the most of these tokens, and counts them.
    pub(super) fn best(&self, tokens: &[Held]) -> Option<PrefixMatch> {
        let part = self.held.longest(tokens, |by| self.is_complete(by));
        let whole = self.held.longest_whole(tokens);
        part.into_iter().chain(whole).max_by_key(|known| known.tokens)
    }

    /// Makes a sequence hold only those of these tokens that another one or it itself knows.
    /// Returns how many it holds.
    pub(super) fn begin_with(
        &mut self,
        sequence: Sequence,
        best: PrefixMatch,
        tokens: &[Held],
    ) -> usize {
        let own = self.held.common(sequence, tokens);
        if own >= best.tokens && self.cut(sequence, own) {
            return own;
        }
        self.empty(sequence);
        let is_whole = best.tokens == self.held.len(best.by);
        if best.by == sequence || !(is_whole || self.is_complete(best.by)) {
            return 0;
        }
        self.copy(best.by, sequence, 0, (!is_whole).then_some(best.tokens));
        self.held.extend(sequence, &tokens[..best.tokens]);
        best.tokens
    }

    /// Returns the content of a sequence from here on as bytes. Returns `None` if it cannot be
    /// copied.
    pub(super) fn chat(
        &mut self,
        sequence: Sequence,
        from: usize,
        states: &mut States,
    ) -> Option<Chat<Held, State>> {
        let state = if from == 0 {
            states.get(&self.context, sequence)?
        } else {
            self.copy(sequence, self.scratch, from, None);
            let state = states.get(&self.context, self.scratch);
            self.clear(self.scratch, 0);
            state?
        };
        let tokens = self.held.tokens(sequence);
        let state_bytes = state.bytes();
        Some(Chat { tokens, from, state, state_bytes })
    }

    /// Makes a sequence hold the first `common` tokens of a chat. Another sequence has those before
    /// its bytes. Returns how many it holds, or `None` if there is no room or if the bytes are not
    /// all that is needed.
    pub(super) fn restore(
        &mut self,
        sequence: Sequence,
        best: Option<PrefixMatch>,
        chat: &Chat<Held, State>,
        common: usize,
    ) -> Option<usize> {
        if !chat.state.restore(&mut self.context, self.scratch) {
            debug!("failed to bring a chat back from memory; it is read again");
            self.clear(self.scratch, 0);
            return None;
        }
        let is_all = self.begins_at(self.scratch) == Some(chat.from);
        if !is_all && (chat.from > 0 || common < chat.tokens.len()) {
            self.clear(self.scratch, 0);
            return None;
        }
        match best.filter(|_| chat.from > 0) {
            Some(best) => {
                let best = PrefixMatch { tokens: chat.from, ..best };
                let known = self.begin_with(sequence, best, &chat.tokens[..common]);
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

    /// Makes a sequence hold what it holds in another context of this model, which keeps it too.
    /// Returns false if it does not fit. The sequence then holds less.
    pub(super) fn take_over(
        &mut self,
        sequence: Sequence,
        from: &mut KvContext<'_>,
        states: &mut States,
    ) -> bool {
        let tokens = from.held.tokens(sequence);
        if tokens.is_empty() {
            self.empty(sequence);
            return true;
        }
        let best = self.best(&tokens);
        let known = best.map_or(0, |best| best.tokens);
        if let Some(best) = best.filter(|_| known == tokens.len()) {
            return self.begin_with(sequence, best, &tokens) == tokens.len();
        }
        let known = if self.keeps == Keeps::State { 0 } else { known };
        let mut take = |known: usize| {
            let Some(chat) = from.chat(sequence, known, states) else { return false };
            let restored = self.restore(sequence, best, &chat, tokens.len());
            states.give_back(chat.state);
            restored.is_some()
        };
        // If a window lost its beginning, the whole sequence is taken. It then goes on only from
        // its end.
        take(known) || known > 0 && take(0)
    }

    /// Empties a sequence.
    pub(super) fn empty(&mut self, sequence: Sequence) {
        self.clear(sequence, 0);
        self.held.forget(sequence);
    }

    /// Empties all sequences.
    pub(super) fn empty_all(&mut self) {
        self.context.clear_kv_cache();
        self.held = Prefixes::new();
    }

    /// Cuts a sequence to this many tokens. Returns false if it could not be cut and is now empty.
    pub(super) fn cut(&mut self, sequence: Sequence, len: usize) -> bool {
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

    /// Removes the content of a sequence from a position on. Some kinds of models cannot do that in
    /// the middle.
    fn clear(&mut self, sequence: Sequence, from: usize) -> bool {
        let Ok(from) = u32::try_from(from) else { return false };
        matches!(
            self.context.clear_kv_cache_seq(Some(sequence.number()), Some(from), None),
            Ok(true)
        )
    }

    /// Shares the content of one sequence with another without copying keys and values.
    fn copy(&mut self, from: Sequence, to: Sequence, begin: usize, end: Option<usize>) {
        let position = |at: usize| u32::try_from(at).expect("a context has fewer tokens than 2^32");
        self.context
            .kv_cache_seq_cp(from.id(), to.id(), Some(position(begin)), end.map(position))
            .expect("a context has fewer tokens than 2^31");
    }
}
