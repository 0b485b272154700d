//! Text in rows that a terminal does not break: each row carries a mark of the program at its beginning, so that no text
//! can look like a line of the program by being padded to the width of the terminal.

use unicode_width::UnicodeWidthChar;

/// Nothing is shown in fewer columns; a terminal that is narrower breaks rows as it likes.
const MIN_COLUMNS: usize = 10;

/// What stands at the beginning of the rows of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gutter {
    /// Of the first row of each line.
    pub(super) line: &'static str,
    /// Of the rows in which a line goes on.
    pub(super) rest: &'static str,
}

impl Gutter {
    /// Of a line that the program says.
    pub(super) const LINE: Self = Self { line: "", rest: "┊ " };
    /// Of a question.
    pub(super) const QUESTION: Self = Self { line: "│ ", rest: "┊ " };
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    /// Of the terminal on standard output; the usual one where it does not say.
    pub(super) fn now() -> Self {
        let usual = Self { columns: 80, rows: 24 };
        let Some((columns, rows)) = size() else { return usual };
        let or = |given: u16, usual| if given == 0 { usual } else { usize::from(given) };
        Self { columns: or(columns, usual.columns), rows: or(rows, usual.rows) }
    }

    /// So many columns are written to: the last stays free, as some terminals go on to the next row by themselves.
    pub(super) fn writable(self) -> usize {
        self.columns.saturating_sub(1).max(MIN_COLUMNS)
    }
}

#[cfg(unix)]
fn size() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some((size.ws_col, size.ws_row))
}

#[cfg(not(unix))]
fn size() -> Option<(u16, u16)> {
    crossterm::terminal::size().ok()
}

/// The rows of a text without control characters but line breaks. A line that goes on keeps its indentation, as far as
/// that leaves half of the row.
pub(super) fn rows(text: &str, columns: usize, gutter: Gutter) -> Vec<String> {
    let mut rows = Vec::new();
    for line in text.split('\n') {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let indent = blanks.min(columns / 2);
        let (mut row, mut used) = (gutter.line.to_owned(), width_of(gutter.line));
        for letter in line.chars() {
            let width = width(letter);
            if used + width > columns {
                rows.push(std::mem::take(&mut row));
                row.push_str(gutter.rest);
                row.extend(std::iter::repeat_n(' ', indent));
                used = width_of(gutter.rest) + indent;
            }
            row.push(letter);
            used += width;
        }
        rows.push(row);
    }
    rows
}

/// So many columns a letter takes at most: what is ambiguous is wide on Korean terminals, and not every terminal puts
/// vowels onto consonants.
pub(super) fn width(letter: char) -> usize {
    let is_mark = !letter.is_ascii() && letter.escape_debug().next() != Some(letter);
    if is_mark { 0 } else { letter.width_cjk().unwrap_or(1).max(1) }
}

fn width_of(text: &str) -> usize {
    text.chars().map(width).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_that_goes_on_has_its_mark_and_its_indentation() {
        assert_eq!(
            rows("ab\n  cdefghijk\n\n가나다라", 10, Gutter::QUESTION),
            ["│ ab", "│   cdefg", "┊   hijk", "│ ", "│ 가나다", "┊ 라"]
        );
        assert_eq!(rows("abcdefghijkl", 10, Gutter::LINE), ["abcdefghij", "┊ kl"]);
    }

    #[test]
    fn letters_count_for_the_columns_that_they_take_at_most() {
        for (letter, columns) in
            [('a', 1), ('가', 2), ('ㅎ', 2), ('✅', 2), ('│', 2), ('\u{301}', 0), ('\u{1161}', 1)]
        {
            assert_eq!(width(letter), columns, "{letter:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_text_each_row_fits_and_begins_with_a_mark(
            text in "[ -~가-힣ㄱ-ㅎ│┊\n✅\u{301}\u{1161}]{0,400}", columns in prop::sample::select(vec![10_usize, 39, 79, 199]),
        ) {
            let rows = rows(&text, columns, Gutter::QUESTION);
            let mut lines = Vec::<String>::new();
            for row in &rows {
                prop_assert!(width_of(row) <= columns, "{row}");
                if let Some(line) = row.strip_prefix("│ ") {
                    lines.push(line.to_owned());
                } else {
                    let rest = row.strip_prefix("┊ ");
                    prop_assert!(rest.is_some(), "{row}");
                    let last = lines.last_mut().unwrap();
                    let indent = (last.len() - last.trim_start_matches(' ').len()).min(columns / 2);
                    last.push_str(&rest.unwrap()[indent..]);
                }
            }
            prop_assert_eq!(lines.join("\n"), text, "nothing is lost");
        }
    }
}
