//! Reads and writes arguments as Gemma does: `{key:value}` with bare keys, and strings between
//! marks instead of quotes.

use serde_json::Value;

/// Reads arguments as JSON. Returns `None` if the text is broken.
pub(super) fn to_json(text: &str, quote: &str) -> Option<String> {
    let mut json = String::new();
    let mut open = Vec::new();
    let mut is_key = false;
    let mut rest = text.trim_start();
    while let Some(next) = rest.chars().next() {
        if let Some(inside) = rest.strip_prefix(quote) {
            let (string, behind) = inside.split_once(quote)?;
            json.push_str(&Value::from(string).to_string());
            rest = behind.trim_start();
            continue;
        }
        match next {
            '{' | '[' => open.push(next),
            '}' if open.pop() == Some('{') => (),
            ']' if open.pop() == Some('[') => (),
            ',' | ':' => (),
            '}' | ']' => return None,
            _ => {
                let ends: &[char] = if is_key { &[':', '}'] } else { &[',', '}', ']'] };
                let (bare, behind) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
                let bare = bare.trim_end();
                if is_key {
                    json.push_str(&Value::from(bare).to_string());
                } else {
                    json.push_str(plain(bare)?);
                }
                rest = behind;
                continue;
            }
        }
        json.push(next);
        is_key = next == '{' || (next == ',' && open.last() == Some(&'{'));
        rest = rest[1..].trim_start();
    }
    (open.is_empty() && serde_json::from_str::<Value>(&json).is_ok()).then_some(json)
}

/// Returns a number, a truth value or null, which are written as in JSON. Returns `None` for any
/// other text.
fn plain(bare: &str) -> Option<&str> {
    match serde_json::from_str(bare).ok()? {
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(bare),
        Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Writes a value. Returns `None` if it contains a string or a key that cannot be written in this
/// form.
pub fn literal(value: &Value, quote: &str) -> Option<String> {
    Some(match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if text.contains(quote) => return None,
        Value::String(text) => format!("{quote}{text}{quote}"),
        Value::Array(items) => {
            let items: Option<Vec<String>> =
                items.iter().map(|item| literal(item, quote)).collect();
            format!("[{}]", items?.join(","))
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                Some(format!("{}:{}", bare_key(key, quote)?, literal(value, quote)?))
            };
            let members: Option<Vec<String>> = members.iter().map(member).collect();
            format!("{{{}}}", members?.join(","))
        }
    })
}

/// Returns a key as it is written in braces. Returns `None` if it would be read as something else.
pub fn bare_key<'k>(key: &'k str, quote: &str) -> Option<&'k str> {
    let is_bare = !key.is_empty()
        && key.trim() == key
        && !key.contains(['{', '}', '[', ']', ',', ':', '"', '\n'])
        && !key.contains(quote);
    is_bare.then_some(key)
}
