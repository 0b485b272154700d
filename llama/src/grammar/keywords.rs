//! Reads the keywords of one schema, as far as grammar rules can follow them.

use serde_json::{Map, Value, json};

/// The keyword that cannot be followed.
#[derive(Debug, Clone)]
pub(super) struct Unknown(pub(super) String);

pub(super) type Rule = Result<String, Unknown>;

pub(super) fn unknown(keyword: &str) -> Unknown {
    Unknown(keyword.to_owned())
}

/// Keywords without a meaning for values.
pub(super) const ANNOTATIONS: [&str; 12] = [
    "title",
    "description",
    "default",
    "examples",
    "$schema",
    "$comment",
    "$defs",
    "definitions",
    "deprecated",
    "readOnly",
    "writeOnly",
    "nullable",
];
/// The keywords for values of one type only.
const BY_TYPE: [&str; 13] = [
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
];
/// The most repetitions. More make a grammar too large.
const MAX_COUNT: u64 = 4_096;
pub(super) fn check_keywords(schema: &Map<String, Value>) -> Result<(), Unknown> {
    let is_known = |key: &str| {
        ANNOTATIONS.contains(&key)
            || BY_TYPE.contains(&key)
            || matches!(key, "type" | "enum" | "const" | "anyOf" | "oneOf" | "allOf")
    };
    match schema.keys().find(|key| !is_known(key)) {
        Some(key) => Err(unknown(key)),
        None => Ok(()),
    }
}

pub(super) fn no_alternatives(schema: &Map<String, Value>) -> Result<(), Unknown> {
    let found = ["enum", "const", "anyOf", "oneOf", "allOf"]
        .into_iter()
        .find(|key| schema.contains_key(*key));
    found.map_or(Ok(()), |key| Err(unknown(key)))
}

/// Returns the listed values, without those of other types. Returns `None` if the schema lists
/// none.
pub(super) fn values(schema: &Map<String, Value>) -> Result<Option<Vec<Value>>, Unknown> {
    let (keyword, values) = match (schema.get("const"), schema.get("enum")) {
        (None, None) => return Ok(None),
        (Some(value), None) => ("const", vec![value.clone()]),
        (None, Some(values)) => ("enum", values.as_array().cloned().unwrap_or_default()),
        (Some(_), Some(_)) => return Err(unknown("const")),
    };
    let is_other = |key: &String| key != keyword && key != "type" && !ANNOTATIONS.contains(&&**key);
    if schema.keys().any(is_other) {
        return Err(unknown(keyword));
    }
    let types: Vec<&str> = match schema.get("type") {
        None => return Ok(Some(values)),
        Some(Value::String(name)) => vec![name],
        Some(names) => names.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    let fits = |value: &Value| types.iter().any(|name| is_of_type(value, name));
    Ok(Some(values.into_iter().filter(fits).collect()))
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
        Value::Number(number) => {
            name == "number" || (name == "integer" && (number.is_i64() || number.is_u64()))
        }
    }
}

/// Returns whether no value fits two of these schemas, because they list different values or have
/// different types.
fn are_apart(schemas: &[Value]) -> bool {
    let objects: Vec<&Map<String, Value>> = schemas.iter().filter_map(Value::as_object).collect();
    if objects.len() != schemas.len() || objects.is_empty() {
        return false;
    }
    let listed: Option<Vec<Vec<Value>>> =
        objects.iter().map(|schema| values(schema).ok().flatten()).collect();
    if let Some(listed) = listed {
        let all: Vec<Value> = listed.concat();
        return all.iter().enumerate().all(|(at, value)| !all[..at].contains(value));
    }
    let types: Option<Vec<&str>> = objects
        .iter()
        .map(|schema| match schema.get("type")?.as_str()? {
            "integer" => Some("number"),
            other => Some(other),
        })
        .collect();
    types
        .is_some_and(|types| types.iter().enumerate().all(|(at, name)| !types[..at].contains(name)))
}

/// Returns the schemas of which a value must fit one, if there are only annotations next to them.
pub(super) fn choices<'s>(
    keyword: &str,
    schemas: &'s Value,
    is_alone: bool,
) -> Result<&'s [Value], Unknown> {
    let schemas = schemas.as_array().filter(|_| is_alone).ok_or_else(|| unknown(keyword))?;
    let is_choice = match keyword {
        "oneOf" => are_apart(schemas),
        "allOf" => schemas.len() == 1,
        _ => !schemas.is_empty(),
    };
    if is_choice { Ok(schemas) } else { Err(unknown(keyword)) }
}

/// Returns the properties of an object that has no others. Returns `None` if it names none.
pub(super) fn closed_properties(
    schema: &Map<String, Value>,
) -> Result<Option<&Map<String, Value>>, Unknown> {
    let others = schema.get("additionalProperties");
    let properties = schema.get("properties").and_then(Value::as_object);
    match (properties, others) {
        (None, Some(Value::Bool(false))) if schema.get("required").is_none() => {
            static NONE: std::sync::LazyLock<Map<String, Value>> =
                std::sync::LazyLock::new(Map::new);
            Ok(Some(&NONE))
        }
        (None, _) if schema.get("required").is_none_or(|names| *names == json!([])) => Ok(None),
        (None, _) => Err(unknown("required")),
        (Some(properties), None | Some(Value::Bool(false))) => Ok(Some(properties)),
        (Some(properties), Some(_)) if properties.is_empty() => {
            let is_free = schema.get("required").is_none_or(|names| *names == json!([]));
            if is_free { Ok(None) } else { Err(unknown("required")) }
        }
        (Some(_), Some(_)) => Err(unknown("additionalProperties")),
    }
}

pub(super) fn counts(
    schema: &Map<String, Value>,
    least: &str,
    most: &str,
) -> Result<(u64, Option<u64>), Unknown> {
    let count = |keyword: &str| match schema.get(keyword) {
        None => Ok(None),
        Some(count) => match count.as_u64() {
            Some(count) if count <= MAX_COUNT => Ok(Some(count)),
            Some(_) | None => Err(unknown(keyword)),
        },
    };
    let min = count(least)?.unwrap_or(0);
    let max = count(most)?;
    if max.is_some_and(|max| max < min) { Err(unknown(most)) } else { Ok((min, max)) }
}
