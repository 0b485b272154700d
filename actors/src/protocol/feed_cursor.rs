//! The position of a reader in one feed: a cursor, and what that feed has published after it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{EventCursor, InvalidCursor, SessionEvent, as_text};

/// The position of a reader in the events of a session. Its [`EventCursor`] stays the same over
/// sleep and restarts. While the feed exists, the position also contains which of the events that
/// are not stored were published, so that each of them is received once. As text it is
/// `17.2@5f1c.341`, or only the cursor of an event that was read from the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FeedCursor {
    /// The position in the stored events.
    pub stored: EventCursor,
    /// The feed, and the number of the last event that it published, or `None` if that is not
    /// known.
    pub published: Option<(FeedEpoch, u64)>,
}

/// The random name of one feed. A session has a new feed each time it comes back into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FeedEpoch(u64);

impl FeedEpoch {
    /// Wraps a random number.
    #[must_use]
    pub const fn new(random: u64) -> Self {
        Self(random)
    }
}

impl FeedCursor {
    /// Returns the position after an event that the feed of this epoch published, or that was read
    /// from the store while it lived.
    #[must_use]
    pub const fn after(event: &SessionEvent, epoch: FeedEpoch) -> Self {
        let published = if event.seq == 0 { None } else { Some((epoch, event.seq)) };
        Self { stored: event.cursor, published }
    }
}

impl From<EventCursor> for FeedCursor {
    fn from(stored: EventCursor) -> Self {
        Self { stored, published: None }
    }
}

impl fmt::Display for FeedEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.published {
            None => self.stored.fmt(f),
            Some((epoch, seq)) => write!(f, "{}@{epoch}.{seq}", self.stored),
        }
    }
}

impl FromStr for FeedCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let Some((stored, published)) = text.split_once('@') else {
            return Ok(Self::from(text.parse::<EventCursor>()?));
        };
        let (epoch, seq) = published.split_once('.').ok_or(InvalidCursor)?;
        let epoch = u64::from_str_radix(epoch, 16).map_err(|_| InvalidCursor)?;
        let seq = seq.parse().map_err(|_| InvalidCursor)?;
        let published = Some((FeedEpoch(epoch), seq));
        Ok(Self { stored: stored.parse()?, published })
    }
}

as_text!(FeedCursor, InvalidCursor);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_text_it_is_the_cursor_and_what_the_feed_published_behind_it() {
        let up_to = |epoch, seq| Some((FeedEpoch::new(epoch), seq));
        let at = EventCursor::of_entry(17);
        for (text, stored, published) in [
            ("0", EventCursor::START, None),
            ("17.2", at.end(), None),
            ("17@5f1c.341", at, up_to(0x5f1c, 341)),
            ("17.1@0.0", at.error(), up_to(0, 0)),
            ("17@ffffffffffffffff.9", at, up_to(u64::MAX, 9)),
        ] {
            let cursor = FeedCursor { stored, published };
            assert_eq!(cursor.to_string(), text);
            assert_eq!(text.parse(), Ok(cursor));
            assert_eq!(serde_json::to_value(cursor).unwrap(), text);
            assert_eq!(serde_json::from_value::<FeedCursor>(text.into()).unwrap(), cursor);
        }
    }

    #[test]
    fn a_text_of_another_form_is_no_cursor() {
        let no_cursors =
            ["", "@", "17@", "17@5f1c", "17@.3", "17@5f1c.", "17@xyz.3", "@5f1c.3", "17.3@5f1c.3"];
        for text in no_cursors {
            assert_eq!(text.parse::<FeedCursor>(), Err(InvalidCursor), "{text:?}");
        }
        let too_large = format!("17@1{:x}.3", u64::MAX);
        assert_eq!(too_large.parse::<FeedCursor>(), Err(InvalidCursor));
    }
}
