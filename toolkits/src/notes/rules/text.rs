//! Judges the texts of titles and blocks.
use super::{
    super::{block::MAX_CONTENT_CHARS, page::MAX_TITLE_CHARS},
    NotesViolation,
};

/// Requires that a title is one line and not blank, and has no control characters.
///
/// # Errors
/// Returns [`NotesViolation::BlankTitle`], [`NotesViolation::LongTitle`] or
/// [`NotesViolation::ControlInTitle`].
pub fn judge_title(title: &str) -> Result<(), NotesViolation> {
    if title.trim().is_empty() {
        return Err(NotesViolation::BlankTitle);
    }
    if title.chars().count() > MAX_TITLE_CHARS {
        return Err(NotesViolation::LongTitle);
    }
    if title.chars().any(|c| c.is_control() || ends_line(c)) {
        return Err(NotesViolation::ControlInTitle);
    }
    Ok(())
}

/// Requires that a block is one line without control characters except for tabs. It may be empty.
///
/// # Errors
/// Returns [`NotesViolation::Newline`], [`NotesViolation::ControlInText`] or
/// [`NotesViolation::LongContent`].
pub fn judge_content(content: &str) -> Result<(), NotesViolation> {
    if content.chars().any(ends_line) {
        return Err(NotesViolation::Newline);
    }
    judge_text("content", content)?;
    if content.chars().count() > MAX_CONTENT_CHARS {
        return Err(NotesViolation::LongContent);
    }
    Ok(())
}

/// Requires that a text to search for, repeat or insert has no control characters except for tabs.
///
/// # Errors
/// Returns [`NotesViolation::ControlInText`].
pub fn judge_text(field: &'static str, text: &str) -> Result<(), NotesViolation> {
    if text.chars().any(|c| c.is_control() && c != '\t') {
        return Err(NotesViolation::ControlInText { field });
    }
    Ok(())
}

/// Returns whether some program takes this character for the end of a line.
const fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
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
        assert_eq!(judge_title(" \t "), Err(NotesViolation::BlankTitle));
        assert_eq!(judge_title(&"가".repeat(201)), Err(NotesViolation::LongTitle));
        for title in ["a\nb", "a\0b", "a\u{2028}b", "a\u{7}"] {
            assert_eq!(judge_title(title), Err(NotesViolation::ControlInTitle), "{title:?}");
        }
    }

    #[test]
    fn a_block_is_one_line() {
        for content in ["", " ", "- [x] 작업", "\ttab", &"가".repeat(10_000)] {
            assert_eq!(judge_content(content), Ok(()), "{content}");
        }
        assert_eq!(judge_content(&"가".repeat(10_001)), Err(NotesViolation::LongContent));
        for content in ["\u{1b}[0m", "a\0", "\u{7}", "\u{9b}"] {
            let refused = NotesViolation::ControlInText { field: "content" };
            assert_eq!(judge_content(content), Err(refused), "{content:?}");
        }
        for content in ["a\nb", "\r", "a\u{85}", "\u{2029}"] {
            assert_eq!(judge_content(content), Err(NotesViolation::Newline), "{content:?}");
        }
    }
}
