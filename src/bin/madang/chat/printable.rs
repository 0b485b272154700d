//! Text of models, tools and users, made harmless for a terminal.

use std::borrow::Cow;

/// Shows control characters and those that turn the direction of text as what they are, so that no text can move the
/// cursor, rewrite what a person was shown, or hide a part of it. Line breaks and tabs stay.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_harmful(letter) { shown.extend(letter.escape_unicode()) } else { shown.push(letter) }
    }
    Cow::Owned(shown)
}

fn is_harmful(letter: char) -> bool {
    let is_direction = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || is_direction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        assert_eq!(printable("습관\n\t✅ done"), "습관\n\t✅ done");
        assert_eq!(printable("a\u{1b}[2Kb\r\u{9b}\u{202e}c"), r"a\u{1b}[2Kb\u{d}\u{9b}\u{202e}c");
    }
}
