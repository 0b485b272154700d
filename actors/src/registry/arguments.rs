//! Reads the text that a model wrote as a JSON object, without ever overflowing the stack.

use serde_json::{Map, Value};

use super::digits::has_rounded_number;
use crate::protocol::{
    Breach, Limits, MAX_BYTES, MAX_LEVELS, bytes_before_cut, dismantle, is_deeper,
};

/// Reads raw arguments. Empty text counts as `{}`: models write nothing for a tool without
/// parameters.
///
/// The last of equal keys counts, as everywhere in JSON.
pub(super) fn parse(raw: &str, limits: &Limits) -> Result<Map<String, Value>, Breach> {
    let max_bytes = limits.max_arguments_bytes.min(MAX_BYTES);
    if bytes_before_cut(raw) > max_bytes {
        return Err(Breach::TooLong { max_bytes });
    }
    if raw.trim().is_empty() {
        return Ok(Map::new());
    }
    let max_levels = limits.max_arguments_depth.min(MAX_LEVELS);
    if text_levels(raw) > max_levels {
        return Err(Breach::TooDeep { max_levels });
    }
    match serde_json::from_str(raw) {
        Ok(_) if has_rounded_number(raw) => Err(Breach::TooManyDigits),
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(Breach::NotAnObject),
        Err(error) => Err(Breach::NotJson { line: error.line(), column: error.column() }),
    }
}

/// Checks arguments that are a value already, as [`parse`] does with text. A refused value is taken
/// apart without recursion, because dropping it could overflow the stack too.
pub(super) fn accept(arguments: Value, limits: &Limits) -> Result<Map<String, Value>, Breach> {
    let max_levels = limits.max_arguments_depth.min(MAX_LEVELS);
    if is_deeper(&arguments, max_levels) {
        dismantle(arguments);
        return Err(Breach::TooDeep { max_levels });
    }
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Breach::NotAnObject)
        }
    }
}

/// Counts how deep brackets are nested outside of strings. For text that is not JSON any number
/// will do, as long as it counts every bracket that a parser could follow.
fn text_levels(raw: &str) -> usize {
    let mut levels = 0_usize;
    let mut deepest = 0;
    let mut in_string = false;
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                bytes.next();
            }
            b'{' | b'[' if !in_string => {
                levels += 1;
                deepest = deepest.max(levels);
            }
            b'}' | b']' if !in_string => levels = levels.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::protocol::WantedCall;

    fn parsed(raw: &str) -> Result<Value, Breach> {
        parse(raw, &Limits::default()).map(Value::Object)
    }

    #[test]
    fn what_a_model_may_write_as_arguments() {
        let table = [
            (r#"{"a":1}"#, Ok(json!({ "a": 1 }))),
            (" \n{ }\t", Ok(json!({}))),
            ("", Ok(json!({}))),
            (" \n\t ", Ok(json!({}))),
            (r#"{"a":1,"b":2,"a":3}"#, Ok(json!({ "a": 3, "b": 2 }))),
            (r#"{"가":"{[\"\\"}"#, Ok(json!({ "가": "{[\"\\" }))),
            ("[1]", Err(Breach::NotAnObject)),
            ("null", Err(Breach::NotAnObject)),
            ("\"{}\"", Err(Breach::NotAnObject)),
            ("{\"a\":", Err(Breach::NotJson { line: 1, column: 5 })),
            ("{'a': 1}", Err(Breach::NotJson { line: 1, column: 2 })),
            ("{}\n{}", Err(Breach::NotJson { line: 2, column: 1 })),
            (r#"{"a":"\ud800"}"#, Err(Breach::NotJson { line: 1, column: 13 })),
            (r#"{"a":1e999}"#, Err(Breach::NotJson { line: 1, column: 10 })),
            (r#"{"a":18446744073709551615}"#, Ok(json!({ "a": u64::MAX }))),
            (r#"{"a":-9223372036854775808}"#, Ok(json!({ "a": i64::MIN }))),
            (
                r#"{"a":0.12345678901234567890,"b":1e300}"#,
                Ok(json!({ "a": 0.123_456_789_012_345_68, "b": 1e300 })),
            ),
            (r#"{"a":100000000000000000000000}"#, Ok(json!({ "a": 1e23 }))),
            (
                r#"{"a":"18446744073709551616\"-9","b":1}"#,
                Ok(json!({ "a": "18446744073709551616\"-9", "b": 1 })),
            ),
            (r#"{"a":18446744073709551616}"#, Err(Breach::TooManyDigits)),
            (r#"{"a":[{"b":-9223372036854775809}]}"#, Err(Breach::TooManyDigits)),
            (r#"{"a":1234567890123456789.0}"#, Err(Breach::TooManyDigits)),
            (r#"{"a":1.234567890123456789e18}"#, Err(Breach::TooManyDigits)),
        ];
        for (raw, expected) in table {
            assert_eq!(parsed(raw), expected, "{raw}");
        }
    }

    #[test]
    fn sixty_four_levels_are_read_and_one_more_is_refused() {
        let nested = |levels: usize| {
            format!("{}{}{}", r#"{"a":"#.repeat(levels - 1), "{}", "}".repeat(levels - 1))
        };
        assert!(parsed(&nested(64)).is_ok());
        assert_eq!(parsed(&nested(65)), Err(Breach::TooDeep { max_levels: 64 }));
        let fields = (0..65).fold(json!({}), |inner, _| json!({ "a": inner }));
        assert_eq!(accept(fields, &Limits::default()), Err(Breach::TooDeep { max_levels: 64 }));
    }

    #[test]
    fn ten_thousand_levels_are_refused_and_overflow_nothing() {
        for raw in
            ["[".repeat(10_000), "{\"a\":".repeat(10_000), "]".repeat(10_000) + &"[".repeat(10_000)]
        {
            assert_eq!(parsed(&raw), Err(Breach::TooDeep { max_levels: 64 }));
        }
    }

    #[test]
    fn a_value_of_a_hundred_thousand_levels_is_refused_and_taken_apart() {
        let mut value = json!({});
        for _ in 0..100_000 {
            value = Value::Array(vec![value]);
        }
        assert_eq!(accept(value, &Limits::default()), Err(Breach::TooDeep { max_levels: 64 }));
    }

    #[test]
    fn ten_megabytes_are_refused_unread() {
        let raw = format!("{{\"a\":\"{}\"}}", "x".repeat(10 << 20));
        assert_eq!(parsed(&raw), Err(Breach::TooLong { max_bytes: 1024 * 1024 }));
    }

    #[test]
    fn what_was_cut_is_refused_as_too_long_wherever_it_was_cut() {
        // Each of these is complete JSON, and a part of it would be too, except for the note that
        // it was cut.
        let space = " ".repeat(4_000);
        for raw in [
            format!("{{}}{space}"),
            format!("{{\"a\":\"{}\"}}", "가".repeat(2_000)),
            format!("{space}{{}}"),
            format!("{{\"a\":1}}{}", "x".repeat(4_000)),
        ] {
            for max_arguments_bytes in [2, 3, 500, 1_023, 1_024, 1_025, 3_999] {
                let limits = Limits { max_arguments_bytes, ..Limits::default() };
                let wanted = WantedCall::new("n", raw.as_str());
                let cut = wanted.bounded(&limits).arguments;
                assert!(cut.len() <= max_arguments_bytes.min(1_024) + 24, "{}", cut.len());
                let too_long = Err(Breach::TooLong { max_bytes: max_arguments_bytes });
                assert_eq!(parse(&cut, &limits), too_long);
                // Whatever a later start allows: it is not run in part.
                let wider = parse(&cut, &Limits::default());
                assert!(matches!(wider, Err(Breach::NotJson { .. })), "{wider:?}");
            }
            let whole = WantedCall::new("n", raw.as_str());
            assert_eq!(whole.clone().bounded(&Limits::default()), whole);
        }
        let name = "n".repeat(5_000);
        let long = WantedCall::new(name.as_str(), "{}");
        let cut = long.bounded(&Limits::default()).name;
        assert_eq!(*cut, *format!("{}…(+3976 bytes)", &name[..1_024]));
    }

    #[test]
    fn a_limit_beyond_what_can_be_stored_is_cut_to_it() {
        let limits = Limits { max_arguments_depth: 100_000, ..Limits::default() };
        let nested = |levels: usize| {
            format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1))
        };
        assert!(parse(&nested(MAX_LEVELS), &limits).is_ok());
        assert_eq!(
            parse(&nested(MAX_LEVELS + 1), &limits),
            Err(Breach::TooDeep { max_levels: MAX_LEVELS })
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(raw in "[\\[\\]{}\",:\\\\a1 \u{ac00}]{0,300}") {
            if let Ok(read) = parse(&raw, &Limits::default()) {
                prop_assert!(!is_deeper(&Value::Object(read), 64));
            }
        }
    }
}
