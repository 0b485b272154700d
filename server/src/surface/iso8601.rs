//! Writes moments as ISO 8601 does, in UTC.

use madang::Timestamp;

/// Writes a moment such as `2026-11-23T05:40:00.000Z`.
pub(crate) fn iso8601(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.millis()).unwrap_or(jiff::Timestamp::MAX);
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_763_876_400_123, "2025-11-23T05:40:00.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso8601(Timestamp::from_millis(millis)), text);
        }
    }
}
