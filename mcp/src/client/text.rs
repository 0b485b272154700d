//! Makes texts of servers safe to show: nothing in them is invisible, and none is longer than its
//! bound.

use madang::event::is_visible;

/// Shows the code of every character that an eye would not see: control and format characters,
/// tags, fillers and marks of direction. Line breaks, tabs and blanks stay. So a person sees hidden
/// orders to a model as well.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        // The last of these makes an emoji of a sign.
        if is_visible(letter) || matches!(letter, '\n' | '\t' | '\u{fe0f}') {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_unicode());
        }
    }
    shown
}

/// Cuts a text to at most this many bytes, with a mark after the cut.
pub(super) fn cut(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max_bytes.saturating_sub('…'.len_utf8()));
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_letters_are_shown_and_others_stay() {
        let table = [
            (
                "Reads a file.\n\tTwice: 파일 é e\u{301} ✅️",
                "Reads a file.\n\tTwice: 파일 é e\u{301} ✅️",
            ),
            ("a\u{1b}[2J\r\u{7}", r"a\u{1b}[2J\u{d}\u{7}"),
            ("a\u{202e}b\u{200b}c\u{feff}", r"a\u{202e}b\u{200b}c\u{feff}"),
            ("\u{e0041}\u{e0042}", r"\u{e0041}\u{e0042}"),
        ];
        for (text, shown) in table {
            assert_eq!(visible(text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_cut_falls_between_letters() {
        assert_eq!(cut("가나다", 9), "가나다");
        assert_eq!(cut("가나다라", 9), "가나…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
