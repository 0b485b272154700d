//! Reads JSON as editors have it, with a byte order mark, comments, and commas after the last
//! member.

/// Returns plain JSON of the same length, so that a mistake in it is at the same line and column.
pub(super) fn plain_json(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut plain = String::with_capacity(text.len());
    let mut last_comma = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('"', _) => {
                last_comma = None;
                plain.push(letter);
                copy_string(&mut letters, &mut plain);
            }
            ('/', Some('/')) => {
                blank(letter, &mut plain);
                while let Some(letter) = letters.next_if(|letter| *letter != '\n') {
                    blank(letter, &mut plain);
                }
            }
            ('/', Some('*')) => {
                blank(letter, &mut plain);
                blank_comment(&mut letters, &mut plain);
            }
            _ if letter.is_ascii_whitespace() => plain.push(letter),
            (',', _) => {
                last_comma = Some(plain.len());
                plain.push(letter);
            }
            ('}' | ']', _) => {
                if let Some(comma) = last_comma.take() {
                    plain.replace_range(comma..=comma, " ");
                }
                plain.push(letter);
            }
            _ => {
                last_comma = None;
                plain.push(letter);
            }
        }
    }
    plain
}

/// Copies a string up to its end.
fn copy_string(letters: &mut impl Iterator<Item = char>, plain: &mut String) {
    let mut is_escaped = false;
    for letter in letters {
        plain.push(letter);
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return,
            _ => {}
        }
    }
}

/// Blanks a comment of several lines, from its star on.
fn blank_comment(letters: &mut impl Iterator<Item = char>, plain: &mut String) {
    letters.by_ref().take(1).for_each(|star| blank(star, plain));
    let mut before = ' ';
    for letter in letters {
        blank(letter, plain);
        if (before, letter) == ('*', '/') {
            return;
        }
        before = letter;
    }
}

/// Writes as many blanks as the character has bytes.
fn blank(letter: char, plain: &mut String) {
    if letter == '\n' {
        plain.push(letter);
    } else {
        plain.extend(std::iter::repeat_n(' ', letter.len_utf8()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn comments_and_last_commas_are_no_part_of_it_and_strings_stay() {
        let table = [
            ("\u{feff}{}", json!({})),
            ("{ // 설명 \"x\",\n \"a\": 1, }", json!({ "a": 1 })),
            ("{ \"a\": [1, /* two, */ 3, /*] */ ], /**/ }", json!({ "a": [1, 3] })),
            (
                r#"{ "u": "https://e.org/*a*/", "b": "\",}//", }"#,
                json!({ "u": "https://e.org/*a*/", "b": "\",}//" }),
            ),
            ("[\"a\\\\\", // b\n]", json!(["a\\"])),
        ];
        for (text, value) in table {
            let plain = plain_json(text);
            let read = serde_json::from_str::<Value>(&plain);
            assert_eq!(read.as_ref().ok(), Some(&value), "{text}: {plain}");
            assert_eq!(plain.len(), text.trim_start_matches('\u{feff}').len());
        }
        for broken in ["{,}x", "[1,,]", "{ /* }", "{ \"a }", "/", "[, 1]"] {
            assert!(serde_json::from_str::<Value>(&plain_json(broken)).is_err(), "{broken}");
        }
    }
}
