//! The transcript of one chat in memory: numbers are given out in order, entries are shown in order.

use std::collections::BTreeMap;

use crate::protocol::{ChatMessage, Content, Notice, TurnId};

/// The transcript of one chat.
#[derive(Debug, Default)]
pub(super) struct Chat {
    messages: Vec<ChatMessage>,
    /// Stored, but an entry before them is not: calls that run side by side may end in another order.
    early: BTreeMap<u64, ChatMessage>,
    /// The last entry that is in `messages`, or was skipped when the chat was loaded.
    shown: u64,
    /// The last number that was given out.
    reserved: u64,
}

impl Chat {
    /// The chat as the store has it; `last_seq` is the highest number that was ever given out.
    pub(super) fn load(messages: Vec<ChatMessage>, last_seq: u64) -> Self {
        Self { messages, early: BTreeMap::new(), shown: last_seq, reserved: last_seq }
    }

    pub(super) fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// The turn of the last entry; `None` in an empty chat.
    pub(super) fn last_turn(&self) -> Option<TurnId> {
        self.messages.last().map(|message| message.turn)
    }

    /// Gives out the next number.
    pub(super) fn reserve(&mut self) -> u64 {
        self.reserved += 1;
        self.reserved
    }

    /// Takes an entry that the store has; gives what can be shown now, in order.
    pub(super) fn arrived(&mut self, message: ChatMessage) -> Vec<ChatMessage> {
        if message.seq <= self.shown {
            return Vec::new();
        }
        self.early.insert(message.seq, message);
        let mut shown = Vec::new();
        while let Some(message) = self.early.remove(&(self.shown + 1)) {
            self.shown += 1;
            self.messages.push(message.clone());
            shown.push(message);
        }
        shown
    }

    /// What has not arrived by now never will: later entries do not wait for it.
    pub(super) fn skip_missing(&mut self) {
        self.early.clear();
        self.shown = self.reserved;
    }

    /// Clearing should be suggested: too many user turns since the last clearing, and not suggested since.
    pub(super) fn should_suggest_clear(&self, after: u32) -> bool {
        let since = crate::protocol::visible(&self.messages);
        let turns =
            since.iter().filter(|message| matches!(message.content, Content::User { .. })).count();
        let was_suggested = since
            .iter()
            .any(|message| message.content == Content::Notice { notice: Notice::SuggestClear });
        turns > after as usize && !was_suggested
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
        entry(seq, Content::User { text: "hi".into() })
    }

    #[test]
    fn entries_are_shown_in_order_whatever_the_order_of_their_arrival() {
        let mut chat = Chat::load(vec![user(1)], 2);
        assert_eq!([chat.reserve(), chat.reserve(), chat.reserve()], [3, 4, 5]);
        let seqs =
            |shown: Vec<ChatMessage>| shown.iter().map(|message| message.seq).collect::<Vec<_>>();
        assert_eq!(seqs(chat.arrived(user(4))), [0; 0]);
        assert_eq!(seqs(chat.arrived(user(3))), [3, 4]);
        assert_eq!(seqs(chat.arrived(user(5))), [5]);
    }

    #[test]
    fn what_was_given_up_holds_nothing_up_and_does_not_come_late() {
        let mut chat = Chat::load(vec![user(1)], 1);
        assert_eq!([chat.reserve(), chat.reserve()], [2, 3]);
        assert_eq!(chat.arrived(user(3)), []);
        chat.skip_missing();
        assert_eq!(chat.reserve(), 4);
        assert_eq!(chat.arrived(user(2)), []);
        assert_eq!(chat.arrived(user(4)), [user(4)]);
    }

    #[test]
    fn clearing_is_suggested_once_after_more_than_eight_turns() {
        let mut chat = Chat::default();
        let arrive = |chat: &mut Chat, content| {
            let seq = chat.reserve();
            chat.arrived(entry(seq, content));
        };
        for _ in 0..8 {
            arrive(&mut chat, Content::User { text: "hi".into() });
        }
        assert!(!chat.should_suggest_clear(8));
        arrive(&mut chat, Content::User { text: "hi".into() });
        assert!(chat.should_suggest_clear(8));
        arrive(&mut chat, Content::Notice { notice: Notice::SuggestClear });
        assert!(!chat.should_suggest_clear(8));
        arrive(&mut chat, Content::Cleared);
        arrive(&mut chat, Content::User { text: "hi".into() });
        assert!(!chat.should_suggest_clear(8));
    }
}
