//! The JSON Schemas of values that are stricter than their Rust types: ids, cursors, digests, tags
//! and moments.

use super::{
    CallId, CompletionId, Digest, EventCursor, FeedCursor, IdempotencyKey, LanguageTag, ModelName,
    SessionId, Timestamp, TurnId, UserId,
};

/// Implements the schema of types under their own name: a description, and the keywords to which
/// their JSON keeps.
macro_rules! json_schema_of {
    ($($type:ident: $description:literal, $keywords:tt;)*) => {
        $(impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn schema_id() -> std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($type)).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut schema = schemars::json_schema!($keywords);
                schema.insert("description".to_owned(), $description.into());
                schema
            }
        })*
    };
}
pub(crate) use json_schema_of;

json_schema_of! {
    // The bound on bytes is not a keyword; no text within it has more characters.
    SessionId: "The name of a chat: at most 256 bytes.", {
        "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]+$",
    };
    UserId: "The name of a user: at most 256 bytes.", {
        "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]+$",
    };
    IdempotencyKey: "Makes a request safe to repeat. At most 256 bytes.", {
        "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]+$",
    };
    TurnId: "The id of a turn.", { "type": "string", "format": "uuid" };
    CompletionId: "The id of a completion.", { "type": "string", "format": "uuid" };
    CallId: "The id of a tool call.", { "type": "string", "format": "uuid" };
    EventCursor: "The number of an entry of the chat, followed by `.1` for the error of its turn or by `.2` for the end.", {
        "type": "string", "pattern": "^[0-9]{1,20}(\\.[12])?$",
    };
    FeedCursor: "A cursor and, if they are known, the feed and the number of the last event that it published.", {
        "type": "string", "pattern": "^[0-9]{1,20}(\\.[12])?(@[0-9a-f]{1,16}\\.[0-9]{1,20})?$",
    };
    Digest: "A SHA-256 as hexadecimal digits.", { "type": "string", "pattern": "^[0-9a-f]{64}$" };
    LanguageTag: "A BCP 47 tag, such as ko or pt-BR.", {
        "type": "string", "minLength": 2, "maxLength": 35,
        "pattern": "^[A-Za-z]{2}[A-Za-z0-9]{0,6}(-[A-Za-z0-9]{1,8})*$",
    };
    ModelName: "The name of a model of this runtime.", {
        "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9._:/@+-]+$",
    };
    Timestamp: "Milliseconds since 1970 (UTC).", { "type": "integer", "format": "int64" };
}
