//! The digest that binds an approval request, its decision and what runs.

use serde::{Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::protocol::{CallId, Digest, SessionId, Shown, ToolSpec, UserId};

/// Hashes what a person sees and what runs. The hash covers the tool with its schema (as
/// [`schema_digest`] hashes them), arguments, user, session and call. If a question was asked, it
/// covers every byte of it.
#[must_use]
pub fn digest(
    schema: &Digest,
    arguments: &Value,
    user: &UserId,
    session: &SessionId,
    call: CallId,
    shown: Option<&Shown>,
) -> Digest {
    let mut hash = Sha256::new();
    let call = call.to_string();
    let schema = schema.to_string();
    let (text, consequence) = shown.map_or(("", ""), |shown| (&shown.text, &shown.consequence));
    let is_shown = if shown.is_some() { "shown" } else { "not shown" };
    let parts = [
        &*schema,
        &canonical(arguments),
        user.as_str(),
        session.as_str(),
        &call,
        is_shown,
        text,
        consequence,
    ];
    for part in parts {
        // The length first, so that no two lists of parts read alike.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    Digest::new(hash.finalize().into())
}

/// Hashes what a user typed, so that two submits can be compared without the text.
#[must_use]
pub fn text_digest(text: &str) -> Digest {
    Digest::new(Sha256::digest(text.as_bytes()).into())
}

/// Hashes a tool's name and schema. An approval does not cover a tool with another name or schema.
#[must_use]
pub fn schema_digest(spec: &ToolSpec) -> Digest {
    let mut hash = Sha256::new();
    hash.update((spec.name.len() as u64).to_be_bytes());
    hash.update(spec.name.as_bytes());
    hash.update(canonical(&spec.parameters).as_bytes());
    Digest::new(hash.finalize().into())
}

/// Writes JSON in one form: keys sorted, no spaces.
#[must_use]
pub fn canonical(value: &Value) -> String {
    serde_json::to_string(&Sorted(value)).expect("every key of a JSON value is a string")
}

/// A value whose objects are written in the order of their keys.
struct Sorted<'a>(&'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|(key, _)| *key);
                to.collect_map(members.into_iter().map(|(key, value)| (key, Sorted(value))))
            }
            Value::Array(items) => to.collect_seq(items.iter().map(Sorted)),
            plain => plain.serialize(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    fn spec(name: &str, schema: Value) -> Digest {
        schema_digest(&ToolSpec::new(name.to_owned(), "adds", schema))
    }

    fn shown(text: &str, consequence: &str) -> Option<Shown> {
        Some(Shown { text: text.into(), consequence: consequence.into() })
    }

    #[test]
    fn the_digest_covers_every_part_of_what_is_shown_and_run() {
        let of = |schema: Digest, arguments: &Value, user, session, call, shown: Option<Shown>| {
            let user = UserId::new(user).unwrap();
            let session = SessionId::new(session).unwrap();
            let call = CallId::new(Uuid::from_u128(call));
            digest(&schema, arguments, &user, &session, call, shown.as_ref())
        };
        let schema = json!({ "type": "object" });
        let arguments = json!({ "a": 1, "b": [1, 2] });
        let tool = || spec("add", schema.clone());
        let one = of(tool(), &arguments, "kim", "s", 1, shown("Add?", "Adds."));
        let reordered = json!({ "b": [1, 2], "a": 1 });
        assert_eq!(one, of(tool(), &reordered, "kim", "s", 1, shown("Add?", "Adds.")));
        let others = [
            of(spec("sum", schema.clone()), &arguments, "kim", "s", 1, shown("Add?", "Adds.")),
            of(spec("add", json!({})), &arguments, "kim", "s", 1, shown("Add?", "Adds.")),
            of(tool(), &json!({ "a": 1, "b": [2, 1] }), "kim", "s", 1, shown("Add?", "Adds.")),
            of(tool(), &json!({ "a": "1", "b": [1, 2] }), "kim", "s", 1, shown("Add?", "Adds.")),
            of(tool(), &json!({ "a": 1 }), "kim", "s", 1, shown("Add?", "Adds.")),
            of(tool(), &arguments, "lee", "s", 1, shown("Add?", "Adds.")),
            of(tool(), &arguments, "kim", "t", 1, shown("Add?", "Adds.")),
            of(tool(), &arguments, "kim", "s", 2, shown("Add?", "Adds.")),
            of(tool(), &arguments, "kim", "s", 1, shown("Add? ", "Adds.")),
            of(tool(), &arguments, "kim", "s", 1, shown("Add?", "Adds")),
            of(tool(), &arguments, "kim", "s", 1, shown("Add?A", "dds.")),
            of(tool(), &arguments, "kim", "s", 1, shown("", "")),
            of(tool(), &arguments, "kim", "s", 1, None),
        ];
        for (index, other) in others.iter().enumerate() {
            assert_ne!(one, *other, "{index}");
            assert!(!others[..index].contains(other), "{index}");
        }
        // A name cannot be moved into a schema.
        assert_ne!(spec("a", json!("b")), spec("a\"b\"", json!("")));
    }

    #[test]
    fn canonical_json_sorts_keys_at_every_level() {
        assert_eq!(
            canonical(&json!({ "b": { "d": 1, "c": "é\n" }, "a": [], "e": [1, 2, [3]] })),
            r#"{"a":[],"b":{"c":"é\n","d":1},"e":[1,2,[3]]}"#
        );
    }
}
