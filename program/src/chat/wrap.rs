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

/// The rows of a text without control characters but line breaks. A line is broken behind a blank where that leaves half of
/// the row, else where the row is full; what goes on keeps the indentation, as far as that leaves half of the row too.
pub(super) fn rows(text: &str, columns: usize, gutter: Gutter) -> Vec<String> {
    let mut rows = Vec::new();
    for line in text.split('\n') {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let indent = " ".repeat(blanks.min(columns / 2));
        let mut row = Row::new(gutter.line);
        for letter in line.chars() {
            let width = width(letter);
            if row.used + width > columns {
                let rest = row.cut(columns / 2);
                let mut next = Row::new(gutter.rest);
                rows.push(std::mem::take(&mut row.text));
                indent.chars().chain(rest.chars()).for_each(|letter| next.push(letter));
                row = next;
                row.blank = None;
            }
            row.push(letter);
        }
        rows.push(row.text);
    }
    rows
}

/// A row that is being filled.
struct Row {
    text: String,
    used: usize,
    /// Where the text stands behind its last blank, in bytes and columns.
    blank: Option<(usize, usize)>,
}

impl Row {
    fn new(mark: &str) -> Self {
        Self { text: mark.to_owned(), used: width_of(mark), blank: None }
    }

    fn push(&mut self, letter: char) {
        self.text.push(letter);
        self.used += width(letter);
        if letter == ' ' {
            self.blank = Some((self.text.len(), self.used));
        }
    }

    /// Takes away what stands behind the last blank, if so many columns are left.
    fn cut(&mut self, least: usize) -> String {
        match self.blank {
            Some((bytes, columns)) if columns > least => self.text.split_off(bytes),
            Some(_) | None => String::new(),
        }
    }
}

/// So many columns a letter takes at most: what is ambiguous is wide on Korean terminals, and not every terminal puts
/// vowels and other marks onto the letter before them. Only what stands on Latin letters is put there by all.
pub(super) fn width(letter: char) -> usize {
    match letter {
        '\u{300}'..='\u{36f}' => 0,
        // Tone marks and half flags, which some draw as wide as what they belong to.
        '\u{302e}' | '\u{302f}' | '\u{1f1e6}'..='\u{1f1ff}' => 2,
        _ => letter.width_cjk().unwrap_or(1).max(1),
    }
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
        assert_eq!(rows("abc def ghi [y/n]", 10, Gutter::LINE), ["abc def ", "┊ ghi ", "┊ [y/n]"]);
        assert_eq!(rows("a bcdefghijklm", 10, Gutter::LINE), ["a bcdefghi", "┊ jklm"]);
    }

    #[test]
    fn letters_count_for_the_columns_that_they_take_at_most() {
        for (letter, columns) in
            [('a', 1), ('가', 2), ('ㅎ', 2), ('✅', 2), ('│', 2), ('\u{301}', 0), ('\u{1161}', 1)]
        {
            assert_eq!(width(letter), columns, "{letter:?}");
        }
        // Blanks, private letters and marks that have a column of their own: counted as none, they would let a text
        // begin a row of the terminal.
        for (letter, columns) in [
            ('\u{a0}', 1),
            ('\u{3000}', 2),
            ('\u{e000}', 1),
            ('\u{9be}', 1),
            ('\u{ff9e}', 1),
            ('\u{302e}', 2),
            ('🇰', 2),
        ] {
            assert!(width(letter) >= columns, "{letter:?}");
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
