//! Describes the body of a request of `useChat`, as far as it is read. The SDK's own description has
//! the rest.

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::ask::Ask;

/// A request of `useChat`: a chat with its messages, or with the last of them alone.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used: the body is read without a tree")]
pub(super) struct AiSdkRequest {
    /// The chat.
    #[schemars(length(min = 1, max = 256))]
    id: String,
    /// The client's messages, of which the last one counts. It has the form of `message`.
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
#[expect(dead_code, reason = "only its schema is used")]
struct AiSdkMessage {
    /// Its id. That of a user's message is the key of its turn.
    id: Option<Value>,
    /// `user` for a text, `assistant` for decisions about its approvals.
    role: AiSdkRole,
    /// Its parts. Of a user's message, those of the type `text` count, and files are refused.
    parts: Vec<Value>,
}

/// The side that a message is of.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum AiSdkRole {
    User,
    Assistant,
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
