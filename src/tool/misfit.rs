//! Problems of arguments that fit the schema but not the type of the handler, without the value in
//! them.

use madang_actors::protocol::{Breach, Problem};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

/// Reads typed arguments.
pub(super) fn read<A: DeserializeOwned>(arguments: &Value) -> Result<A, Problem> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let pointer = pointer(error.path());
        problem(pointer, &error.inner().to_string())
    })
}

fn pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer += &format!("/{index}"),
            Segment::Map { key } => {
                pointer += &format!("/{}", key.replace('~', "~0").replace('/', "~1"))
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    pointer
}

/// Takes the part of serde's message that is about the type, and leaves the part that is about the
/// value.
fn problem(pointer: String, words: &str) -> Problem {
    if let Some(field) =
        words.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'))
    {
        return Problem { pointer: format!("{pointer}/{field}"), breach: Breach::Missing };
    }
    let is_serde_s_own =
        ["invalid type: ", "invalid value: ", "invalid length ", "unknown variant `"]
            .iter()
            .any(|beginning| words.starts_with(beginning));
    // The value comes first and may contain these words too, so the last ones are taken.
    let expected = words.rsplit_once(", expected ").filter(|_| is_serde_s_own);
    let expected = expected.and_then(|(_, expected)| in_json(expected)).map(Into::into);
    Problem { pointer, breach: Breach::Misfit { expected } }
}

/// Puts serde's words for a type into words for JSON; `None` for names of Rust's own.
fn in_json(expected: &str) -> Option<String> {
    const INTEGERS: [&str; 12] =
        ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];
    let number = expected.strip_prefix("a nonzero ").unwrap_or(expected);
    let is_of = |list: &[&str]| list.contains(&number);
    let words = match expected {
        _ if is_of(&INTEGERS) => "a whole number within the bounds",
        "f32" | "f64" => "a number",
        "a string" | "a boolean" | "a character" => expected,
        "a map" => "an object",
        "a sequence" => "a list",
        // The names of an enumeration are in its schema.
        _ if expected.starts_with('`') || expected.starts_with("one of `") => expected,
        _ => return None,
    };
    Some(words.to_owned())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use serde::{Deserialize, Deserializer, de::Error};
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only reading it is looked at")]
    struct Arguments {
        small: Option<u8>,
        positive: Option<NonZeroU8>,
        #[serde(default)]
        rows: Vec<Row>,
        #[serde(default, deserialize_with = "never")]
        own: (),
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only reading it is looked at")]
    struct Row {
        kind: Kind,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Build,
        Break,
    }

    fn never<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        let value = Value::deserialize(deserializer)?;
        Err(D::Error::custom(format!("I do not like {value}")))
    }

    fn misfit(expected: &'static str) -> Breach {
        Breach::Misfit { expected: Some(expected.into()) }
    }

    #[test]
    fn a_misfit_has_its_place_and_what_was_expected_but_not_the_value() {
        let table = [
            (json!({ "small": 4711 }), "/small", misfit("a whole number within the bounds")),
            (
                json!({ "small": "4711, expected secret" }),
                "/small",
                misfit("a whole number within the bounds"),
            ),
            (json!({ "positive": 0 }), "/positive", misfit("a whole number within the bounds")),
            (json!({ "rows": [{ "kind": "build" }, {}] }), "/rows/1/kind", Breach::Missing),
            (
                json!({ "rows": [{ "kind": "secret" }] }),
                "/rows/0/kind",
                misfit("`build` or `break`"),
            ),
            (json!({ "own": "secret" }), "/own", Breach::Misfit { expected: None }),
        ];
        for (arguments, pointer, breach) in table {
            let problem = read::<Arguments>(&arguments).unwrap_err();
            assert_eq!(problem, Problem { pointer: pointer.to_owned(), breach }, "{arguments}");
            let told = format!("{problem:?}");
            assert!(!told.contains("4711") && !told.contains("secret"), "{told}");
        }
    }
}
