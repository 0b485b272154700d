//! What a tool gave, through the envelope: bounded, valid, whole where it must be, and without metadata.

use madang::{ToolOutcome, envelope};
use serde_json::{Map, Value, json};

/// The smallest bound in which a hint has its place.
const LEAST: usize = 160;

/// Takes two bytes for the bound, one for the kind of outcome, and the rest as the data: JSON, or anything.
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
    let told = read(&envelope(&outcome, narrower, max));
    assert_eq!(told, json!({ "status": "error", "code": "r3_quota", "reason": reason }));
    "error".to_owned()
}

fn succeeded(data: &Value, max: usize, narrower: Option<&str>) -> String {
    let outcome = ToolOutcome::ok(data.clone()).with_metadata("secret", json!("s3cr3t"));
    let text = envelope(&outcome, narrower, max);
    assert!(text.len() <= max, "{} bytes of {max}", text.len());
    assert_eq!(text, envelope(&ToolOutcome::ok(data.clone()), narrower, max), "metadata shows");
    let told = read(&text);
    let whole = json!({ "status": "ok", "data": data });
    if whole.to_string().len() <= max {
        assert_eq!(text, whole.to_string());
        return format!("whole {}", kind(data));
    }
    assert_eq!(told["status"], "ok");
    assert_eq!(told["data"]["_truncated"], json!(true));
    if told["data"].get("_hint").is_some_and(Value::is_string)
        && told["data"].get("count").is_none()
    {
        return format!("hint {}", kind(data));
    }
    let fields = data.as_object().cloned().unwrap_or_else(|| {
        let items = data.as_array().expect("only lists and objects are cut");
        Map::from_iter([("items".to_owned(), Value::from(items.clone()))])
    });
    cut(&fields, &told["data"])
}

/// One list is cut to its first items; everything else is as it was.
fn cut(fields: &Map<String, Value>, told: &Value) -> String {
    let mut lists = 0;
    for (key, value) in fields {
        let shown = &told[key];
        match (value.as_array(), shown.as_array()) {
            (Some(items), Some(kept)) if kept.len() < items.len() => {
                assert_eq!(kept[..], items[..kept.len()], "items are whole and in their order");
                if fields.get("count").and_then(Value::as_u64).is_none() {
                    assert_eq!(told["count"], json!(items.len()), "the total is told");
                }
                lists += 1;
            }
            _ if key == "_truncated" || (key == "count" && !value.is_u64()) => {}
            _ => assert_eq!(shown, value, "{key} is as it was"),
        }
    }
    assert!(lists <= 1, "{lists} lists were cut");
    format!("cut {lists} of {}", fields.len().min(8))
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

/// A value that grows from bytes that are no JSON.
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
