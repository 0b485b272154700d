//! Shows on a terminal how far something has come.

use indicatif::{ProgressBar, ProgressStyle};

/// Makes a bar at 0 on standard error, visible only on a terminal. Dropping its last clone removes
/// it.
pub(crate) fn bar(length: u64, beside: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{{bar:30.dim}} {beside}"));
    let style = style.expect("each template is a constant that a test or every run shows");
    ProgressBar::new(length).with_style(style)
}

/// Makes a bar for a model that is loaded, and a function that moves it to a part from 0 to 1.
#[cfg(feature = "llama")]
pub(crate) fn loading() -> (ProgressBar, impl FnMut(f32) + Send + 'static) {
    let bar = bar(100, "{percent}%");
    let moved = bar.clone();
    (bar, move |done: f32| moved.set_position((done.clamp(0.0, 1.0) * 100.0) as u64))
}

#[cfg(all(test, feature = "llama"))]
mod tests {
    use super::*;

    #[test]
    fn the_bar_stands_where_loading_stands() {
        let (bar, mut hear) = loading();
        for (done, position) in [(0.0, 0), (0.5, 50), (1.0, 100)] {
            hear(done);
            assert_eq!(bar.position(), position);
        }
    }
}
