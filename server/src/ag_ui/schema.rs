//! Describes the body of a run, as far as it is read. The protocol's own description has the rest.

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::route::ForeignObject;

/// The input of a run.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used: the body is read without a tree")]
pub(super) struct AgUiRunInput {
    /// The chat.
    #[schemars(length(min = 1, max = 256))]
    thread_id: String,
    /// The id of the run, which the events repeat.
    #[schemars(length(min = 1, max = 256))]
    run_id: String,
    /// The client's messages, of which the last one of the role `user` counts: its `id` is the key
    /// of the turn, and its `content` is a text or parts of text.
    messages: Vec<Value>,
    /// The client's state, which the run returns. Anything but an object counts as none.
    state: Option<Value>,
    /// What the model reads in addition to the chat: entries with a `value`, and a `description` if
    /// it needs one.
    context: Option<Value>,
    /// Decisions about approval requests: entries with `interruptId`, `status` (`resolved` or
    /// `cancelled`) and, if resolved, a `payload` with `approved` and if necessary `message`,
    /// `editedArgs` or `always`.
    resume: Option<Vec<Value>>,
    /// What the client adds. In `ask` it says who is asked for approvals: `here`, `elsewhere` or
    /// `none`.
    forwarded_props: Option<Value>,
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
