//! Breaks text into rows that fit the terminal. Each row begins with a mark of the program, so that
//! no padded text can look like a line of the program.

use unicode_width::UnicodeWidthChar;

/// The fewest columns; a narrower terminal breaks rows itself.
const MIN_COLUMNS: usize = 10;

/// The marks at the beginning of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gutter {
    /// The mark of the first row of a line.
    pub(super) line: &'static str,
    /// The mark of the other rows of a line.
    pub(super) rest: &'static str,
}

impl Gutter {
    /// The marks of a line of the program.
    pub(super) const LINE: Self = Self { line: "", rest: "┊ " };
    /// The marks of a question.
    pub(super) const QUESTION: Self = Self { line: "│ ", rest: "┊ " };
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    /// Reads the size of the terminal on standard output, or assumes the usual one.
    pub(super) fn now() -> Self {
        let usual = Self { columns: 80, rows: 24 };
        let Some((columns, rows)) = size() else { return usual };
        let or = |given: u16, usual| if given == 0 { usual } else { usize::from(given) };
        Self { columns: or(columns, usual.columns), rows: or(rows, usual.rows) }
    }

    /// Returns the usable columns: the last stays free, since some terminals break the row after
    /// it.
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

/// Breaks a text without control characters but line breaks. A row breaks after a blank in its
/// second half, otherwise where it is full. Continued rows keep the indent up to half of the row.
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
    /// The position after the last blank, in bytes and columns.
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

    /// Cuts off the text after the last blank, if at least this many columns remain.
    fn cut(&mut self, least: usize) -> String {
        match self.blank {
            Some((bytes, columns)) if columns > least => self.text.split_off(bytes),
            Some(_) | None => String::new(),
        }
    }
}

/// Returns the most columns of a letter: ambiguous ones are wide on Korean terminals, and not every
/// terminal combines vowels and marks. Only marks on Latin letters are combined by all.
pub(super) fn width(letter: char) -> usize {
    match letter {
        '\u{300}'..='\u{36f}' => 0,
        // Tone marks and half flags, which some terminals draw in full width.
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
        // Blanks, private letters and marks with a column of their own: counted as zero, they would
        // let a text begin a row.
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
