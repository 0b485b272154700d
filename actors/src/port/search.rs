//! Searching the texts of a user's chats: what is looked for, how much is read at once, and what is
//! found. Every store finds alike, because the comparison is here.

use std::{fmt, mem, str::FromStr, time::Duration};

use serde::Serialize;
use tokio::time::Instant;

use super::SessionCursor;
use crate::protocol::{ChatMessage, Content, SessionId, Timestamp, TurnId};

/// The words that are looked for. Upper and lower case are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchText(String);

/// A reason why a text cannot be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSearch {
    /// Nothing but blanks is in it.
    #[error("a search needs at least one character that is no blank")]
    Empty,
    /// It is too long.
    #[error("a search has at most {max} bytes", max = SearchText::MAX_BYTES)]
    TooLong,
}

impl SearchText {
    /// The most bytes of a search. A person types a few words.
    pub const MAX_BYTES: usize = 256;

    /// Looks for this text, without the blanks at its ends.
    ///
    /// # Errors
    /// [`InvalidSearch`] if nothing is left, or too much.
    pub fn new(text: &str) -> Result<Self, InvalidSearch> {
        let text = text.trim();
        match text.len() {
            0 => Err(InvalidSearch::Empty),
            1..=Self::MAX_BYTES => Ok(Self(lower(text))),
            _ => Err(InvalidSearch::TooLong),
        }
    }

    /// Finds the first place in a text.
    fn find(&self, text: &str) -> Option<Excerpt> {
        let from = lower(text).find(&self.0)?;
        let to = from + self.0.len();
        // The lower case of a letter may have another length.
        let (mut begin, mut end, mut at) = (None, text.len(), 0);
        for (index, letter) in text.char_indices() {
            at += letter.to_lowercase().map(char::len_utf8).sum::<usize>();
            if at > from {
                begin.get_or_insert(index);
            }
            if at >= to {
                end = index + letter.len_utf8();
                break;
            }
        }
        let begin = begin?;
        Some(Excerpt::of(&text[..begin], &text[begin..end], &text[end..]))
    }
}

fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// A search in the texts of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// The words that are looked for.
    pub text: SearchText,
    /// The position after which it goes on; `None` for the newest chat.
    pub after: Option<SearchCursor>,
    /// How much is read and found at once.
    pub bounds: SearchBounds,
}

impl SearchQuery {
    /// Looks for this text in all chats, the newest first, within the usual bounds.
    #[must_use]
    pub fn new(text: SearchText) -> Self {
        Self { text, after: None, bounds: SearchBounds::default() }
    }

    /// Goes on after this position, which an earlier page returned.
    #[must_use]
    pub fn after(self, position: SearchCursor) -> Self {
        Self { after: Some(position), ..self }
    }
}

/// The bounds of one page of a search. A search goes on where they end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchBounds {
    /// The most texts that are found.
    pub hits: usize,
    /// The most bytes of texts that are read. One text is read whatever its bytes are.
    pub bytes: usize,
    /// The longest time that is spent. A text, or a chat without one, is read in any case.
    pub time: Duration,
}

impl Default for SearchBounds {
    /// Finds as many texts as a screen shows, and reads as much as takes some tens of milliseconds.
    fn default() -> Self {
        Self { hits: 20, bytes: 8 * 1024 * 1024, time: Duration::from_millis(500) }
    }
}

/// A page of a search.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchPage {
    /// The texts that were found: the newest chat first, and those of a chat in their order.
    pub hits: Vec<SearchHit>,
    /// The position after which the search goes on. `None` if every chat was searched. A page
    /// without a text may have one, if the bounds ended it.
    pub next: Option<SearchCursor>,
}

/// A text that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchHit {
    /// The session of the chat.
    pub session: SessionId,
    /// The title of the chat.
    pub title: String,
    /// The turn of the text.
    pub turn: TurnId,
    /// The number of the text in the transcript.
    pub seq: u64,
    /// The time of the text.
    pub at: Timestamp,
    /// The side that said it.
    pub role: TextRole,
    /// The place in the text.
    #[serde(flatten)]
    pub excerpt: Excerpt,
}

/// The side of a chat that said a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TextRole {
    /// The user.
    User,
    /// A model.
    Model,
}

/// The place in a text where something was found, on one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Excerpt {
    /// What comes before, at most 60 characters. It begins with `…` if more comes before.
    pub before: String,
    /// What was found, as the text has it.
    #[serde(rename = "match")]
    pub found: String,
    /// What comes after, at most 100 characters. It ends with `…` if more comes after.
    pub after: String,
}

/// The most characters of an excerpt before and after what was found.
const AROUND: (usize, usize) = (60, 100);

impl Excerpt {
    fn of(before: &str, found: &str, after: &str) -> Self {
        let cut = before.char_indices().rev().nth(AROUND.0 - 1).map_or(0, |(at, _)| at);
        let mut begins = line(&before[cut..]);
        if cut > 0 {
            begins.insert(0, '…');
        }
        let cut = after.char_indices().nth(AROUND.1).map_or(after.len(), |(at, _)| at);
        let mut ends = line(&after[..cut]);
        if cut < after.len() {
            ends.push('…');
        }
        Self { before: begins, found: line(found), after: ends }
    }
}

/// Makes one space of each run of blanks, and leaves out control characters.
fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_whitespace() {
            if !line.ends_with(' ') {
                line.push(' ');
            }
        } else if !letter.is_control() {
            line.push(letter);
        }
    }
    line
}

/// A position in the texts of a user: after an entry of a chat. It stays valid when the chat is
/// forgotten. If the chat moves to the front of the list, the rest of it is found on the first page
/// of a new search.
///
/// Its text is opaque and can be put into an address as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct SearchCursor {
    chat: SessionCursor,
    seq: u64,
}

impl SearchCursor {
    /// Returns the position after this entry of a chat.
    #[must_use]
    pub const fn new(chat: SessionCursor, seq: u64) -> Self {
        Self { chat, seq }
    }

    /// Returns the position of the chat in the list.
    #[must_use]
    pub const fn chat(&self) -> &SessionCursor {
        &self.chat
    }

    /// Returns the number of the entry.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.seq
    }
}

impl fmt::Display for SearchCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.chat, self.seq)
    }
}

impl Serialize for SearchCursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that is not a position in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a position in a search: give one as it was returned")]
pub struct InvalidSearchCursor;

impl FromStr for SearchCursor {
    type Err = InvalidSearchCursor;

    fn from_str(text: &str) -> Result<Self, InvalidSearchCursor> {
        let parsed = || {
            let (chat, seq) = text.rsplit_once('.')?;
            Some(Self { chat: chat.parse().ok()?, seq: seq.parse().ok()? })
        };
        // Each position has one text: no other digits, signs or zeros.
        parsed().filter(|cursor| cursor.to_string() == text).ok_or(InvalidSearchCursor)
    }
}

/// A page of a search that a store fills text by text, until a bound ends it.
#[derive(Debug)]
pub struct UnfinishedSearch<'a> {
    text: &'a SearchText,
    page: SearchPage,
    hits: usize,
    bytes: usize,
    /// `None` for a time that never comes.
    until: Option<Instant>,
    has_read: bool,
}

impl<'a> UnfinishedSearch<'a> {
    /// Begins a page.
    #[must_use]
    pub fn of(query: &'a SearchQuery) -> Self {
        let SearchBounds { hits, bytes, time } = query.bounds;
        Self {
            text: &query.text,
            page: SearchPage::default(),
            hits: hits.max(1),
            bytes,
            until: Instant::now().checked_add(time),
            has_read: false,
        }
    }

    /// Asks before each read whether the page goes on with the entries of this chat after `seq`.
    /// The first read of a page is never refused, so each page gets further.
    pub fn reads_on(&mut self, chat: &SessionCursor, seq: u64) -> bool {
        let goes_on = !mem::replace(&mut self.has_read, true) || !self.is_late();
        if !goes_on {
            self.page.next = Some(SearchCursor::new(chat.clone(), seq));
        }
        goes_on
    }

    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Compares an entry of this chat, which takes so many bytes in the store. Returns whether the
    /// page goes on after it.
    pub fn take(&mut self, chat: &SessionCursor, entry: &ChatMessage, bytes: usize) -> bool {
        let said = match &entry.content {
            Content::User { text, .. } => Some((TextRole::User, text)),
            Content::Model { text, .. } => Some((TextRole::Model, text)),
            Content::ToolCall(_) | Content::Notice { .. } | Content::Cleared => None,
        };
        let found = said.and_then(|(role, text)| Some((role, self.text.find(text)?)));
        if let Some((role, excerpt)) = found {
            self.page.hits.push(SearchHit {
                session: chat.session().clone(),
                title: String::new(),
                turn: entry.turn,
                seq: entry.seq,
                at: entry.at,
                role,
                excerpt,
            });
            self.hits -= 1;
        }
        let goes_on = self.hits > 0 && bytes < self.bytes && !self.is_late();
        self.bytes = self.bytes.saturating_sub(bytes);
        if !goes_on {
            self.page.next = Some(SearchCursor::new(chat.clone(), entry.seq));
        }
        goes_on
    }

    /// Returns the page. The store adds the titles of its chats.
    #[must_use]
    pub fn done(self) -> SearchPage {
        self.page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &str, text: &str) -> Option<String> {
        let Excerpt { before, found, after } = SearchText::new(words).unwrap().find(text)?;
        Some(format!("{before}[{found}]{after}"))
    }

    #[test]
    fn words_are_found_in_any_case_and_shown_as_they_are_written() {
        for (words, text, expected) in [
            ("sleep", "Sleep well", Some("[Sleep] well")),
            (" SLEEP\n", "I slEEp", Some("I [slEEp]")),
            ("수면", "좋은 수면 습관", Some("좋은 [수면] 습관")),
            ("two words", "of two words.", Some("of [two words].")),
            ("b", "a\n\n\tb\u{0}\n c", Some("a [b] c")),
            // A letter whose lower case is longer, and one of which only a part fits.
            ("x", "İİ x", Some("İİ [x]")),
            ("i", "İ", Some("[İ]")),
            ("\u{307}", "İ", Some("[İ]")),
            ("sleep", "slee p", None),
            (".", "a", None),
        ] {
            assert_eq!(found(words, text).as_deref(), expected, "{words:?} in {text:?}");
        }
    }

    #[test]
    fn an_excerpt_is_short_and_says_where_it_is_cut() {
        let text = format!("{}수면{}", "가".repeat(61), "나".repeat(101));
        let expected = format!("…{}[수면]{}…", "가".repeat(60), "나".repeat(100));
        assert_eq!(found("수면", &text), Some(expected));
        let text = format!("{}수면{}", "가".repeat(60), "나".repeat(100));
        let expected = format!("{}[수면]{}", "가".repeat(60), "나".repeat(100));
        assert_eq!(found("수면", &text), Some(expected));
    }

    #[test]
    fn a_search_is_neither_blank_nor_long() {
        assert_eq!(SearchText::new(" \n"), Err(InvalidSearch::Empty));
        assert!(SearchText::new(&"a".repeat(256)).is_ok());
        assert_eq!(SearchText::new(&"a".repeat(257)), Err(InvalidSearch::TooLong));
    }

    #[test]
    fn a_position_is_read_as_it_is_written() {
        for text in ["5.73.3", "-5.eab080.0"] {
            assert_eq!(text.parse::<SearchCursor>().unwrap().to_string(), text);
        }
        for bad in ["", "5.73", "5.73.", "5.73.-1", "5.73.03", "5.73.3 ", "x.73.3"] {
            assert_eq!(bad.parse::<SearchCursor>(), Err(InvalidSearchCursor), "{bad:?}");
        }
    }
}
