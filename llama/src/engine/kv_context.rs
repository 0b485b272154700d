//! A context of llama.cpp, and which tokens each of its sequences holds.

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

/// A context with what its sequences hold.
pub(super) struct KvContext<'m> {
    context: LlamaContext<'m>,
    held: Prefixes<Held>,
    /// For copies on their way; of no chat.
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

    /// What the sequences hold.
    pub(super) const fn held(&self) -> &Prefixes<Held> {
        &self.held
    }

    /// Decodes a batch. Where there is no room for it, nothing has happened.
    pub(super) fn decode(&mut self, batch: &mut LlamaBatch<'_>) -> Result<(), DecodeError> {
        self.context.decode(batch)
    }

    /// The logits behind a token of the batch that asked for them.
    pub(super) fn logits(&self, at: i32) -> &[f32] {
        self.context.get_logits_ith(at)
    }

    /// A sequence holds these, too.
    pub(super) fn holds(&mut self, sequence: Sequence, tokens: &[Held]) {
        self.held.extend(sequence, tokens);
    }

    /// Whether the context holds a sequence from its first token on: only then can it be cut, and go on from there. Where
    /// it does not, what lay before a sliding window is gone, or all was summed up, and it goes on from its end only.
    /// llama.cpp leaves no hole behind the first; nor may what is joined here, for a hole would not be seen.
    pub(super) fn is_complete(&self, sequence: Sequence) -> bool {
        self.begins_at(sequence) == Some(0)
    }

    /// The first place of a sequence that the context holds.
    fn begins_at(&self, sequence: Sequence) -> Option<usize> {
        usize::try_from(self.context.kv_cache_seq_pos_min(sequence.id())).ok()
    }

    /// The sequence that knows most of these tokens, and how many.
    pub(super) fn best(&self, tokens: &[Held]) -> Option<PrefixMatch> {
        let part = self.held.longest(tokens, |by| self.is_complete(by));
        let whole = self.held.longest_whole(tokens);
        part.into_iter().chain(whole).max_by_key(|known| known.tokens)
    }

    /// Lets a sequence hold what another one knows of these tokens, or what it knows of them itself; nothing else.
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

    /// What a sequence holds from here on, as bytes.
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
        let (tokens, state_bytes) = (self.held.tokens(sequence), state.bytes());
        Some(Chat { tokens, from, state, state_bytes })
    }

    /// Lets a sequence hold the first `common` tokens of a chat, of which another sequence knows those before its bytes. `None` if
    /// there is no room for it, or if what came back is not all that is needed.
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

    /// Lets a sequence hold what the same one holds in another context of this model, which keeps it, too. False if it does
    /// not fit; the sequence holds less then.
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
        // Where a window has lost what comes next, all is taken: it goes on from its end only.
        take(known) || known > 0 && take(0)
    }

    /// A sequence holds nothing any more.
    pub(super) fn empty(&mut self, sequence: Sequence) {
        self.clear(sequence, 0);
        self.held.forget(sequence);
    }

    /// No sequence holds anything any more.
    pub(super) fn empty_all(&mut self) {
        self.context.clear_kv_cache();
        self.held = Prefixes::new();
    }

    /// Lets a sequence hold no more than so many tokens. False if it could not be cut and holds nothing now.
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
