//! Moments as ISO 8601 writes them, in UTC.

use madang::Timestamp;

const MILLIS_A_DAY: i64 = 24 * 60 * 60 * 1_000;

/// Writes a moment such as `2026-11-23T05:40:00.000Z`.
pub(crate) fn iso8601(at: Timestamp) -> String {
    let (days, millis) =
        (at.millis().div_euclid(MILLIS_A_DAY), at.millis().rem_euclid(MILLIS_A_DAY));
    let (year, month, day) = date(days);
    let (seconds, millis) = (millis / 1_000, millis % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Gives year, month and day of a number of days since 1970. The year is taken to begin in March, so that the leap day
/// is its last.
const fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + if month <= 2 { 1 } else { 0 }, month, day)
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
