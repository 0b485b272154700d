//! Describes the body of a chat completion, as far as it is read. OpenAI's own description has the
//! rest.

use schemars::JsonSchema;
use serde_json::{Value, json};

/// A request for a chat completion. Options that are not named here are ignored, and the header
/// `madang-ignored` of the answer lists them. `tools`, `functions`, `n` above 1, `response_format`,
/// `logprobs`, `top_logprobs`, `audio` and other modalities than text are refused.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used: `Body` reads without a tree")]
pub(super) struct ChatCompletionRequest {
    /// The chat, of which the last message is the user's and begins a turn.
    #[schemars(length(min = 1))]
    messages: Vec<ChatCompletionMessage>,
    /// The name of a model as the server lists it. Any other name selects none.
    model: Option<String>,
    /// Whether the answer is a stream of chunks.
    stream: Option<bool>,
    /// The options of a stream.
    stream_options: Option<ChatCompletionStreamOptions>,
    /// The client's own notes.
    metadata: Option<ChatCompletionMetadata>,
}

/// A message of a chat completion.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ChatCompletionMessage {
    /// The side that said it.
    role: ChatCompletionRole,
    /// The text.
    content: Option<ChatCompletionContent>,
}

/// The side that said a message.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum ChatCompletionRole {
    /// What the model reads before the chat.
    System,
    /// The same, under its newer name.
    Developer,
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// A text, whole or in parts.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum ChatCompletionContent {
    /// The text.
    Text(String),
    /// Its parts.
    Parts(Vec<ChatCompletionPart>),
}

/// A part of a message. Only text can be sent.
#[derive(JsonSchema)]
#[schemars(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum ChatCompletionPart {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
}

/// The options of a stream.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ChatCompletionStreamOptions {
    /// Whether the last chunk has the usage.
    #[schemars(default)]
    include_usage: bool,
}

/// The client's own notes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ChatCompletionMetadata {
    /// The id of the chat to continue, as text. Anything else names none.
    session: Option<Value>,
}

/// Returns a request as clients send it.
pub(super) fn example() -> Value {
    json!({ "messages": [{ "role": "user", "content": "What helps me sleep?" }] })
}
