//! How much of a model has come, on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error, which only a terminal shows.
#[derive(Debug)]
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// A bar for so many bytes, at its beginning.
    pub(super) fn new(bytes: u64) -> Self {
        let bar = ProgressBar::new(bytes);
        let style = ProgressStyle::with_template(
            "{bar:30.dim} {percent}%  {bytes} / {total_bytes}  {bytes_per_sec}  {eta}  {msg}",
        );
        bar.set_style(style.expect("the template is a constant that a test shows"));
        Self(bar)
    }

    /// Begins to count at this place what is brought per second: what lies before it was here.
    pub(super) fn begins_at(&self, bytes: u64) {
        self.0.set_position(bytes);
        self.0.reset_eta();
        self.0.set_message("");
    }

    /// Moves it.
    pub(super) fn stands_at(&self, bytes: u64) {
        self.0.set_position(bytes);
    }

    /// Says beside it what is waited for.
    pub(super) fn says(&self, text: String) {
        self.0.set_message(text);
    }

    /// Prints a line above it, or in its place where no bar is shown.
    pub(super) fn line(&self, text: &str) {
        self.0.suspend(|| crate::output::notice(text));
    }
}

/// It is removed when it is dropped.
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
