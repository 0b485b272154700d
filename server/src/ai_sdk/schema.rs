//! Describes the body of a request of `useChat`, as far as it is read. The SDK's own description has
//! the rest.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::{
    ask::Ask,
    forms::{ClientId, SessionName},
};

/// A request of `useChat`: a chat with its messages, or with the last of them alone.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", transform = one_message_counts)]
#[expect(dead_code, reason = "only its schema is used: the body is read without a tree")]
pub(super) struct AiSdkRequest {
    /// The chat.
    id: SessionName,
    /// The client's messages, of which the last one counts. It has the form of `message`, and they
    /// are not read beside it.
    messages: Option<Value>,
    /// The last message, for a client that sends it alone.
    message: Option<AiSdkMessage>,
    /// `regenerate-message` if the client wants another answer to the message.
    trigger: Option<Value>,
    /// The id of the message that was edited or is answered again.
    message_id: Option<Value>,
    /// Who is asked for approvals.
    ask: Option<Ask>,
}

/// A message of the AI SDK.
#[derive(JsonSchema)]
#[schemars(tag = "role", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum AiSdkMessage {
    /// A text.
    User {
        /// The key of its turn.
        id: ClientId,
        /// Its parts. Those of the type `text` count, and files are refused.
        #[schemars(schema_with = "no_files")]
        parts: Vec<Value>,
    },
    /// Decisions about the approvals of a message.
    Assistant {
        /// The id of the message.
        id: Option<Value>,
        /// Its parts. Those with an approval to which the person has responded count.
        parts: Vec<Value>,
    },
}

/// Returns the schema of parts that are no files.
fn no_files(_: &mut SchemaGenerator) -> Schema {
    let part = json!({
        "not": { "type": "object", "properties": { "type": { "const": "file" } }, "required": ["type"] },
    });
    json_schema!({ "type": "array", "items": part })
}

/// Says that the list of messages is needed where there is no message alone.
fn one_message_counts(schema: &mut Schema) {
    let list = json!({
        "type": "array", "minItems": 1, "items": { "$ref": "#/components/schemas/AiSdkMessage" },
    });
    let is_alone =
        json!({ "properties": { "message": { "type": "object" } }, "required": ["message"] });
    schema.insert("if".to_owned(), is_alone);
    let has_list = json!({ "properties": { "messages": list }, "required": ["messages"] });
    schema.insert("else".to_owned(), has_list);
}

/// Returns a request as clients send it.
pub(super) fn example() -> Value {
    let text = "What helps me sleep?";
    let parts = json!([{ "type": "text", "text": text }]);
    json!({
        "id": "chat-1",
        "messages": [{ "id": "message-1", "role": "user", "parts": parts }],
        "trigger": "submit-message",
    })
}
