//! Shows the model's text as it arrives, indented, so that no line of it can look like a line of
//! the program.

use super::wrap::width;

/// The indent of the model's rows; the program's rows begin in the first column.
const INDENT: &str = "  ";

/// The columns of a tab.
const TAB: &str = "    ";

/// A text that is shown in pieces.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// The used columns of the row; 0 if the row is empty.
    used: usize,
}

impl Flow {
    /// Returns the next piece as it is printed. The piece must have no control characters but line
    /// breaks and tabs.
    pub(super) fn piece(&mut self, text: &str, columns: usize) -> String {
        let mut shown = String::with_capacity(text.len() + 16);
        for letter in text.chars() {
            match letter {
                '\n' => {
                    shown.push('\n');
                    self.used = 0;
                }
                '\t' => TAB.chars().for_each(|blank| self.push(blank, columns, &mut shown)),
                letter => self.push(letter, columns, &mut shown),
            }
        }
        shown
    }

    /// Ends the row.
    pub(super) fn end(&mut self) {
        self.used = 0;
    }

    fn push(&mut self, letter: char, columns: usize, shown: &mut String) {
        let width = width(letter);
        if self.used > 0 && self.used + width > columns {
            shown.push('\n');
            self.used = 0;
        }
        if self.used == 0 {
            shown.push_str(INDENT);
            self.used = INDENT.len();
        }
        shown.push(letter);
        self.used += width;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_row_is_indented_however_the_pieces_are_cut() {
        let mut flow = Flow::default();
        let shown: String = ["He", "llo\nyou", " there, my\n", "\n가나다라마\ta"]
            .map(|piece| flow.piece(piece, 10))
            .concat();
        assert_eq!(shown, "  Hello\n  you ther\n  e, my\n\n  가나다라\n  마    a");
        flow.end();
        assert_eq!(flow.piece("new", 10), "  new");
    }

    proptest! {
        #[test]
        fn no_row_begins_in_the_first_column_or_is_too_long(
            pieces in prop::collection::vec("[ -~가-힣│┊\n\t✅]{0,60}", 0..10),
            columns in prop::sample::select(vec![10_usize, 39, 79, 199]),
        ) {
            let mut flow = Flow::default();
            let shown: String = pieces.iter().map(|piece| flow.piece(piece, columns)).collect();
            for row in shown.split('\n') {
                prop_assert!(row.is_empty() || row.starts_with(INDENT), "{row}");
                prop_assert!(row.chars().map(width).sum::<usize>() <= columns, "{row}");
            }
        }
    }
}
