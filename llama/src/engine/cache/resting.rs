//! Keeps resting chats: how many stay in the context, which one moves to memory, and which
//! beginnings stay in the context.

use tracing::debug;

use super::{
    super::{load::Keeps, sequence::Sequence, stats::EngineStats},
    Cache, Owner,
};

/// How many common beginnings are kept. An application seldom has more sets of tools and system
/// texts.
const COMMONS: usize = 8;
/// How many tokens beyond the kept ones make a beginning worth a sequence of its own.
const COMMON_GAIN: usize = 32;

impl Cache<'_> {
    /// Lets a chat rest in its sequence after its completion ended.
    pub(in super::super) fn rest(
        &mut self,
        sequence: Sequence,
        owner: &Owner,
        stats: &mut EngineStats,
    ) {
        if let Some(older) = self.slots.find(owner) {
            self.free(older);
        }
        self.slots.rest(sequence, owner.clone());
        self.swap_out_most(Some(sequence), stats);
    }

    /// Moves chats to memory, except for `but`, until resting chats hold no more than is allowed.
    /// Each token of a decode looks at the whole context, so the more completions run, the fewer
    /// chats may rest.
    pub(in super::super) fn swap_out_most(
        &mut self,
        but: Option<Sequence>,
        stats: &mut EngineStats,
    ) {
        let may_rest = self.resting_tokens / (1 + self.slots.running());
        while let Some((longest, _)) = self.slots.longest_resting()
            && Some(longest) != but
            && self.resting() > may_rest
        {
            self.swap_out_longest(stats);
        }
    }

    /// Counts the tokens that only resting chats hold. The beginning of a chat that came back whole
    /// is a copy, and is not counted.
    fn resting(&self) -> usize {
        let own = |sequence| self.kv.held().len(sequence) - self.shared(sequence);
        self.slots.resting().map(own).sum()
    }

    fn shared(&self, sequence: Sequence) -> usize {
        self.kv.held().shared(sequence, |_| true).map_or(0, |known| known.tokens)
    }

    /// Makes room in the context. Returns false if only running completions are left in it.
    pub(in super::super) fn make_room(&mut self, stats: &mut EngineStats) -> bool {
        if self.swap_out_longest(stats) {
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

    /// Moves the chat that has rested longest to memory, without the part that others share.
    fn swap_out_longest(&mut self, stats: &mut EngineStats) -> bool {
        let Some((sequence, owner)) = self.slots.longest_resting() else { return false };
        let tokens = self.kv.held().len(sequence);
        let common_len = self.kv.held().shared(sequence, |by| self.slots.is_common(by));
        let common_len = common_len.map_or(0, |known| known.tokens);
        let shared = self.shared(sequence);
        let is_complete = self.kv.is_complete(sequence);
        let is_common = is_complete && shared >= common_len + COMMON_GAIN;
        let from = match (self.kv.keeps() == Keeps::All && is_complete, is_common) {
            (false, _) => 0,
            (true, true) => shared,
            (true, false) => common_len,
        };
        if from < tokens {
            let forgotten = match self.kv.chat(sequence, from, &mut self.states) {
                Some(chat) => {
                    let forgotten = self.swapped.swap_out(owner, chat);
                    let count = forgotten.len();
                    for chat in forgotten {
                        self.states.give_back(chat.state);
                    }
                    count
                }
                None => {
                    debug!("no room in memory for a chat; it is forgotten");
                    1
                }
            };
            stats.swapped_out += 1;
            stats.forgotten += forgotten as u64;
        }
        if is_common && self.kv.cut(sequence, shared) {
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
}
