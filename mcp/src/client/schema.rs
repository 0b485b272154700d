//! Decides which schemas of servers are taken: those of type object, within the bounds, that refer
//! only to themselves. Nothing in them stays hidden from an eye.

use serde_json::{Map, Value};

use super::{
    limits::MAX_SCHEMA_BYTES,
    text::{cut, visible},
};

/// Returns the schema as the model and a person read it, with the hidden characters of its words
/// made visible. Returns why it cannot describe arguments here as an error. The registry's own
/// compiler has the last word.
pub(super) fn read(schema: &Value) -> Result<Value, String> {
    let Value::Object(keywords) = schema else {
        return Err("its schema is not an object".to_owned());
    };
    if keywords.get("type").and_then(Value::as_str) != Some("object") {
        return Err("its schema is not of type object".to_owned());
    }
    if refers_elsewhere(schema) {
        return Err("its schema refers to another document, and none is ever fetched".to_owned());
    }
    let schema = seen(schema, Part::Schema)?;
    let bytes = schema.to_string().len();
    if bytes > MAX_SCHEMA_BYTES {
        return Err(format!(
            "its schema has {bytes} bytes, and at most {MAX_SCHEMA_BYTES} are taken"
        ));
    }
    Ok(schema)
}

/// What a part of a schema is.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// Keywords with their values. The texts among them are words for a reader.
    Schema,
    /// Schemas by names of the server's own choice.
    Named,
    /// A name or value that a call must repeat as it is.
    Exact,
}

impl Part {
    /// Returns what the value of a keyword is.
    fn of_keyword(key: &str) -> Self {
        match key {
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                Self::Named
            }
            "enum" | "const" | "pattern" | "required" | "dependentRequired" | "$ref"
            | "$anchor" => Self::Exact,
            _ => Self::Schema,
        }
    }
}

/// Makes all strings of a part visible. A name or value whose hidden characters a call would have
/// to repeat is refused, because it would be another one if it were shown otherwise. The depth was
/// bounded when the JSON was read.
fn seen(part: &Value, what: Part) -> Result<Value, String> {
    match (part, what) {
        (Value::Object(members), _) => {
            let mut shown = Map::new();
            for (key, value) in members {
                let within = match what {
                    Part::Schema => Part::of_keyword(key),
                    Part::Named => Part::Schema,
                    Part::Exact => Part::Exact,
                };
                shown.insert(exact(key)?, seen(value, within)?);
            }
            Ok(Value::Object(shown))
        }
        (Value::Array(parts), _) => {
            let parts = parts.iter().map(|part| seen(part, what));
            Ok(Value::Array(parts.collect::<Result<_, _>>()?))
        }
        (Value::String(text), Part::Exact) => exact(text).map(Value::String),
        (Value::String(text), Part::Schema | Part::Named) => Ok(Value::String(visible(text))),
        (Value::Null | Value::Bool(_) | Value::Number(_), _) => Ok(part.clone()),
    }
}

fn exact(text: &str) -> Result<String, String> {
    let shown = visible(text);
    if shown == text {
        return Ok(shown);
    }
    let shown = cut(&shown, 64);
    Err(format!("its schema has a name or a value with hidden characters, \"{shown}\""))
}

/// Returns whether any part refers to another document. The depth was bounded when the JSON was
/// read.
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
            let taken = read(&schema);
            let is_right = match (&taken, expected) {
                (Err(refusal), Some(part)) => refusal.contains(part),
                (taken, expected) => taken.is_ok() && expected.is_none(),
            };
            assert!(is_right, "{schema}: {taken:?}");
        }
    }

    #[test]
    fn every_word_of_a_schema_is_visible_and_a_hidden_name_or_value_is_refused() {
        let words = "all\u{202e}\u{e0041}\u{1b}[2J";
        let shown = r"all\u{202e}\u{e0041}\u{1b}[2J";
        let with = |words: &str| {
            json!({ "type": "object", "description": words, "properties": {
                "a": { "title": words, "examples": [words], "default": { "b": words } },
                "enum": { "description": words },
            }, "$defs": { "c": { "anyOf": [{ "type": "string", "x-more": words }] } } })
        };
        assert_eq!(read(&with(words)), Ok(with(shown)));
        for part in [
            json!({ "properties": { words: {} } }),
            json!({ "properties": { "a": { "enum": ["b", words] } } }),
            json!({ "properties": { "a": { "const": { "b": words } } } }),
            json!({ "properties": { "a": { "pattern": words } } }),
            json!({ "required": [words] }),
            json!({ words: 1 }),
        ] {
            let mut schema = json!({ "type": "object" });
            schema.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
            let refusal = read(&schema).unwrap_err();
            assert!(refusal.ends_with(&format!("hidden characters, \"{shown}\"")), "{refusal}");
        }
        let many = json!({ "type": "object", "title": "\u{e0041}".repeat(10_000) });
        assert!(read(&many).unwrap_err().contains("bytes"), "what is shown is bounded");
    }
}
