//! What a title and a block may say.
use super::{
    super::{block::MAX_CONTENT_CHARS, page::MAX_TITLE_CHARS},
    Violation,
};

/// A title is one line that says something.
///
/// # Errors
/// [`Violation::BlankTitle`], [`Violation::LongTitle`], [`Violation::ControlInTitle`].
pub fn judge_title(title: &str) -> Result<(), Violation> {
    if title.trim().is_empty() {
        return Err(Violation::BlankTitle);
    }
    if title.chars().count() > MAX_TITLE_CHARS {
        return Err(Violation::LongTitle);
    }
    if title.chars().any(|c| c.is_control() || ends_line(c)) {
        return Err(Violation::ControlInTitle);
    }
    Ok(())
}

/// A block is one line, perhaps an empty one.
///
/// # Errors
/// [`Violation::Newline`], [`Violation::LongContent`].
pub fn judge_content(content: &str) -> Result<(), Violation> {
    if content.chars().any(ends_line) {
        return Err(Violation::Newline);
    }
    if content.chars().count() > MAX_CONTENT_CHARS {
        return Err(Violation::LongContent);
    }
    Ok(())
}

/// Whatever some program takes for the end of a line, and what ends a text for SQLite.
const fn ends_line(c: char) -> bool {
    matches!(c, '\0' | '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_that_says_something() {
        for title in
            ["마당", "CON", "..", "a/b", "🎭", &"가".repeat(85), &"x".repeat(200), "\u{202e}x"]
        {
            assert_eq!(judge_title(title), Ok(()), "{title}");
        }
        assert_eq!(judge_title(" \t "), Err(Violation::BlankTitle));
        assert_eq!(judge_title(&"가".repeat(201)), Err(Violation::LongTitle));
        for title in ["a\nb", "a\0b", "a\u{2028}b", "a\u{7}"] {
            assert_eq!(judge_title(title), Err(Violation::ControlInTitle), "{title:?}");
        }
    }

    #[test]
    fn a_block_is_one_line() {
        for content in ["", " ", "- [x] 작업", "\ttab", "\u{1b}[0m", &"가".repeat(10_000)] {
            assert_eq!(judge_content(content), Ok(()), "{content}");
        }
        assert_eq!(judge_content(&"가".repeat(10_001)), Err(Violation::LongContent));
        for content in ["a\nb", "\r", "a\u{85}", "\u{2029}", "a\0"] {
            assert_eq!(judge_content(content), Err(Violation::Newline), "{content:?}");
        }
    }
}
