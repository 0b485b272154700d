//! The kinds of JSON values that a schema allows, and how a value without quotes is read by them.
//!
//! A family that writes values between tags writes a text as it is, and anything else as JSON. So
//! the schema of the tool decides whether `2` is a text or a number. The reader and the constraint
//! both decide it here, and so alike.

use madang_actors::protocol::ToolSpec;
use serde_json::Value;

use super::python;

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

/// How many references and schemas are followed into each other.
const MAX_DEPTH: usize = 32;

impl Kinds {
    /// A text.
    pub const TEXT: Self = Self(1);
    /// The kinds that are written as one word: null and the truth values.
    pub const WORDS: Self = Self(2 | 4);
    const NULL: Self = Self(2);
    const BOOLEAN: Self = Self(4);
    const NUMBER: Self = Self(8);
    const ARRAY: Self = Self(16);
    const OBJECT: Self = Self(32);
    const NONE: Self = Self(0);
    const ANY: Self = Self(63);

    /// Returns the kinds that `schema`, a part of `root`, allows. Returns all kinds if the schema
    /// does not say, or if it is nested too deeply to be followed.
    pub fn of(root: &Value, schema: &Value) -> Self {
        Self::within(root, schema, MAX_DEPTH)
    }

    /// Returns the kinds of a tool's argument. Returns all kinds if the tool or the argument is
    /// unknown.
    pub(super) fn of_argument(tool: Option<&ToolSpec>, key: &str) -> Self {
        let argument = tool.and_then(|tool| {
            let root = &*tool.parameters;
            let named = root.get("properties").and_then(|properties| properties.get(key));
            let schema = named.or_else(|| root.get("additionalProperties"))?;
            Some(Self::of(root, schema))
        });
        argument.unwrap_or(Self::ANY)
    }

    fn within(root: &Value, schema: &Value, depth: usize) -> Self {
        let (Value::Object(members), Some(depth)) = (schema, depth.checked_sub(1)) else {
            return Self::ANY;
        };
        let inner = |schema: &Value| Self::within(root, schema, depth);
        let listed = |key: &str| members.get(key).and_then(Value::as_array);
        let mut kinds = Self::ANY;
        if let Some(pointer) = members.get("$ref").and_then(Value::as_str) {
            let target = pointer.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
            kinds = kinds.and(target.map_or(Self::ANY, inner));
        }
        match members.get("type") {
            Some(Value::String(name)) => kinds = kinds.and(Self::of_type(name)),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                kinds = kinds.and(union(names.map(Self::of_type)));
            }
            Some(_) | None => {}
        }
        if let Some(value) = members.get("const") {
            kinds = kinds.and(Self::of_value(value));
        }
        if let Some(values) = listed("enum") {
            kinds = kinds.and(union(values.iter().map(Self::of_value)));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(schemas) = listed(key) {
                kinds = kinds.and(union(schemas.iter().map(inner)));
            }
        }
        for schema in listed("allOf").into_iter().flatten() {
            kinds = kinds.and(inner(schema));
        }
        kinds
    }

    fn of_type(name: &str) -> Self {
        match name {
            "string" => Self::TEXT,
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "number" | "integer" => Self::NUMBER,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ANY,
        }
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::String(_) => Self::TEXT,
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(_) => Self::NUMBER,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the union of two sets.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns whether the sets have a kind in common.
    pub fn has(self, other: Self) -> bool {
        self.and(other) != Self::NONE
    }

    /// Returns whether the set has a kind that `than` lacks.
    pub const fn has_others(self, than: Self) -> bool {
        self.0 & !than.0 != 0
    }

    /// Returns whether this text, written without quotes, is read as the same text.
    pub fn reads_as_text(self, text: &str) -> bool {
        matches!(serde_json::from_str(&self.read(text)), Ok(Value::String(read)) if read == text)
    }

    /// Reads a value without quotes, and returns it as JSON.
    pub(super) fn read(self, text: &str) -> String {
        let as_text = || Value::from(text).to_string();
        if self == Self::TEXT {
            return as_text();
        }
        match json(text.trim()) {
            Some((kind, json)) if kind != Self::TEXT && self.has(kind) => json,
            _ if self.has(Self::TEXT) => as_text(),
            // The validator reports to the model what is wrong with it.
            Some((_, json)) => json,
            None => as_text(),
        }
    }
}

fn union(kinds: impl Iterator<Item = Kinds>) -> Kinds {
    kinds.fold(Kinds::NONE, Kinds::or)
}

/// Reads JSON, or what Python writes in its place, as some templates do. Returns the kind and the
/// JSON.
fn json(text: &str) -> Option<(Kinds, String)> {
    let kind = |json: &str| serde_json::from_str(json).ok().map(|value| Kinds::of_value(&value));
    if let Some(kind) = kind(text) {
        return Some((kind, text.to_owned()));
    }
    let is_python = text.starts_with(['{', '[']) || matches!(text, "True" | "False" | "None");
    let json = python::to_json(text).filter(|_| is_python)?;
    Some((kind(&json)?, json))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: &Value, text: &str) -> String {
        Kinds::of(schema, schema).read(text)
    }

    #[test]
    fn the_schema_tells_a_text_from_another_value() {
        assert_eq!(read(&json!({"type": "string"}), "2"), r#""2""#);
        assert_eq!(read(&json!({"type": "integer"}), " 2\n"), "2");
        assert_eq!(read(&json!({"type": "integer"}), "two"), r#""two""#);
        assert_eq!(read(&json!({"type": "boolean"}), "True"), "true");
        assert_eq!(read(&json!({"type": "object"}), "{'a': [None]}"), r#"{"a":[null]}"#);
        assert_eq!(read(&json!({}), "9007199254740993"), "9007199254740993");
        assert_eq!(read(&json!({}), "\"a\""), r#""\"a\"""#);
    }

    #[test]
    fn a_text_that_may_be_null_is_null_only_by_that_word() {
        let either = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
        assert_eq!(read(&either, "null"), "null");
        assert_eq!(read(&either, "2"), r#""2""#);
        let listed = json!({"type": ["string", "null"], "enum": ["a", null]});
        assert_eq!(read(&listed, "a"), r#""a""#);
    }

    #[test]
    fn references_are_followed_and_have_an_end() {
        let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}});
        assert_eq!(Kinds::of(&circle, &circle), Kinds::ANY);
        let level = json!({"$ref": "#/$defs/a", "$defs": {"a": {"enum": [1, 2]}}});
        assert_eq!(Kinds::of(&level, &level), Kinds::NUMBER);
    }
}
