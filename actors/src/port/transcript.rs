//! A part of a transcript, read in order, with the ends of turns in their places: what a reader missed.

use super::StoredEnd;
use crate::protocol::{ChatMessage, Content, Locale, Timestamp, TurnId};

/// A part of a transcript.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TranscriptPart {
    /// Entries in order. Calls that have not ended are none.
    pub entries: Vec<StoredEntry>,
    /// The number from which to read on; `None` where the transcript ends.
    pub next: Option<u64>,
}

/// An entry, and the end of its turn where that comes right behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// The entry.
    pub message: ChatMessage,
    /// The language of its turn.
    pub locale: Locale,
    /// When and how its turn ended, if it is the turn's last entry. A clearing that follows is none.
    pub end: Option<(Timestamp, StoredEnd)>,
}

/// A number of a transcript, as a store finds it.
#[derive(Debug, Clone)]
pub struct TranscriptRow {
    /// The number.
    pub seq: u64,
    /// Its turn.
    pub turn: TurnId,
    /// The entry; `None` for a call that has not ended.
    pub message: Option<ChatMessage>,
    /// The language of the turn.
    pub locale: Locale,
    /// When and how the turn ended, if it has.
    pub end: Option<(Timestamp, StoredEnd)>,
}

impl TranscriptPart {
    /// Makes a part of so many numbers of rows in order, of which there must be one more where there is one.
    #[must_use]
    pub fn of(rows: Vec<TranscriptRow>, max: usize) -> Self {
        let is_mark = |row: &TranscriptRow| {
            row.message.as_ref().is_some_and(|message| message.content == Content::Cleared)
        };
        let next = rows.get(max).map(|row| row.seq);
        // Whether the turn goes on behind each row.
        let goes_on: Vec<_> = rows
            .iter()
            .zip(rows.iter().skip(1).map(Some).chain([None]))
            .map(|(row, next)| next.is_some_and(|next| next.turn == row.turn && !is_mark(next)))
            .collect();
        let entry = |(row, goes_on): (TranscriptRow, bool)| {
            let is_last = !goes_on && !is_mark(&row);
            let TranscriptRow { message, locale, end, .. } = row;
            Some(StoredEntry { message: message?, locale, end: end.filter(|_| is_last) })
        };
        Self { entries: rows.into_iter().zip(goes_on).take(max).filter_map(entry).collect(), next }
    }
}
