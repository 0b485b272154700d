//! A part of a transcript, read in order, with the ends of turns at their positions.

use super::StoredEnd;
use crate::protocol::{ChatMessage, LanguageTag, Timestamp};

/// A part of a transcript.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TranscriptPart {
    /// The entries in order. A call that has not ended has no entry.
    pub entries: Vec<StoredEntry>,
    /// The number from which to read on; `None` where the transcript ends.
    pub next: Option<u64>,
}

/// An entry, and the end of its turn where that stands right behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// The entry itself.
    pub message: ChatMessage,
    /// The language of its turn.
    pub language: Option<LanguageTag>,
    /// When and how its turn ended, if the end stands behind this entry.
    pub end: Option<(Timestamp, StoredEnd)>,
}

/// A number of a transcript, as a store finds it.
#[derive(Debug, Clone)]
pub struct TranscriptRow {
    /// The number in the transcript.
    pub seq: u64,
    /// The entry; `None` for a call that has not ended.
    pub message: Option<ChatMessage>,
    /// The language of its turn.
    pub language: Option<LanguageTag>,
    /// When and how its turn ended, if the end stands behind this number.
    pub end: Option<(Timestamp, StoredEnd)>,
}

impl TranscriptPart {
    /// Makes a part of at most `max` numbers. `rows` must have one more row where the transcript goes on.
    #[must_use]
    pub fn of(rows: Vec<TranscriptRow>, max: usize) -> Self {
        let next = rows.get(max).map(|row| row.seq);
        let entry = |TranscriptRow { message, language, end, .. }| {
            Some(StoredEntry { message: message?, language, end })
        };
        Self { entries: rows.into_iter().take(max).filter_map(entry).collect(), next }
    }
}
