//! A page of a chat: the entries that a view has, bounded in bytes. Pure.

use crate::protocol::{ChatMessage, Content, json_bytes};

/// Selects the entries of a chat that a view has. They end with the last one, or before an entry of
/// an earlier page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewPage {
    before: u64,
    max_bytes: usize,
}

impl ViewPage {
    /// All entries.
    pub const ALL: Self = Self { before: u64::MAX, max_bytes: usize::MAX };
    /// No entry: only the state of the turn, and the position of the view.
    pub const NONE: Self = Self { before: u64::MAX, max_bytes: 0 };

    /// Makes a page of the last entries, in at most this many bytes of JSON. One entry comes
    /// whatever its bytes are.
    #[must_use]
    pub const fn of(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::ALL }
    }

    /// Returns the page before this entry, which is the first of a later page.
    #[must_use]
    pub fn before(self, entry: impl Into<Option<u64>>) -> Self {
        Self { before: entry.into().unwrap_or(u64::MAX), ..self }
    }

    /// Returns the entries of the page, and the number of the first if earlier ones are left out.
    pub(super) fn entries(self, messages: &[ChatMessage]) -> (&[ChatMessage], Option<u64>) {
        let visible = visible(messages);
        let end = visible.partition_point(|message| message.seq < self.before);
        let earlier = &visible[..end];
        let begin = if self.max_bytes == usize::MAX { 0 } else { self.first(earlier) };
        let page = &earlier[begin..];
        (page, page.first().filter(|_| begin > 0).map(|first| first.seq))
    }

    fn first(self, earlier: &[ChatMessage]) -> usize {
        let mut begin = earlier.len();
        let mut room = self.max_bytes;
        while let Some(message) =
            begin.checked_sub(1).map(|last| &earlier[last]).filter(|_| room > 0)
        {
            let bytes = json_bytes(message, room);
            if bytes.is_none() && begin < earlier.len() {
                break;
            }
            begin -= 1;
            room = bytes.map_or(0, |bytes| room - bytes);
        }
        begin
    }
}

/// Returns the entries since the last clearing, which are what a person sees.
pub(super) fn visible(messages: &[ChatMessage]) -> &[ChatMessage] {
    let begin = messages
        .iter()
        .rposition(|message| message.content == Content::Cleared)
        .map_or(0, |mark| mark + 1);
    &messages[begin..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Content, Timestamp, TurnId};

    fn chat(texts: &[&str]) -> Vec<ChatMessage> {
        let entry = |(at, text): (usize, &&str)| ChatMessage {
            seq: at as u64 * 2 + 1,
            turn: TurnId::new(uuid::Uuid::nil()),
            at: Timestamp::from_millis(0),
            content: if text.is_empty() { Content::Cleared } else { Content::user(*text) },
        };
        texts.iter().enumerate().map(entry).collect()
    }

    fn seqs((page, earlier): (&[ChatMessage], Option<u64>)) -> (Vec<u64>, Option<u64>) {
        (page.iter().map(|message| message.seq).collect(), earlier)
    }

    #[test]
    fn pages_of_any_size_are_the_whole_chat_and_none_is_longer_than_it_may_be() {
        let chat = chat(&["gone", "", "a", "bb", &"c".repeat(900), "d", "e"]);
        let bytes = |page: &[ChatMessage]| -> usize {
            page.iter().map(|message| serde_json::to_string(message).unwrap().len()).sum()
        };
        let (all, earlier) = ViewPage::ALL.entries(&chat);
        assert_eq!((all, earlier), (&chat[2..], None));
        for max in 1..2_000 {
            let mut read = Vec::new();
            let mut page = ViewPage::of(max);
            loop {
                let (entries, earlier) = page.entries(&chat);
                assert!(bytes(entries) <= max || entries.len() == 1, "{max}: {entries:?}");
                read.splice(0..0, entries.iter().cloned());
                let Some(first) = earlier else { break };
                page = page.before(first);
            }
            assert_eq!(read, all, "{max}");
        }
    }

    #[test]
    fn a_view_without_entries_says_nothing_of_earlier_ones() {
        let chat = chat(&["a", "b"]);
        assert_eq!(seqs(ViewPage::NONE.entries(&chat)), (vec![], None));
        assert_eq!(seqs(ViewPage::of(9).entries(&[])), (vec![], None));
        assert_eq!(seqs(ViewPage::of(9).before(1).entries(&chat)), (vec![], None));
    }
}
