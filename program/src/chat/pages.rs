//! Splits a question into pages: a long one never floods the screen, and its end is not shown
//! before the rest.

/// Rows below a page for the prompt, which breaks on narrow terminals.
const FREE_ROWS: usize = 5;

/// The fewest rows of a page.
const MIN_ROWS: usize = 5;

/// The rows of a question, and the number of shown ones.
#[derive(Debug, Default)]
pub(super) struct Pages {
    rows: Vec<String>,
    shown: usize,
    page: usize,
}

impl Pages {
    /// Splits for a terminal with this many rows.
    pub(super) fn new(rows: Vec<String>, terminal_rows: usize) -> Self {
        Self { rows, shown: 0, page: terminal_rows.saturating_sub(FREE_ROWS).max(MIN_ROWS) }
    }

    /// Returns the next rows.
    pub(super) fn next(&mut self) -> &[String] {
        let begin = self.shown;
        self.shown = (begin + self.page).min(self.rows.len());
        &self.rows[begin..self.shown]
    }

    /// Returns the last rows, and the number of rows skipped before them.
    pub(super) fn last(&mut self) -> (usize, &[String]) {
        let begin = self.rows.len().saturating_sub(self.page).max(self.shown);
        let left_out = begin - self.shown;
        self.shown = self.rows.len();
        (left_out, &self.rows[begin..])
    }

    /// Counts the shown and skipped rows.
    pub(super) fn shown(&self) -> usize {
        self.shown
    }

    /// Counts all rows.
    pub(super) fn total(&self) -> usize {
        self.rows.len()
    }

    /// Tells whether more rows follow.
    pub(super) fn has_more(&self) -> bool {
        self.shown < self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(rows: usize) -> Pages {
        Pages::new((0..rows).map(|row| row.to_string()).collect(), 10)
    }

    #[test]
    fn all_rows_come_once_and_in_order() {
        let mut all = pages(12);
        assert_eq!(all.next(), ["0", "1", "2", "3", "4"]);
        assert!(all.has_more());
        assert_eq!(all.next(), ["5", "6", "7", "8", "9"]);
        assert_eq!((all.shown(), all.total()), (10, 12));
        assert_eq!(all.next(), ["10", "11"]);
        assert!(!all.has_more() && all.next().is_empty());
        let mut short = pages(5);
        short.next();
        assert!(!short.has_more());
    }

    #[test]
    fn a_mebibyte_is_shown_a_page_at_a_time() {
        let text = "빛".repeat((1 << 20) / 3);
        let rows = crate::chat::wrap::rows(&text, 79, crate::chat::wrap::Gutter::QUESTION);
        let mut pages = Pages::new(rows, 24);
        assert_eq!((pages.next().len(), pages.total() > 9_000), (19, true));
        let total = pages.total();
        let (left_out, last) = pages.last();
        assert_eq!((last.len(), left_out), (19, total - 2 * 19));
    }

    #[test]
    fn the_end_says_how_much_was_not_shown() {
        let mut long = pages(100);
        long.next();
        let (left_out, rows) = long.last();
        assert_eq!((left_out, rows.len(), &*rows[0]), (90, 5, "95"));
        assert!(!long.has_more());
        let mut short = pages(8);
        short.next();
        assert_eq!(short.last().0, 0);
        assert_eq!(pages(8).last(), (3, &["3", "4", "5", "6", "7"].map(str::to_owned)[..]));
    }
}
