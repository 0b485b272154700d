//! Families that write calls as JSON behind a marker of their own: one row each.

use super::super::call::CallForm;
use super::{Family, Opening, THINK};

/// The base of the rows: a list of objects.
const BASE: Family = Family {
    name: "",
    opening: Opening::Marker(""),
    form: CallForm::Objects,
    closing: &[],
    thinking: THINK,
    frames: &[],
    instruction: None,
};

/// Granite 3, and Phi-4-mini with the end of its own.
pub(in super::super) const GRANITE_3: Family = Family {
    name: "granite3",
    opening: Opening::Marker("<|tool_call|>"),
    closing: &["<|/tool_call|>"],
    frames: &[
        "<|start_of_role|>",
        "<|end_of_role|>",
        "<|end_of_text|>",
        "<|tool|>",
        "<|/tool|>",
        "<|tool_response|>",
        "<|end|>",
    ],
    instruction: Some(
        "To use a tool, write a list with its name and its arguments as JSON:\n\
         <|tool_call|>[{\"name\": \"NAME\", \"arguments\": {}}]\n",
    ),
    ..BASE
};

/// Nemotron Nano 2.
pub(in super::super) const NEMOTRON_2: Family = Family {
    name: "nemotron2",
    opening: Opening::Marker("<TOOLCALL>"),
    closing: &["</TOOLCALL>"],
    frames: &[
        "<SPECIAL_10>",
        "<SPECIAL_11>",
        "<SPECIAL_12>",
        "<AVAILABLE_TOOLS>",
        "</AVAILABLE_TOOLS>",
        "<TOOL_RESPONSE>",
        "</TOOL_RESPONSE>",
    ],
    ..BASE
};

/// Apriel 1.5 and 1.6.
pub(in super::super) const APRIEL: Family = Family {
    name: "apriel",
    opening: Opening::Marker("<tool_calls>"),
    closing: &["</tool_calls>"],
    frames: &["<|begin_system|>", "<|begin_user|>", "<|begin_assistant|>", "<|begin_tool_result|>"],
    ..BASE
};

/// GigaChat 3.1: one object.
pub(in super::super) const GIGACHAT: Family = Family {
    name: "gigachat",
    opening: Opening::Marker("<|function_call|>"),
    form: CallForm::Object { within: None, arguments: "arguments" },
    closing: &["<|message_sep|>"],
    frames: &["<|role_sep|>"],
    ..BASE
};

/// HyperCLOVA X SEED, in a message with a role of its own.
pub(in super::super) const HYPERCLOVA: Family = Family {
    name: "hyperclova",
    opening: Opening::Marker("-> tool/function_call"),
    frames: &["<|im_start|>", "<|im_end|>", "<|endofturn|>", "<|stop|>"],
    ..BASE
};
