//! Hermes, Qwen and many after them: `<tool_call>{"name": .., "arguments": {..}}</tool_call>`.

use super::{Family, Opening, THINK};
use crate::call::CallForm;

/// The family of Hermes. If its template lists no tools, nothing does: a model that was trained on
/// its tools needs no list.
pub const HERMES: Family = Family {
    name: "hermes",
    opening: Opening::Marker("<tool_call>"),
    form: CallForm::Object { within: None, arguments: "arguments" },
    closing: &["</tool_call>"],
    thinking: THINK,
    frames: &[
        "<|im_start|>",
        "<|im_end|>",
        "<tools>",
        "</tools>",
        "<tool_response>",
        "</tool_response>",
    ],
    instruction: Some(
        "To use a tool, write its name and its arguments as JSON inside tool_call tags:\n\
                  <tool_call>\n{\"name\": \"NAME\", \"arguments\": {}}\n</tool_call>\n",
    ),
};
