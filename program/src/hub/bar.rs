//! Shows the progress of a download on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar on standard error, visible only on a terminal.
#[derive(Debug)]
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// Creates a bar at 0 of this many bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let bar = ProgressBar::new(bytes);
        let style = ProgressStyle::with_template(
            "{bar:30.dim} {percent}%  {bytes} / {total_bytes}  {bytes_per_sec}  {eta}  {msg}",
        );
        bar.set_style(style.expect("the template is a constant that a test shows"));
        Self(bar)
    }

    /// Counts the speed from this place on: the bytes before it were already here.
    pub(super) fn begins_at(&self, bytes: u64) {
        self.0.set_position(bytes);
        self.0.reset_eta();
        self.0.set_message("");
    }

    /// Moves the bar.
    pub(super) fn stands_at(&self, bytes: u64) {
        self.0.set_position(bytes);
    }

    /// Shows a text beside the bar.
    pub(super) fn says(&self, text: String) {
        self.0.set_message(text);
    }

    /// Prints a line above the bar, or in its place if none is shown.
    pub(super) fn line(&self, text: &str) {
        self.0.suspend(|| crate::output::notice(text));
    }
}

/// Removes the bar.
impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_stands_where_the_download_stands() {
        let bar = Bar::new(10);
        bar.begins_at(3);
        bar.stands_at(7);
        assert_eq!((bar.0.position(), bar.0.length()), (7, Some(10)));
    }
}
