//! Reads and writes arguments as LFM2 does, in the form of Python, `NAME(key="value", other=1)`.

use serde_json::Value;

use super::json;

/// Reads arguments, with the parentheses around them, as a JSON object. Returns `None` if the text
/// is broken.
pub(super) fn to_json(text: &str) -> Option<String> {
    let mut json = String::new();
    // The closing marks of the open brackets, in Python and in JSON.
    let mut open: Vec<(char, char)> = Vec::new();
    let mut rest = text.trim();
    while let Some(next) = rest.chars().next() {
        let is_outermost = open.len() == 1;
        match next {
            '(' if open.is_empty() => open_with(&mut open, &mut json, (')', '}'), '{'),
            '(' => open_with(&mut open, &mut json, (')', ']'), '['),
            '[' => open_with(&mut open, &mut json, (']', ']'), '['),
            '{' => open_with(&mut open, &mut json, ('}', '}'), '{'),
            ')' | ']' | '}' => {
                let (python, closing) = open.pop()?;
                if python != next {
                    return None;
                }
                json.push(closing);
            }
            ',' | ':' => json.push(next),
            '"' | '\'' => {
                let (string, behind) = string(&rest[1..], next)?;
                json.push_str(&Value::from(string).to_string());
                rest = behind.trim_start();
                continue;
            }
            _ => {
                let len = rest.find([',', ')', ']', '}', '=', ':']).unwrap_or(rest.len());
                let word = rest[..len].trim_end();
                let behind = &rest[len..];
                if is_outermost && behind.starts_with('=') {
                    json.push_str(&Value::from(word).to_string());
                    json.push(':');
                    rest = behind[1..].trim_start();
                } else {
                    json.push_str(plain(word)?);
                    rest = behind;
                }
                continue;
            }
        }
        rest = rest[1..].trim_start();
    }
    (open.is_empty() && serde_json::from_str::<Value>(&json).is_ok()).then_some(json)
}

fn open_with(
    open: &mut Vec<(char, char)>,
    json: &mut String,
    closing: (char, char),
    opening: char,
) {
    open.push(closing);
    json.push(opening);
}

fn plain(word: &str) -> Option<&str> {
    Some(match word {
        "True" | "true" => "true",
        "False" | "false" => "false",
        "None" | "null" => "null",
        number => {
            serde_json::from_str::<serde_json::Number>(number).ok()?;
            number
        }
    })
}

/// Splits a text into the string before its closing quote and the rest after the quote. Returns
/// `None` if the quote is missing.
fn string(text: &str, quote: char) -> Option<(String, &str)> {
    let mut units: Vec<u16> = Vec::new();
    let mut letters = text.char_indices();
    while let Some((at, next)) = letters.next() {
        if next == quote {
            return Some((String::from_utf16_lossy(&units), &text[at + next.len_utf8()..]));
        }
        if next != '\\' {
            units.extend(next.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        let (at, escaped) = letters.next()?;
        let digits = match escaped {
            'x' => 2,
            'u' => 4,
            _ => 0,
        };
        if digits > 0 {
            units.push(u16::from_str_radix(text.get(at + 1..at + 1 + digits)?, 16).ok()?);
            letters.nth(digits - 1)?;
            continue;
        }
        let meant = match escaped {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            '0' => '\0',
            '\\' | '\'' | '"' | '/' => escaped,
            other => {
                units.push(u16::from(b'\\'));
                other
            }
        };
        units.extend(meant.encode_utf16(&mut [0; 2]).iter());
    }
    None
}

/// Writes the arguments of a call from JSON. Returns the text itself if it is not an object.
pub(super) fn keywords(arguments: &str) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str(arguments) else {
        return arguments.to_owned();
    };
    let keyword = |(key, value): (&String, &Value)| format!("{key}={}", written(value));
    members.iter().map(keyword).collect::<Vec<_>>().join(", ")
}

/// Writes a value as Python does, with the strings of JSON.
fn written(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(&**key), written(value))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Lists all forms in which a call may write a value: with either quote, and with the words of
/// Python or of JSON.
pub fn literals(value: &Value) -> Vec<String> {
    let mut ways = vec![written(value), json::write(value, None)];
    if let Value::String(text) = value
        && !text.contains(['\'', '"', '\\'])
        && !text.contains(char::is_control)
    {
        ways.push(format!("'{text}'"));
    }
    ways.dedup();
    ways
}
