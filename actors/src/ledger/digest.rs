//! The digest that binds a question, its answer and what is run.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::protocol::{CallId, Digest, SessionId, ToolSpec, UserId};

/// Hashes what a person is shown and what is run: tool, schema, arguments, user, session and call.
#[must_use]
pub fn digest(
    spec: &ToolSpec,
    arguments: &Value,
    user: &UserId,
    session: &SessionId,
    call: CallId,
) -> Digest {
    let mut hash = Sha256::new();
    let call = call.to_string();
    let parts = [
        &*spec.name,
        &canonical(&spec.parameters),
        &canonical(arguments),
        user.as_str(),
        session.as_str(),
        &call,
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

/// Hashes what a standing approval is bound to beside the tool's name: its schema.
#[must_use]
pub fn schema_digest(spec: &ToolSpec) -> Digest {
    Digest::new(Sha256::digest(canonical(&spec.parameters)).into())
}

/// JSON in one form: keys sorted, no spaces.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (index, (key, value)) in fields.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    fn of(arguments: &Value, user: &str) -> Digest {
        let spec = ToolSpec::new("add", "adds", json!({ "type": "object" }));
        let (user, session) = (UserId::new(user).unwrap(), SessionId::new("s").unwrap());
        digest(&spec, arguments, &user, &session, CallId::new(Uuid::nil()))
    }

    #[test]
    fn the_order_of_keys_does_not_matter_and_everything_else_does() {
        let one = of(&json!({ "a": 1, "b": [1, 2] }), "kim");
        assert_eq!(one, of(&json!({ "b": [1, 2], "a": 1 }), "kim"));
        for other in
            [json!({ "a": 1, "b": [2, 1] }), json!({ "a": 1 }), json!({ "a": "1", "b": [1, 2] })]
        {
            assert_ne!(one, of(&other, "kim"));
        }
        assert_ne!(one, of(&json!({ "a": 1, "b": [1, 2] }), "lee"));
    }

    #[test]
    fn canonical_json_sorts_keys_at_every_level() {
        assert_eq!(
            canonical(&json!({ "b": { "d": 1, "c": "é\n" }, "a": [] })),
            r#"{"a":[],"b":{"c":"é\n","d":1}}"#
        );
    }
}
