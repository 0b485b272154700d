//! Describes the body of a run, as far as it is read. The protocol's own description has the rest.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::{
    forms::{ClientId, SessionName},
    route::ForeignObject,
};

/// The input of a run.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used: the body is read without a tree")]
pub(super) struct AgUiRunInput {
    /// The chat.
    thread_id: SessionName,
    /// The id of the run, which the events repeat.
    run_id: ClientId,
    /// The client's messages, of which the last one of the role `user` counts. Those of other roles
    /// have any form.
    #[schemars(schema_with = "messages")]
    messages: Vec<Value>,
    /// The client's state, which the run returns. Anything but an object counts as none.
    state: Option<Value>,
    /// What the model reads in addition to the chat: entries with a `value`, and a `description` if
    /// it needs one.
    context: Option<Value>,
    /// Decisions about approval requests: entries with `interruptId`, `status` (`resolved` or
    /// `cancelled`) and, if resolved, a `payload` with `approved` and if necessary `message`,
    /// `editedArgs` or `always`.
    #[schemars(length(max = 100))]
    resume: Option<Vec<Value>>,
    /// What the client adds. In `ask` it says who is asked for approvals: `here`, `elsewhere` or
    /// `none`.
    forwarded_props: Option<Value>,
}

/// A message of the user.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct AgUiUserMessage {
    /// The key of the turn.
    id: ClientId,
    /// Its text, whole or in parts.
    content: AgUiContent,
}

/// A text, whole or in parts.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum AgUiContent {
    /// The text.
    Text(String),
    /// Its parts.
    Parts(Vec<AgUiPart>),
}

/// A part of a message. Only text can be sent.
#[derive(JsonSchema)]
#[schemars(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum AgUiPart {
    /// A text.
    Text {
        /// The text. Anything else counts as none.
        text: Value,
    },
}

/// Returns the schema of messages, of which only those of the user are read.
fn messages(generator: &mut SchemaGenerator) -> Schema {
    let of_user = generator.subschema_for::<AgUiUserMessage>();
    let message = json!({
        "if": { "type": "object", "properties": { "role": { "const": "user" } }, "required": ["role"] },
        "then": of_user,
    });
    json_schema!({ "type": "array", "items": message })
}

/// Returns an input as clients send it.
pub(super) fn example() -> Value {
    json!({
        "threadId": "chat-1",
        "runId": "run-1",
        "messages": [{ "id": "message-1", "role": "user", "content": "What helps me sleep?" }],
        "state": ForeignObject::new(),
        "tools": [],
        "context": [],
        "forwardedProps": ForeignObject::new(),
    })
}
