//! Makes texts of models, tools and users harmless for a terminal.

use std::borrow::Cow;

/// Replaces control characters and marks of direction by visible codes. Then no text can move the cursor, rewrite the
/// screen, or hide a part of itself. Line breaks and tabs stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    visible(text, |letter| letter.escape_unicode().to_string())
}

/// Does the same in JSON or beside it, so that a reader of the JSON gets the original text.
pub(crate) fn printable_json(text: &str) -> Cow<'_, str> {
    visible(text, |letter| {
        let mut units = [0; 2];
        letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    })
}

fn visible(text: &str, code: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let write = |letter| if is_harmful(letter) { code(letter) } else { letter.to_string() };
    Cow::Owned(text.chars().map(write).collect())
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
        let text = "a\u{7f}\u{9b}\u{202e}c";
        let json = serde_json::to_string(text).unwrap();
        let shown = printable_json(&json);
        assert_eq!(shown, r#""a\u007f\u009b\u202ec""#);
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        assert_eq!(printable("a\u{1b}[2Kb\r\u{9b}\u{202e}c"), r"a\u{1b}[2Kb\u{d}\u{9b}\u{202e}c");
    }
}
