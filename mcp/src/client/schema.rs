//! Which schemas of servers are taken: of type object, within the bounds, with references to themselves alone.

use serde_json::Value;

use super::limits::MAX_SCHEMA_BYTES;

/// Says why a schema cannot describe arguments here. The registry's own compiler has the last word.
pub(super) fn refusal(schema: &Value) -> Option<String> {
    let Value::Object(keywords) = schema else {
        return Some("its schema is not an object".to_owned());
    };
    if keywords.get("type").and_then(Value::as_str) != Some("object") {
        return Some("its schema is not of type object".to_owned());
    }
    let bytes = schema.to_string().len();
    if bytes > MAX_SCHEMA_BYTES {
        return Some(format!(
            "its schema has {bytes} bytes, and at most {MAX_SCHEMA_BYTES} are taken"
        ));
    }
    refers_elsewhere(schema)
        .then(|| "its schema refers to another document, and none is ever fetched".to_owned())
}

/// Tells whether any part refers to another document. The depth was bounded when the JSON was read.
fn refers_elsewhere(part: &Value) -> bool {
    match part {
        Value::Object(keywords) => keywords.iter().any(|(key, value)| {
            let is_reference = matches!(key.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef");
            let leaves = |target: &str| !target.starts_with('#');
            (is_reference && value.as_str().is_some_and(leaves)) || refers_elsewhere(value)
        }),
        Value::Array(parts) => parts.iter().any(refers_elsewhere),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_objects_that_refer_to_themselves_are_taken() {
        let table = [
            (json!({ "type": "object" }), None),
            (json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/a" } } }), None),
            (json!({ "type": "object", "properties": { "$ref": { "type": "string" } } }), None),
            (json!(true), Some("not an object")),
            (json!({}), Some("not of type object")),
            (json!({ "type": ["object", "null"] }), Some("not of type object")),
            (json!({ "type": "string" }), Some("not of type object")),
            (
                json!({ "type": "object", "properties": { "a": { "$ref": "https://e.org/a" } } }),
                Some("another document"),
            ),
            (
                json!({ "type": "object", "allOf": [{ "$dynamicRef": "other.json#a" }] }),
                Some("another document"),
            ),
            (json!({ "type": "object", "title": "x".repeat(70_000) }), Some("bytes")),
        ];
        for (schema, expected) in table {
            let refusal = refusal(&schema);
            let is_right = match (&refusal, expected) {
                (Some(refusal), Some(part)) => refusal.contains(part),
                (refusal, expected) => refusal.is_none() && expected.is_none(),
            };
            assert!(is_right, "{schema}: {refusal:?}");
        }
    }
}
