//! Finds out which numbers of a JSON text are read with all their digits.

use serde_json::Number;

/// The digits that every double keeps.
const KEPT_DIGITS: usize = 15;

/// Returns whether a number keeps its value when it is read and written, because 64 bits or a
/// double hold it.
pub(super) fn keeps_its_digits(number: &str) -> bool {
    if number.len() <= KEPT_DIGITS && !number.contains(['e', 'E']) {
        return true;
    }
    let read = serde_json::from_str::<Number>(number).ok();
    let written = read.and_then(|number| Decimal::of(&number.to_string()));
    written.is_some_and(|written| Decimal::of(number) == Some(written))
}

/// The value of a number: its digits without zeros around them, and the power of ten of the last
/// one.
#[derive(Debug, PartialEq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    power: i64,
}

impl Decimal {
    /// Reads a number of JSON. Returns `None` if its exponent is out of range.
    fn of(number: &str) -> Option<Self> {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let unsigned = mantissa.trim_start_matches('-');
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = format!("{whole}{fraction}");
        let digits = digits.trim_start_matches('0');
        let kept = digits.trim_end_matches('0');
        if kept.is_empty() {
            return Some(Self { is_negative: false, digits: String::new(), power: 0 });
        }
        let zeros = i64::try_from(digits.len() - kept.len()).ok()?;
        let fraction = i64::try_from(fraction.len()).ok()?;
        let power = exponent.parse::<i64>().ok()?.checked_add(zeros)?.checked_sub(fraction)?;
        let is_negative = mantissa.starts_with('-');
        Some(Self { is_negative, digits: kept.to_owned(), power })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_keeps_its_digits_or_does_not() {
        for kept in [
            "0",
            "-0.0",
            "1.10",
            "0.1",
            "1e3",
            "1E+3",
            "1.5e-300",
            "0e999",
            "100000000000000000000000",
            "18446744073709551615",
            "-9223372036854775808",
            "9007199254740993",
            "0.30000000000000004",
            "1.7976931348623157e308",
        ] {
            assert!(keeps_its_digits(kept), "{kept}");
        }
        for lost in [
            "18446744073709551616",
            "-9223372036854775809",
            "123456789012345678901234567890",
            "100000000000000000000001",
            "9007199254740993.0",
            "1234567890123456789e0",
            "0.12345678901234567890123",
            "1e400",
            "-1e-400",
            "1e99999999999999999999",
        ] {
            assert!(!keeps_its_digits(lost), "{lost}");
        }
    }
}
