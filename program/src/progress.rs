//! Shows on a terminal how much of the model is loaded.

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar on standard error, visible only on a terminal.
#[derive(Debug, Clone)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Creates a bar at 0.
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::new(100);
        let style = ProgressStyle::with_template("{bar:30.dim} {percent}%");
        bar.set_style(style.expect("the template is a constant that a test shows"));
        Self(bar)
    }

    /// Returns a function that moves the bar to a part from 0 to 1.
    pub(crate) fn hearing(&self) -> impl FnMut(f32) + Send + 'static {
        let bar = self.0.clone();
        move |done: f32| bar.set_position((done.clamp(0.0, 1.0) * 100.0) as u64)
    }

    /// Removes the bar.
    pub(crate) fn finish(self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_stands_where_loading_stands() {
        let progress = Progress::new();
        let mut hear = progress.hearing();
        for (done, position) in [(0.0, 0), (0.5, 50), (1.0, 100)] {
            hear(done);
            assert_eq!(progress.0.position(), position);
        }
    }
}
