//! A part of a transcript, read in order, with the ends of turns in their places: what a reader missed.

use super::StoredEnd;
use crate::protocol::{ChatMessage, Locale, Timestamp};

/// A part of a transcript.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TranscriptPart {
    /// Entries in order. Calls that have not ended are none.
    pub entries: Vec<StoredEntry>,
    /// The number from which to read on; `None` where the transcript ends.
    pub next: Option<u64>,
}

/// An entry, and the end of its turn where that stands right behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// The entry.
    pub message: ChatMessage,
    /// The language of its turn.
    pub locale: Locale,
    /// When and how its turn ended, if the end stands behind this entry.
    pub end: Option<(Timestamp, StoredEnd)>,
}

/// A number of a transcript, as a store finds it.
#[derive(Debug, Clone)]
pub struct TranscriptRow {
    /// The number.
    pub seq: u64,
    /// The entry; `None` for a call that has not ended.
    pub message: Option<ChatMessage>,
    /// The language of its turn.
    pub locale: Locale,
    /// When and how its turn ended, if the end stands behind this number.
    pub end: Option<(Timestamp, StoredEnd)>,
}

impl TranscriptPart {
    /// Makes a part of so many numbers of rows in order, of which there must be one more where there is one.
    #[must_use]
    pub fn of(rows: Vec<TranscriptRow>, max: usize) -> Self {
        let next = rows.get(max).map(|row| row.seq);
        let entry = |TranscriptRow { message, locale, end, .. }| {
            Some(StoredEntry { message: message?, locale, end })
        };
        Self { entries: rows.into_iter().take(max).filter_map(entry).collect(), next }
    }
}
