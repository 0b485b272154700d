//! The title that a user gives a chat.

use std::{fmt, sync::Arc};

use super::session_list::{MAX_TITLE, one_line};

/// A title that a user gave a chat: one line of 1 to 80 characters, without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTitle(Arc<str>);

/// A reason why a text is not a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTitle {
    /// Nothing but blanks and control characters is in it.
    #[error("a title has at least one character")]
    Empty,
    /// It has too many characters.
    #[error("a title has at most {max} characters", max = SessionTitle::MAX_CHARACTERS)]
    TooLong,
}

impl SessionTitle {
    /// The most characters of a title. A list shows it in one line.
    pub const MAX_CHARACTERS: usize = MAX_TITLE;

    /// Makes a title of a text. Control characters are left out, each run of blanks becomes one
    /// space, and there is none at either end.
    ///
    /// # Errors
    /// [`InvalidTitle`] if nothing is left, or too much.
    pub fn new(text: &str) -> Result<Self, InvalidTitle> {
        // Room for one more letter after a space, so that a longer one is not read to its end.
        let title = one_line(text, Self::MAX_CHARACTERS + 2);
        match title.chars().count() {
            0 => Err(InvalidTitle::Empty),
            1..=Self::MAX_CHARACTERS => Ok(Self(title.into())),
            _ => Err(InvalidTitle::TooLong),
        }
    }

    /// Returns the text of the title.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionTitle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_a_line_that_is_neither_empty_nor_cut() {
        let title = |text: &str| SessionTitle::new(text).map(|title| title.to_string());
        assert_eq!(title(" 수면\n\u{0} plan ").as_deref(), Ok("수면 plan"));
        for blank in ["", " \t\n", "\u{0}\u{7f}"] {
            assert_eq!(title(blank), Err(InvalidTitle::Empty), "{blank:?}");
        }
        let longest = "수".repeat(80);
        assert_eq!(title(&longest).as_deref(), Ok(&*longest));
        assert_eq!(title(&format!("{longest}  \n")).as_deref(), Ok(&*longest));
        assert_eq!(title(&format!("{longest} a")), Err(InvalidTitle::TooLong));
        assert_eq!(title(&format!("{longest}a")), Err(InvalidTitle::TooLong));
    }
}
