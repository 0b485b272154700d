//! A part of a transcript, read in order, with the ends of turns at their positions.

use super::StoredEnd;
use crate::protocol::{ChatMessage, LanguageTag, Timestamp};

/// A part of a transcript.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TranscriptPart {
    /// The entries in order. A call that has not ended has no entry.
    pub entries: Vec<StoredEntry>,
    /// The number from which to read on. `None` at the end of the transcript.
    pub next: Option<u64>,
}

/// An entry, and the end of its turn if that comes directly after it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// The entry itself.
    pub message: ChatMessage,
    /// The language of its turn.
    pub language: Option<LanguageTag>,
    /// When and how its turn ended, if the end comes after this entry.
    pub end: Option<(Timestamp, StoredEnd)>,
}

/// The size of the part of a transcript that is read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartSize {
    /// The maximum count of numbers.
    pub numbers: usize,
    /// The maximum of bytes, as the store keeps them. The first number is read whatever its size.
    pub bytes: usize,
}

impl PartSize {
    /// The whole transcript.
    pub const ALL: Self = Self { numbers: usize::MAX, bytes: usize::MAX };

    /// Returns a size without a bound on bytes.
    #[must_use]
    pub const fn of_numbers(numbers: usize) -> Self {
        Self { numbers, ..Self::ALL }
    }
}

/// A number of a transcript, as a store reads it.
#[derive(Debug, Clone)]
pub struct TranscriptRow {
    /// The number in the transcript.
    pub seq: u64,
    /// The bytes of the entry as the store keeps it.
    pub bytes: usize,
    /// The entry. `None` for a call that has not ended.
    pub message: Option<ChatMessage>,
    /// The language of its turn.
    pub language: Option<LanguageTag>,
    /// When and how its turn ended, if the end comes after this number.
    pub end: Option<(Timestamp, StoredEnd)>,
}

/// A part of a transcript that a store fills row by row, until the next one does not fit.
#[derive(Debug)]
pub struct UnfinishedPart {
    part: TranscriptPart,
    is_empty: bool,
    room: PartSize,
}

impl UnfinishedPart {
    /// Makes an empty part of this size.
    #[must_use]
    pub fn of(room: PartSize) -> Self {
        Self { part: TranscriptPart::default(), is_empty: true, room }
    }

    /// Adds a row if it fits, and returns whether it does. If it does not, the part is full and
    /// ends before it.
    pub fn take(&mut self, row: TranscriptRow) -> bool {
        let TranscriptRow { seq, bytes, message, language, end } = row;
        let fits = self.is_empty || bytes <= self.room.bytes;
        if self.room.numbers == 0 || !fits {
            self.part.next = Some(seq);
            return false;
        }
        self.is_empty = false;
        self.room.numbers -= 1;
        self.room.bytes = self.room.bytes.saturating_sub(bytes);
        self.part.entries.extend(message.map(|message| StoredEntry { message, language, end }));
        true
    }

    /// Returns the part.
    #[must_use]
    pub fn done(self) -> TranscriptPart {
        self.part
    }
}
