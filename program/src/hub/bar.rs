//! Shows the progress of a download on a terminal.

use indicatif::ProgressBar;

use crate::progress;

/// Creates a bar at 0 of this many bytes.
pub(super) fn bar(bytes: u64) -> ProgressBar {
    progress::bar(bytes, "{percent}%  {bytes} / {total_bytes}  {bytes_per_sec}  {eta}  {msg}")
}

/// Counts the speed from this position on: the bytes before it were already here.
pub(super) fn begins_at(bar: &ProgressBar, bytes: u64) {
    bar.set_position(bytes);
    bar.reset_eta();
    bar.set_message("");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_stands_where_the_download_stands() {
        let bar = bar(10);
        begins_at(&bar, 3);
        bar.set_position(7);
        assert_eq!((bar.position(), bar.length()), (7, Some(10)));
    }
}
