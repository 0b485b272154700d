//! Folds texts for comparing: composed, without regard to case, without invisible characters.
use unicode_normalization::UnicodeNormalization;

/// Folds a text for comparing. Texts that are shown or stored stay as written.
pub(super) fn fold(text: &str) -> String {
    // Upper case comes first, because it unites letters that have several lower cases, such as
    // sigma, or ß and ss.
    let visible = text.trim().chars().filter(|c| !is_invisible(*c));
    visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect()
}

/// Returns whether a character is invisible. Such a one would make equal words differ, or turn a
/// line around.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{00ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_composition_make_no_difference() {
        for (one, other) in [
            ("Caf\u{e9}", "CAFE\u{301}"),
            ("한글", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}"),
            ("Straße", "STRASSE"),
            ("ΣΊΣΥΦΟΣ", "σίσυφος"),
            ("\u{212a}elvin", "kelvin"),
            ("a\u{200b}b\u{202e}", "AB"),
        ] {
            assert_eq!(fold(one), fold(other), "{one} {other}");
        }
    }

    #[test]
    fn different_words_stay_different() {
        assert_ne!(fold("마당"), fold("마당극"));
        assert_ne!(fold("a b"), fold("ab"));
    }
}
