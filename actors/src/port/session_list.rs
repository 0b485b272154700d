//! The list of a user's chats: a page of it, a position in it, and the summary of each chat.

use std::{fmt, str::FromStr};

use serde::Serialize;

use crate::protocol::{EventCursor, SessionId, Timestamp, TurnId};

/// The summary of a session in a list of chats, from what is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionSummary {
    /// The id of the session.
    pub session: SessionId,
    /// The time at which it was first opened.
    pub opened_at: Timestamp,
    /// The time of its last message or of the last end of a turn, whichever is later. It never goes
    /// back.
    pub last_at: Timestamp,
    /// The position after its last event. A reader that subscribes after it misses no later event.
    /// If a call has not ended, later entries wait for it, and so does the cursor.
    #[serde(rename = "cursor")]
    pub last: EventCursor,
    /// The title that the user gave the chat. Without one, it is the beginning of the user's first
    /// text since the last clearing, as one line of at most 80 characters. If there is no text
    /// since then, or the chat was never cleared, it is that of the first text of all. It is empty
    /// if that text cannot be read.
    pub title: String,
    /// The turn that has begun and not ended.
    pub open_turn: Option<TurnId>,
    /// Whether a call of the open turn waits for a person's decision.
    pub waits: bool,
}

impl SessionSummary {
    /// Returns the position of the session in the list. The next page begins after it.
    #[must_use]
    pub fn position(&self) -> SessionCursor {
        SessionCursor { last_at: self.last_at, session: self.session.clone() }
    }
}

/// A page of a list of chats: the newest, or those after a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPage {
    after: Option<SessionCursor>,
    limit: usize,
}

/// Returned if a page cannot have so many sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a page has 1 to {max} sessions, not {limit}", max = SessionPage::MAX_SESSIONS)]
pub struct InvalidPageSize {
    limit: usize,
}

impl SessionPage {
    /// The most sessions of a page. A screen shows fewer, and a reader of the store is borrowed for
    /// one page at a time.
    pub const MAX_SESSIONS: usize = 100;

    /// Begins with the newest session and has at most `limit` of them.
    ///
    /// # Errors
    /// [`InvalidPageSize`] unless the limit is 1 to [`MAX_SESSIONS`](Self::MAX_SESSIONS).
    pub const fn of(limit: usize) -> Result<Self, InvalidPageSize> {
        if limit == 0 || limit > Self::MAX_SESSIONS {
            return Err(InvalidPageSize { limit });
        }
        Ok(Self { after: None, limit })
    }

    /// Begins the page after this position, with the next older session.
    #[must_use]
    pub fn after(self, position: SessionCursor) -> Self {
        Self { after: Some(position), ..self }
    }

    /// Returns the position after which the page begins, or `None` for the newest sessions.
    #[must_use]
    pub const fn position(&self) -> Option<&SessionCursor> {
        self.after.as_ref()
    }

    /// Returns the most sessions that it may have.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }
}

/// The position of a session in a list of chats. It stays valid when that session moves to the
/// front or is forgotten, and distinguishes sessions of one moment.
///
/// Its text is opaque and can be put into an address as it is. It has digits, `a` to `f`, a dot,
/// and a minus sign if the moment was before 1970.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionCursor {
    last_at: Timestamp,
    session: SessionId,
}

impl SessionCursor {
    /// Returns the position of a session that is listed by this moment.
    #[must_use]
    pub const fn new(last_at: Timestamp, session: SessionId) -> Self {
        Self { last_at, session }
    }

    /// Returns the moment by which the list is ordered.
    #[must_use]
    pub const fn last_at(&self) -> Timestamp {
        self.last_at
    }

    /// Returns the session, by whose id sessions of one moment are ordered.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        &self.session
    }
}

impl fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.", self.last_at.millis())?;
        self.session.as_str().bytes().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text that is not a position in a list of chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a position in a list of chats: give one as it was returned")]
pub struct InvalidSessionCursor;

impl FromStr for SessionCursor {
    type Err = InvalidSessionCursor;
    fn from_str(text: &str) -> Result<Self, InvalidSessionCursor> {
        let parsed = || {
            let (last_at, digits) = text.split_once('.')?;
            let pairs = digits.as_bytes().chunks(2).map(std::str::from_utf8);
            let bytes = pairs.map(|pair| u8::from_str_radix(pair.ok()?, 16).ok());
            let session = String::from_utf8(bytes.collect::<Option<_>>()?).ok()?;
            let last_at = Timestamp::from_millis(last_at.parse().ok()?);
            Some(Self { last_at, session: SessionId::new(session).ok()? })
        };
        // Each position has one text: no other digits, signs or zeros.
        parsed().filter(|cursor| cursor.to_string() == text).ok_or(InvalidSessionCursor)
    }
}

/// The most characters of a title.
pub(super) const MAX_TITLE: usize = 80;

/// Makes the title of a chat from a text: its first 80 characters without control characters, on
/// one line. Each run of blanks becomes one space, and there is none at either end.
#[must_use]
pub fn session_title(text: &str) -> String {
    one_line(text, MAX_TITLE)
}

/// Puts a text on one line, as [`session_title`] does, and cuts it after this many characters.
pub(super) fn one_line(text: &str, max: usize) -> String {
    let mut title = String::new();
    let mut letters = 0;
    let mut is_behind_blanks = false;
    for letter in text.chars() {
        if letter.is_whitespace() {
            is_behind_blanks = letters > 0;
        } else if !letter.is_control() {
            let spaces = usize::from(is_behind_blanks);
            if letters + spaces >= max {
                break;
            }
            title.extend(std::iter::repeat_n(' ', spaces));
            title.push(letter);
            letters += spaces + 1;
            is_behind_blanks = false;
        }
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(last_at: i64, session: &str) -> SessionCursor {
        let session = SessionId::new(session).expect("a name");
        SessionCursor { last_at: Timestamp::from_millis(last_at), session }
    }

    #[test]
    fn a_title_is_one_line_of_at_most_80_characters() {
        let long = "가".repeat(100);
        for (text, title) in [
            ("", ""),
            (" \t\n\u{1}", ""),
            ("Good day!", "Good day!"),
            ("  수면\n\n 습관\t🙂 \r\n", "수면 습관 🙂"),
            // A control character is no blank.
            ("a\u{1}b\u{7f}\u{85}c \u{0} d", "ab c d"),
            ("\u{3000}a\u{a0}b", "a b"),
            (&long, &long[..240]),
            // No blank is at the end, and none is cut in half.
            (&format!("{} b", "a".repeat(78)), &format!("{} b", "a".repeat(78))),
            (&format!("{} b", "a".repeat(79)), &"a".repeat(79)),
            (&format!("{} b", "a".repeat(80)), &"a".repeat(80)),
        ] {
            assert_eq!(session_title(text), title, "{text:?}");
        }
    }

    #[test]
    fn a_position_is_read_as_it_is_written_and_from_no_other_text() {
        for (position, text) in [
            (cursor(17, "s"), "17.73"),
            (cursor(0, "수면 /?"), "0.ec8898eba9b4202f3f"),
            (cursor(-5, "a"), "-5.61"),
            (cursor(i64::MAX, "a"), "9223372036854775807.61"),
        ] {
            assert_eq!(position.to_string(), text);
            assert_eq!(text.parse(), Ok(position));
        }
        let too_long = format!("1.{}", "61".repeat(257));
        for text in [
            "",
            ".",
            "17",
            "17.",
            "17.7",
            "17.7g",
            "17.7A",
            "+17.73",
            "017.73",
            "-0.73",
            "x.73",
            "17.73 ",
            "17.+773",
            "17.00",
            "17.ff",
            "17.수",
            "9223372036854775808.73",
            &too_long,
        ] {
            assert_eq!(text.parse::<SessionCursor>(), Err(InvalidSessionCursor), "{text:?}");
        }
    }

    #[test]
    fn positions_are_ordered_by_moment_and_then_by_session() {
        let positions = [cursor(-1, "b"), cursor(1, "a"), cursor(1, "b"), cursor(2, "a")];
        assert!(positions.is_sorted());
    }

    #[test]
    fn a_page_has_1_to_100_sessions() {
        for limit in [1, 2, 100] {
            assert_eq!(SessionPage::of(limit).map(|page| page.limit()), Ok(limit));
        }
        for limit in [0, 101, usize::MAX] {
            let error = SessionPage::of(limit).expect_err("no page");
            assert_eq!(error.to_string(), format!("a page has 1 to 100 sessions, not {limit}"));
        }
    }

    #[test]
    fn a_summary_is_written_under_the_names_of_the_wire() {
        let summary = SessionSummary {
            session: SessionId::new("s").expect("a name"),
            opened_at: Timestamp::from_millis(1),
            last_at: Timestamp::from_millis(2),
            last: EventCursor::of_entry(3).end(),
            title: "t".to_owned(),
            open_turn: None,
            waits: false,
        };
        let json = serde_json::to_string(&summary).expect("plain data");
        let expected = r#"{"session":"s","opened_at":1,"last_at":2,"cursor":"3.2","title":"t","open_turn":null,"waits":false}"#;
        assert_eq!(json, expected);
        assert_eq!(summary.position().to_string(), "2.73");
    }
}
