//! Makes the chats and tools with which a template is probed.

use serde_json::{Value, json};

use super::telling::Telling;

pub(super) const TOOL: &str = "probe_tool";
pub(super) const ARGUMENTS: &str = r#"{"probe_key": "probe_value"}"#;
pub(super) const RESULT: &str = "probe-result";
pub(super) const SAID: &str = "probe-said";
/// The id of a call. Some templates refuse ids of another length.
const ID: &str = "probe0001";

/// Returns parameters of every kind that a schema may have. Some templates do not end for a type
/// that they do not know.
pub(super) fn every_kind() -> Value {
    let kinds =
        ["string", "number", "integer", "boolean", "null"].map(|kind| json!({"type": kind}));
    let place = json!({"type": ["object", "null"], "properties": {"name": {"type": "string"}}});
    let either = json!({"anyOf": [{"type": "string"}, {"$ref": "#/$defs/place"}]});
    json!({
        "type": "object",
        "$defs": {"place": place},
        "properties": {
            "kinds": {"type": "array", "items": {"oneOf": kinds}},
            "list": {"type": "array"},
            "place": place,
            "either": either,
            "any": {},
            "choice": {"enum": ["a", 1, null], "default": null},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "required": ["place"],
        "additionalProperties": false,
    })
}

pub(super) fn user() -> Value {
    json!({"role": "user", "content": "a"})
}

pub(super) fn said(content: &str) -> Value {
    json!({"role": "assistant", "content": content})
}

pub(super) fn probe_chat(telling: Telling, said: &str) -> Vec<Value> {
    let arguments: Value = serde_json::from_str(ARGUMENTS).expect("our own probe is JSON");
    let call =
        json!({"id": ID, "type": "function", "function": {"name": TOOL, "arguments": arguments}});
    let mut message = json!({"role": "assistant", "content": said, "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": ID, "name": TOOL, "content": RESULT});
    match telling {
        Telling::Calls | Telling::Text { .. } => vec![user(), message, result],
        Telling::CallsWithResults => {
            message["tool_responses"] = json!([{"name": TOOL, "response": RESULT}]);
            vec![user(), message]
        }
    }
}
