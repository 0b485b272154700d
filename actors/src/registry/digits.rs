//! Finds the whole numbers of a JSON text that 64 bits cannot hold. Pure.

/// Returns whether a JSON text has a whole number that would lose digits when read. No arguments of
/// a call may have one.
#[must_use]
pub fn has_rounded_number(json: &str) -> bool {
    let is_part =
        |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while bytes.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let len = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                if is_rounded(&json[at..at + len]) {
                    return true;
                }
                at += len;
            }
            _ => at += 1,
        }
    }
    false
}

/// The digits that every double keeps.
const KEPT_DIGITS: usize = 15;

/// Returns whether a number is whole, does not fit into 64 bits, and has more digits than a double
/// keeps.
fn is_rounded(number: &str) -> bool {
    if number.len() <= KEPT_DIGITS || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok()
    {
        return false;
    }
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let significant = format!("{}{fraction}", whole.trim_start_matches('-'));
    let significant = significant.trim_start_matches('0').trim_end_matches('0').len();
    // An exponent beyond this range leaves no number.
    let is_whole = exponent.parse::<i64>().is_ok_and(|exponent| {
        i64::try_from(fraction.len()).is_ok_and(|fraction| exponent >= fraction)
    });
    is_whole && significant > KEPT_DIGITS
}
