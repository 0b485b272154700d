//! The transcript of one chat in memory. Numbers are reserved in order, and entries are published
//! in order.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use super::prompt::Prompt;
use crate::protocol::{
    ChatMessage, Content, Limits, Locale, ModelName, Notice, PromptMessage, ResolvedCall, ToolSpec,
    TurnId,
};

/// The transcript of one chat.
#[derive(Debug, Default)]
pub(super) struct Chat {
    messages: Vec<ChatMessage>,
    /// Stored entries after one that is not stored, because parallel calls may end in another
    /// order.
    early: BTreeMap<u64, ChatMessage>,
    /// The number of the last entry that is in `messages`, or was skipped.
    shown: u64,
    /// Calls that were open when the chat was loaded and go on: later entries wait for theirs.
    awaited: BTreeSet<u64>,
    /// The last number that was reserved before the chat was loaded. Up to here only `awaited`
    /// still comes.
    loaded: u64,
    /// The last number that was reserved.
    reserved: u64,
    prompt: Prompt,
    since: Since,
}

/// The entries since the last clearing.
#[derive(Debug, Default)]
struct Since {
    user_turns: usize,
    was_suggested: bool,
}

impl Chat {
    /// Loads the chat as the store has it. `last_seq` is the highest number that was ever reserved,
    /// and `awaited` are the numbers of the calls that go on.
    pub(super) fn load(
        mut messages: Vec<ChatMessage>,
        last_seq: u64,
        awaited: BTreeSet<u64>,
    ) -> Self {
        let shown = awaited.first().map_or(last_seq, |first| first - 1);
        let begin = messages.partition_point(|message| message.seq <= shown);
        let early = messages.split_off(begin).into_iter().map(|message| (message.seq, message));
        let early = early.collect();
        let mut since = Since::default();
        messages.iter().for_each(|message| since.note(&message.content));
        let loaded = last_seq;
        let reserved = last_seq;
        let prompt = Prompt::default();
        Self { messages, early, shown, awaited, loaded, reserved, prompt, since }
    }

    pub(super) fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Returns the prompt of the chat for this model.
    pub(super) fn prompt(
        &mut self,
        model: Option<&ModelName>,
        tools: &[ToolSpec],
        locale: Locale,
        limits: &Limits,
    ) -> Arc<Vec<PromptMessage>> {
        self.prompt.write(&self.messages, model, tools, locale, limits)
    }

    /// Returns the turn of the last entry, or `None` in an empty chat.
    pub(super) fn last_turn(&self) -> Option<TurnId> {
        self.messages.last().map(|message| message.turn)
    }

    /// Returns the number of the last published entry, or 0 if there is none.
    pub(super) fn last_shown(&self) -> u64 {
        self.messages.last().map_or(0, |message| message.seq)
    }

    /// Returns the last number that was reserved, whether stored or not, or 0 if there is none.
    pub(super) const fn last_given_out(&self) -> u64 {
        self.reserved
    }

    /// Reserves the next number.
    pub(super) fn reserve(&mut self) -> u64 {
        self.reserved += 1;
        self.reserved
    }

    /// Adds an entry that the store has. Returns the positions of entries that can be published
    /// now, in order.
    pub(super) fn arrived(&mut self, message: ChatMessage) -> Range<usize> {
        let begin = self.messages.len();
        if message.seq <= self.shown {
            return begin..begin;
        }
        self.awaited.remove(&message.seq);
        self.early.insert(message.seq, message);
        loop {
            let next = self.shown + 1;
            if let Some(message) = self.early.remove(&next) {
                self.take(message);
            } else if next > self.loaded || self.awaited.contains(&next) {
                return begin..self.messages.len();
            } else {
                self.shown = next;
            }
        }
    }

    fn take(&mut self, message: ChatMessage) {
        self.shown = message.seq;
        self.since.note(&message.content);
        self.messages.push(message);
    }

    /// Records the effect of a call that is known now. Later prompts include it.
    pub(super) fn resolve(&mut self, resolved: &ResolvedCall) {
        self.prompt.forget();
        let entries = self.messages.iter_mut().rev().chain(self.early.values_mut());
        let calls = entries.filter_map(|message| match &mut message.content {
            Content::ToolCall(record) => Some(record),
            Content::User { .. }
            | Content::Model { .. }
            | Content::Notice { .. }
            | Content::Cleared => None,
        });
        for record in calls.filter(|record| record.id == resolved.call) {
            record.effect = resolved.resolution.effect();
            record.resolved_by = Some(resolved.by.clone());
        }
    }

    /// Returns whether clearing should be suggested: too many user turns since the last clearing,
    /// and no suggestion since.
    pub(super) fn should_suggest_clear(&self, after: u32) -> bool {
        self.since.user_turns > after as usize && !self.since.was_suggested
    }
}

impl Since {
    fn note(&mut self, content: &Content) {
        match content {
            Content::User { .. } => self.user_turns += 1,
            Content::Notice { notice: Notice::SuggestClear } => self.was_suggested = true,
            Content::Cleared => *self = Self::default(),
            Content::Model { .. } | Content::ToolCall(_) | Content::Notice { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Timestamp;
    use uuid::Uuid;

    fn entry(seq: u64, content: Content) -> ChatMessage {
        ChatMessage { seq, turn: TurnId::new(Uuid::nil()), at: Timestamp::from_millis(0), content }
    }

    fn user(seq: u64) -> ChatMessage {
        entry(seq, Content::user("hi"))
    }

    #[test]
    fn entries_are_shown_in_order_whatever_the_order_of_their_arrival() {
        let mut chat = Chat::load(vec![user(1)], 2, BTreeSet::new());
        assert_eq!([chat.reserve(), chat.reserve(), chat.reserve()], [3, 4, 5]);
        let mut seqs = |seq| {
            let shown = chat.arrived(user(seq));
            chat.messages()[shown].iter().map(|message| message.seq).collect::<Vec<_>>()
        };
        assert_eq!(seqs(4), [0; 0]);
        assert_eq!(seqs(3), [3, 4]);
        assert_eq!(seqs(5), [5]);
    }

    #[test]
    fn entries_of_a_loaded_chat_wait_only_for_the_calls_before_them_that_go_on() {
        // 2 and 5 are calls that go on, 4 was reserved and never stored.
        let mut chat = Chat::load(vec![user(1), user(3), user(6)], 6, [2, 5].into());
        let seqs = |chat: &Chat| chat.messages().iter().map(|m| m.seq).collect::<Vec<_>>();
        assert_eq!((seqs(&chat), chat.reserve()), (vec![1], 7));
        assert_eq!(chat.arrived(user(7)).len(), 0);
        assert_eq!(chat.arrived(user(5)).len(), 0);
        assert_eq!(chat.arrived(user(2)).len(), 5);
        assert_eq!(seqs(&chat), [1, 2, 3, 5, 6, 7]);
    }

    #[test]
    fn what_follows_a_number_that_was_never_stored_is_shown_though_it_was_the_last_one() {
        // 2 is a call that goes on, 3 was reserved and never stored.
        let mut chat = Chat::load(vec![user(1)], 3, [2].into());
        assert_eq!(chat.arrived(user(2)).len(), 1);
        assert_eq!(chat.reserve(), 4);
        assert_eq!(chat.arrived(user(4)).len(), 1);
    }

    #[test]
    fn clearing_is_suggested_once_after_more_than_eight_turns() {
        let mut chat = Chat::default();
        let arrive = |chat: &mut Chat, content| {
            let seq = chat.reserve();
            chat.arrived(entry(seq, content));
        };
        for _ in 0..8 {
            arrive(&mut chat, Content::user("hi"));
        }
        assert!(!chat.should_suggest_clear(8));
        arrive(&mut chat, Content::user("hi"));
        assert!(chat.should_suggest_clear(8));
        arrive(&mut chat, Content::Notice { notice: Notice::SuggestClear });
        assert!(!chat.should_suggest_clear(8));
        arrive(&mut chat, Content::Cleared);
        arrive(&mut chat, Content::user("hi"));
        assert!(!chat.should_suggest_clear(8));
    }
}
