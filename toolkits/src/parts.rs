//! Cuts lists and long texts into parts that fit an envelope.

/// Counts how many of the first texts fit into this many bytes, but at least one.
pub(crate) fn fitting(lengths: impl Iterator<Item = usize>, max_bytes: usize) -> usize {
    let mut left = max_bytes;
    let fitting = lengths.take_while(|bytes| {
        let has_room = *bytes <= left;
        left = left.saturating_sub(*bytes);
        has_room
    });
    fitting.count().max(1)
}

/// Returns the start of the next part, or `None` after the last.
pub(crate) fn next_offset(offset: usize, count: usize, total: usize) -> Option<usize> {
    let next = offset.saturating_add(count);
    (count > 0 && next < total).then_some(next)
}
