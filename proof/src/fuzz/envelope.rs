//! Sends a tool's data through the envelope: bounded, valid, complete where required, and without
//! metadata.

use madang::tool::{ToolOutcome, envelope};
use serde_json::{Map, Value, json};

/// The smallest bound that leaves room for a hint.
const LEAST: usize = 160;

/// Reads two bytes as the bound, one as the kind of outcome, and the rest as data: JSON or
/// anything.
pub(super) fn run(bytes: &[u8]) -> String {
    let Some((&[low, high, kind], rest)) = bytes.split_first_chunk() else {
        return "short".to_owned();
    };
    let max = LEAST + usize::from(u16::from_le_bytes([low, high])) % 4_096;
    let text = String::from_utf8_lossy(rest);
    let data = serde_json::from_str(&text).unwrap_or_else(|_| Grown(rest).value(4));
    let narrower = (kind & 1 == 1).then_some("query_protocol");
    match kind % 3 {
        0 => failed(&text, max, narrower),
        _ => succeeded(&data, max, narrower),
    }
}

fn failed(reason: &str, max: usize, narrower: Option<&str>) -> String {
    let outcome = ToolOutcome::error("r3_quota", reason).with_metadata("secret", json!("s3cr3t"));
    let read_back = read(&envelope(&outcome, narrower, max));
    assert_eq!(read_back, json!({ "status": "error", "code": "r3_quota", "reason": reason }));
    "error".to_owned()
}

fn succeeded(data: &Value, max: usize, narrower: Option<&str>) -> String {
    let outcome = ToolOutcome::ok(data.clone()).with_metadata("secret", json!("s3cr3t"));
    let text = envelope(&outcome, narrower, max);
    assert!(text.len() <= max, "{} bytes of {max}", text.len());
    assert_eq!(text, envelope(&ToolOutcome::ok(data.clone()), narrower, max), "metadata shows");
    let read_back = read(&text);
    let whole = json!({ "status": "ok", "data": data });
    if whole.to_string().len() <= max {
        assert_eq!(text, whole.to_string());
        return format!("whole {}", kind(data));
    }
    assert_eq!(read_back["status"], "ok");
    assert_eq!(read_back["data"]["_truncated"], json!(true));
    let keys: Vec<&String> = read_back["data"].as_object().expect("fields").keys().collect();
    if keys == ["_truncated", "_hint"] {
        return format!("hint {}", kind(data));
    }
    let fields = data.as_object().cloned().unwrap_or_else(|| {
        let name = if data.is_array() { "items" } else { "text" };
        Map::from_iter([(name.to_owned(), data.clone())])
    });
    cut(&fields, &read_back["data"])
}

/// Requires every field. Long texts are cut inside and lists at their end. Each cut top-level list
/// has its full length, and all else is unchanged.
fn cut(fields: &Map<String, Value>, read_back: &Value) -> String {
    let mut lists = 0;
    for (key, value) in fields {
        if matches!(&**key, "_truncated" | "_counts") || (key == "count" && !value.is_u64()) {
            continue;
        }
        let shown = read_back.get(key).unwrap_or_else(|| panic!("{key} is lost"));
        let is_cut_here = match (value, shown) {
            (Value::Array(items), Value::Array(kept)) => begins(items, kept),
            _ => false,
        };
        assert!(is_cut_here || is_part(value, shown), "{key} was {value} and is {shown}");
        if let (Some(items), Some(kept)) = (value.as_array(), shown.as_array())
            && kept.len() < items.len()
        {
            let total = json!(items.len());
            let has_total = fields.get("count").is_some_and(Value::is_u64)
                || read_back["count"] == total
                || read_back["_counts"][key] == total;
            assert!(has_total, "of {key} the total is missing: {read_back}");
            lists += 1;
        }
    }
    format!("cut {} of {}", lists.min(2), fields.len().min(8))
}

/// Requires that a shown value is true as far as it goes, and a list says how many entries are
/// missing.
fn is_part(value: &Value, read_back: &Value) -> bool {
    match (value, read_back) {
        (Value::String(whole), Value::String(read_back)) => {
            whole == read_back || is_beginning(whole, read_back)
        }
        (Value::Array(items), Value::Array(kept)) => {
            let is_whole = kept.len() == items.len() && begins(items, kept);
            is_whole
                || kept.split_last().is_some_and(|(note, kept)| {
                    let missing = items.len().saturating_sub(kept.len());
                    *note == format!("…(+{missing})") && begins(items, kept)
                })
        }
        (Value::Object(fields), Value::Object(kept)) => {
            fields.len() == kept.len()
                && fields
                    .iter()
                    .all(|(key, value)| kept.get(key).is_some_and(|it| is_part(value, it)))
        }
        _ => value == read_back,
    }
}

/// Requires that a list begins with these entries.
fn begins(items: &[Value], kept: &[Value]) -> bool {
    kept.len() <= items.len() && items.iter().zip(kept).all(|(item, kept)| is_part(item, kept))
}

/// Requires that a cut text says how many characters are missing.
fn is_beginning(whole: &str, read_back: &str) -> bool {
    let cut = read_back.strip_suffix(')').and_then(|read_back| read_back.rsplit_once("…(+"));
    cut.is_some_and(|(beginning, missing)| {
        whole.strip_prefix(beginning).map(|rest| rest.chars().count().to_string()).as_deref()
            == Some(missing)
    })
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("an envelope is JSON")
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// A value made from bytes that are not JSON.
struct Grown<'a>(&'a [u8]);

impl Grown<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn text(&mut self) -> String {
        let len = usize::from(self.next()).min(self.0.len());
        let (text, rest) = self.0.split_at(len);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    fn value(&mut self, levels: u8) -> Value {
        match (self.next() % 8, levels) {
            (0, _) => Value::Null,
            (1, _) => Value::from(self.next().is_multiple_of(2)),
            (2, _) => Value::from(i64::from(self.next()) << (self.next() % 56)),
            (3, _) => {
                Value::from(f64::from_bits(u64::from_le_bytes([0; 8].map(|_: u8| self.next()))))
            }
            (4, _) | (_, 0) => Value::from(self.text()),
            (5 | 6, _) => (0..self.next() % 64).map(|_| self.value(levels - 1)).collect(),
            (_, _) => Value::Object(
                (0..self.next() % 16).map(|_| (self.text(), self.value(levels - 1))).collect(),
            ),
        }
    }
}
