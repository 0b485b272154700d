//! Writes the rules for numbers: integers with every digit of 64 bits, and others with a fraction
//! or an exponent.

use serde_json::{Map, Number, Value, json};

use super::keywords::{Unknown, unknown};

/// The integers that a call can carry without losing a digit: those of `i64` and of `u64`.
const WHOLE: (i128, i128) = (i64::MIN as i128, u64::MAX as i128);
/// From this number on, numbers have an exponent unless they are integers of 64 bits.
const LARGE: i128 = 1_000_000_000_000_000_000;
/// Numbers nearer to zero may have an exponent.
const SMALL: f64 = 1e-5;
/// A number with an exponent, up to its sign.
const MANTISSA: &str = r"[1-9](\.[0-9]+)?e";
/// The exponents from [`LARGE`] on that every double has.
const LARGE_EXPONENT: &str = r"\+?(1[89]|[2-9][0-9]|[12][0-9]{2}|30[0-7])";
/// The exponents below [`SMALL`] that every double has.
const SMALL_EXPONENT: &str = "-([6-9]|[1-9][0-9]|[12][0-9]{2}|30[0-7])";

/// Writes any number.
pub(super) fn any() -> String {
    number(&Map::new()).expect("numbers without bounds can be written")
}

/// Writes the whole numbers that a schema allows.
pub(super) fn integer(schema: &Map<String, Value>) -> Result<String, Unknown> {
    let bound = |keyword: &str, of: fn(&Number) -> i128| match schema.get(keyword) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(Some(of(number))),
        Some(_) => Err(unknown(keyword)),
    };
    let min = [
        bound("minimum", ceiling)?,
        bound("exclusiveMinimum", |number| floor(number) + 1)?,
        Some(WHOLE.0),
    ];
    let max = [
        bound("maximum", floor)?,
        bound("exclusiveMaximum", |number| ceiling(number) - 1)?,
        Some(WHOLE.1),
    ];
    let min = min.into_iter().flatten().max().unwrap_or(WHOLE.0);
    let max = max.into_iter().flatten().min().unwrap_or(WHOLE.1);
    if min > max { Err(unknown("maximum")) } else { Ok(format!("/{}/", whole(min, max))) }
}

/// Writes the numbers that a schema allows.
pub(super) fn number(schema: &Map<String, Value>) -> Result<String, Unknown> {
    let lower = bound(schema, "minimum", "exclusiveMinimum", f64::gt)?;
    let upper = bound(schema, "maximum", "exclusiveMaximum", f64::lt)?;
    let mut ways = Vec::new();
    let mut range = json!({"type": "number"});
    match lower {
        None => {
            range["exclusiveMinimum"] = json!(-LARGE);
            ways.push(format!("/{}/", whole(WHOLE.0, -LARGE)));
            ways.push(format!("/-{MANTISSA}{LARGE_EXPONENT}/"));
        }
        Some((0.0, true)) => {
            range["minimum"] = json!(SMALL);
            ways.push(format!("/{MANTISSA}{SMALL_EXPONENT}/"));
        }
        Some((least, false)) => range["minimum"] = json!(least),
        Some((least, true)) => range["minimum"] = json!(least.next_up()),
    }
    match upper {
        None => {
            range["exclusiveMaximum"] = json!(LARGE);
            ways.push(format!("/{}/", whole(LARGE, WHOLE.1)));
            ways.push(format!("/{MANTISSA}{LARGE_EXPONENT}/"));
        }
        Some((0.0, true)) => {
            range["maximum"] = json!(-SMALL);
            ways.push(format!("/-{MANTISSA}{SMALL_EXPONENT}/"));
        }
        Some((greatest, false)) => range["maximum"] = json!(greatest),
        Some((greatest, true)) => range["maximum"] = json!(greatest.next_down()),
    }
    let ends = [["minimum", "exclusiveMinimum"], ["maximum", "exclusiveMaximum"]];
    let [least, greatest] =
        ends.map(|keys| keys.into_iter().find_map(|key| range.get(key)?.as_f64()));
    if least > greatest {
        return Err(unknown("maximum"));
    }
    ways.push(format!("%json {range}"));
    Ok(format!("({})", ways.join(" | ")))
}

/// Returns the tighter of two bounds, and whether it is itself excluded. Returns [`Unknown`] for a
/// bound that a double cannot hold, or beyond which numbers have an exponent.
fn bound(
    schema: &Map<String, Value>,
    inclusive: &str,
    exclusive: &str,
    is_tighter: fn(&f64, &f64) -> bool,
) -> Result<Option<(f64, bool)>, Unknown> {
    let read = |keyword: &str| {
        let Some(value) = schema.get(keyword) else { return Ok(None) };
        let number = value.as_number().ok_or_else(|| unknown(keyword))?;
        let double = number.as_f64().ok_or_else(|| unknown(keyword))?;
        let is_exact = floor(number) == floor_of(double);
        let is_small = floor(number).abs() < LARGE;
        if is_exact && is_small { Ok(Some(double)) } else { Err(unknown(keyword)) }
    };
    Ok(match (read(inclusive)?, read(exclusive)?) {
        (Some(inclusive), Some(exclusive)) if is_tighter(&inclusive, &exclusive) => {
            Some((inclusive, false))
        }
        (Some(inclusive), None) => Some((inclusive, false)),
        (_, Some(exclusive)) => Some((exclusive, true)),
        (None, None) => None,
    })
}

fn floor(number: &Number) -> i128 {
    number.as_i128().unwrap_or_else(|| floor_of(number.as_f64().unwrap_or_default()))
}

fn ceiling(number: &Number) -> i128 {
    number.as_i128().unwrap_or_else(|| -floor_of(-number.as_f64().unwrap_or_default()))
}

#[expect(clippy::cast_possible_truncation, reason = "numbers beyond 64 bits are no bounds anyway")]
fn floor_of(double: f64) -> i128 {
    double.floor().clamp(-1e30, 1e30) as i128
}

/// Writes the whole numbers of a range.
fn whole(min: i128, max: i128) -> String {
    let mut ways = Vec::new();
    if min < 0 {
        ways.push(format!("-{}", digits(max.min(-1).unsigned_abs(), min.unsigned_abs())));
    }
    if max >= 0 {
        ways.push(digits(min.max(0).unsigned_abs(), max.unsigned_abs()));
    }
    one_of(&ways)
}

/// Writes the numbers of a range that have no sign, by their numbers of digits.
fn digits(min: u128, max: u128) -> String {
    let mut ways = Vec::new();
    let mut least = min;
    loop {
        let nines = "9".repeat(least.to_string().len());
        let longest = nines.parse().unwrap_or(u128::MAX).min(max);
        ways.push(alike(&least.to_string(), &longest.to_string()));
        if longest == max {
            return one_of(&ways);
        }
        least = longest + 1;
    }
}

/// Writes the numbers between two that have equally many digits.
fn alike(min: &str, max: &str) -> String {
    let (Some(low), Some(high)) = (min.chars().next(), max.chars().next()) else {
        return String::new();
    };
    let min = &min[1..];
    let max = &max[1..];
    if low == high {
        return format!("{low}{}", alike(min, max));
    }
    let zeros = "0".repeat(min.len());
    let nines = "9".repeat(min.len());
    let mut ways = Vec::new();
    let (mut from, mut to) = (u32::from(low), u32::from(high));
    if min != zeros {
        ways.push(format!("{low}{}", alike(min, &nines)));
        from += 1;
    }
    if max != nines {
        ways.push(format!("{high}{}", alike(&zeros, max)));
        to -= 1;
    }
    if let (Some(low), Some(high)) = (char::from_u32(from), char::from_u32(to))
        && low <= high
    {
        let rest = if min.is_empty() { String::new() } else { format!("[0-9]{{{}}}", min.len()) };
        ways.push(format!("[{low}-{high}]{rest}"));
    }
    one_of(&ways)
}

fn one_of(ways: &[String]) -> String {
    format!("({})", ways.join("|"))
}
