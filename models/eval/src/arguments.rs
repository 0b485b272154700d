//! Compares arguments with the expectation of a case: exact values and a small set of matchers.
//!
//! `{"$ref":"name.path.0"}` is a value of an earlier result, `{"$one_of":[..]}` any of these,
//! `{"$maybe":..}` this or nothing, `{"$contains":".."}` a text with this part, `{"$any":..}`
//! anything, with an example.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Results of calls, by the names in the case.
pub(crate) type NamedResults = HashMap<String, Value>;

/// The meaning of an object with a `$`.
enum Matcher<'a> {
    Ref(&'a str),
    OneOf(&'a [Value]),
    Maybe(&'a Value),
    Contains(&'a str),
    Any(&'a Value),
}

/// Tells whether an argument is as expected; `None` is an omitted argument.
pub(crate) fn fits(expected: &Value, given: Option<&Value>, known: &NamedResults) -> bool {
    if let Some(matcher) = Matcher::of(expected) {
        return match matcher {
            Matcher::Ref(path) => resolve(path, known).is_some_and(|value| Some(value) == given),
            Matcher::OneOf(values) => values.iter().any(|value| fits(value, given, known)),
            Matcher::Maybe(value) => given.is_none() || fits(value, given, known),
            Matcher::Contains(text) => {
                given.and_then(Value::as_str).is_some_and(|given| given.contains(text))
            }
            Matcher::Any(_) => given.is_some(),
        };
    }
    match (expected, given) {
        (Value::Object(expected), Some(Value::Object(given))) => {
            expected.iter().all(|(key, value)| fits(value, given.get(key), known))
                && given.keys().all(|key| expected.contains_key(key))
        }
        (Value::Array(expected), Some(Value::Array(given))) => {
            expected.len() == given.len()
                && expected.iter().zip(given).all(|(value, given)| fits(value, Some(given), known))
        }
        (Value::Number(expected), Some(Value::Number(given))) => {
            expected == given || expected.as_f64() == given.as_f64()
        }
        (
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_),
            given,
        ) => given == Some(expected),
    }
}

/// Returns arguments that fit: resolved references, the first of several, the example. `Err` names
/// a reference to a missing result.
pub(crate) fn example(expected: &Value, known: &NamedResults) -> Result<Value, String> {
    if let Some(matcher) = Matcher::of(expected) {
        return match matcher {
            Matcher::Ref(path) => resolve(path, known).cloned().ok_or_else(|| path.to_owned()),
            Matcher::OneOf(values) => {
                values.first().map_or(Ok(Value::Null), |value| example(value, known))
            }
            Matcher::Maybe(value) | Matcher::Any(value) => example(value, known),
            Matcher::Contains(text) => Ok(text.into()),
        };
    }
    Ok(match expected {
        Value::Object(fields) => Value::Object(example_of(fields, known)?),
        Value::Array(items) => {
            items.iter().map(|item| example(item, known)).collect::<Result<_, _>>()?
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => expected.clone(),
    })
}

/// Does the same for all arguments of a call. What may be left out is.
pub(crate) fn example_of(
    arguments: &Map<String, Value>,
    known: &NamedResults,
) -> Result<Map<String, Value>, String> {
    let is_left_out = |value: &Value| matches!(Matcher::of(value), Some(Matcher::Maybe(_)));
    let fields = arguments.iter().filter(|(_, value)| !is_left_out(value));
    fields.map(|(key, value)| Ok((key.clone(), example(value, known)?))).collect()
}

/// Removes arguments that equal the schema's defaults.
pub(crate) fn without_defaults(arguments: &Value, schema: &Value) -> Value {
    match arguments {
        Value::Object(fields) => {
            let kept = fields.iter().filter_map(|(key, value)| {
                let schema = &schema["properties"][key];
                let is_default = schema.get("default").is_some_and(|default| default == value);
                (!is_default).then(|| (key.clone(), without_defaults(value, schema)))
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => {
            items.iter().map(|item| without_defaults(item, &schema["items"])).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => arguments.clone(),
    }
}

fn resolve<'a>(path: &str, known: &'a NamedResults) -> Option<&'a Value> {
    let mut steps = path.split('.');
    let result = known.get(steps.next()?)?;
    steps.try_fold(result, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        Value::Object(fields) => fields.get(step),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

impl<'a> Matcher<'a> {
    /// Returns the matcher in a value; `None` for a plain value.
    fn of(value: &'a Value) -> Option<Self> {
        let fields = value.as_object().filter(|fields| fields.len() == 1)?;
        let (key, value) = fields.iter().next()?;
        Some(match (key.as_str(), value) {
            ("$ref", Value::String(path)) => Self::Ref(path),
            ("$one_of", Value::Array(values)) => Self::OneOf(values),
            ("$maybe", value) => Self::Maybe(value),
            ("$contains", Value::String(text)) => Self::Contains(text),
            ("$any", value) => Self::Any(value),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known() -> NamedResults {
        HashMap::from([("found".to_owned(), json!({ "items": [{ "id": "a" }, { "id": "b" }] }))])
    }

    #[test]
    fn arguments_fit_what_is_expected_of_them_and_nothing_else() {
        let table = [
            (json!({ "id": "a" }), json!({ "id": "a" }), true),
            (json!({ "id": "a" }), json!({ "id": "A" }), false),
            (json!({ "id": "a" }), json!({ "id": "a", "limit": 3 }), false),
            (json!({ "id": "a", "limit": 3 }), json!({ "id": "a" }), false),
            (json!({ "n": 1 }), json!({ "n": 1.0 }), true),
            (json!({ "n": 1 }), json!({ "n": "1" }), false),
            (json!({ "l": [1, 2] }), json!({ "l": [1, 2] }), true),
            (json!({ "l": [1, 2] }), json!({ "l": [2, 1] }), false),
            (json!({ "l": [1] }), json!({ "l": [1, 2] }), false),
            (json!({ "id": { "$ref": "found.items.1.id" } }), json!({ "id": "b" }), true),
            (json!({ "id": { "$ref": "found.items.1.id" } }), json!({ "id": "a" }), false),
            (json!({ "id": { "$ref": "found.items.2.id" } }), json!({}), false),
            (json!({ "id": { "$ref": "lost.id" } }), json!({ "id": "a" }), false),
            (json!({ "id": { "$one_of": ["a", "b"] } }), json!({ "id": "b" }), true),
            (json!({ "id": { "$one_of": ["a", "b"] } }), json!({ "id": "c" }), false),
            (json!({ "d": { "$maybe": "2026-03-14" } }), json!({}), true),
            (json!({ "d": { "$maybe": "2026-03-14" } }), json!({ "d": "2026-03-14" }), true),
            (json!({ "d": { "$maybe": "2026-03-14" } }), json!({ "d": "2026-03-15" }), false),
            (json!({ "t": { "$contains": "milk" } }), json!({ "t": "oat milk" }), true),
            (json!({ "t": { "$contains": "milk" } }), json!({ "t": "tea" }), false),
            (json!({ "t": { "$any": "x" } }), json!({ "t": 7 }), true),
            (json!({ "t": { "$any": "x" } }), json!({}), false),
        ];
        for (expected, given, is_right) in table {
            assert_eq!(fits(&expected, Some(&given), &known()), is_right, "{expected} {given}");
        }
    }

    #[test]
    fn an_example_fits_what_it_is_an_example_of() {
        let expected = json!({
            "id": { "$ref": "found.items.0.id" }, "kind": { "$one_of": ["x", "y"] }, "d": { "$maybe": "today" },
            "t": { "$contains": "milk" }, "any": { "$any": 3 }, "list": [{ "$ref": "found.items.1.id" }],
        });
        let given = example(&expected, &known()).unwrap();
        assert_eq!(given, json!({ "id": "a", "kind": "x", "t": "milk", "any": 3, "list": ["b"] }));
        assert!(fits(&expected, Some(&given), &known()));
        assert_eq!(
            example(&json!({ "$ref": "found.items.9.id" }), &known()),
            Err("found.items.9.id".to_owned())
        );
    }

    #[test]
    fn an_argument_that_says_the_default_counts_as_left_out() {
        let schema = json!({ "properties": {
            "limit": { "default": 10 },
            "blocks": { "items": { "properties": { "indent": { "default": 0 } } } },
        } });
        let given = json!({ "limit": 10, "blocks": [{ "content": "a", "indent": 0 }, { "content": "b", "indent": 1 }] });
        assert_eq!(
            without_defaults(&given, &schema),
            json!({ "blocks": [{ "content": "a" }, { "content": "b", "indent": 1 }] })
        );
        assert_eq!(without_defaults(&json!({ "limit": 5 }), &schema), json!({ "limit": 5 }));
    }
}
