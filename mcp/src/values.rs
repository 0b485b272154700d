//! Bounds the values of a message.

use madang::tool::ValueCount;

/// The most values of one message. Each takes some hundred bytes: four megabytes of digits took 450
/// MB.
pub(crate) const MAX_VALUES: usize = 128 * 1024;

/// Returns whether a message has more values than are kept.
pub(crate) fn has_too_many_values(message: &[u8]) -> bool {
    // Each value but the first has a byte of its own before it.
    message.len() > MAX_VALUES && ValueCount::default().read(message) > MAX_VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_what_is_in_texts_is_none() {
        let many = "0,".repeat(MAX_VALUES);
        assert!(has_too_many_values(format!("[{many}0]").as_bytes()));
        assert!(!has_too_many_values(format!("[\"\\\"{many}\"]").as_bytes()));
        assert!(!has_too_many_values(&many.as_bytes()[..many.len() - 2]));
    }
}
