//! Makes texts of models, tools and users harmless for a terminal.

use std::borrow::Cow;

use madang::event::is_visible;

/// Replaces control and format characters, tags, fillers and marks of direction by visible codes.
/// Then no text can move the cursor, rewrite the screen, or hide a part of itself. Line breaks,
/// tabs and spaces stay, and so do the joiners that some scripts and emoji are written with.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let is_joiner = |letter| matches!(letter, '\u{200c}' | '\u{200d}');
    shown(
        text,
        |letter| is_hidden(letter) && !is_joiner(letter),
        |letter| letter.escape_unicode().to_string(),
    )
}

/// Does the same in JSON or beside it, so that a reader of the JSON gets the original text. There
/// joiners are replaced too.
pub(crate) fn printable_json(text: &str) -> Cow<'_, str> {
    shown(text, is_hidden, |letter| {
        let mut units = [0; 2];
        letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    })
}

fn shown(
    text: &str,
    is_hidden: impl Fn(char) -> bool,
    code: impl Fn(char) -> String,
) -> Cow<'_, str> {
    if !text.contains(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let write = |letter| if is_hidden(letter) { code(letter) } else { letter.to_string() };
    Cow::Owned(text.chars().map(write).collect())
}

fn is_hidden(letter: char) -> bool {
    // The last makes an emoji of a sign.
    let is_space = letter.is_whitespace() && !matches!(letter, '\u{2028}' | '\u{2029}');
    let stays = matches!(letter, '\n' | '\t' | '\u{fe0f}') || is_space && !letter.is_control();
    !stays && !is_visible(letter)
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

    #[test]
    fn no_letter_is_hidden_but_spaces_joiners_and_signs_of_emoji_stay() {
        assert_eq!(
            printable("a\u{200b}b\u{e0041}\u{feff}\u{3164}\u{ad}\u{2028}"),
            r"a\u{200b}b\u{e0041}\u{feff}\u{3164}\u{ad}\u{2028}"
        );
        let stays = "à\u{a0}voir !\u{3000}می\u{200c}خواهم 👩\u{200d}💻 ✅\u{fe0f} e\u{301}";
        assert_eq!(printable(stays), stays);
        let json = serde_json::to_string("👩\u{200d}💻 a\u{e0041}").unwrap();
        let shown = printable_json(&json);
        assert_eq!(shown, r#""👩\u200d💻 a\udb40\udc41""#);
        assert_eq!(
            serde_json::from_str::<String>(&shown).unwrap(),
            serde_json::from_str::<String>(&json).unwrap()
        );
    }
}
