//! Families that write calls as JSON after a marker of their own: one row each.

use super::{Family, Opening, THINK};
use crate::call::{CallForm, Items};

/// The base of the rows: a list of objects.
const BASE: Family = Family {
    name: "",
    opening: Opening::Marker(""),
    form: CallForm::Objects(&Items::USUAL),
    closing: &[],
    thinking: THINK,
    frames: &[],
    instruction: None,
};

const COHERE_ITEMS: Items = Items {
    around: ["[\n    ", "\n]"],
    separator: Some(",\n    "),
    id: Some("tool_call_id"),
    name: Some("tool_name"),
    arguments: "parameters",
};

/// Command R7B, Command A and North.
pub const COHERE: Family = Family {
    name: "cohere",
    opening: Opening::Marker("<|START_ACTION|>"),
    form: CallForm::Objects(&COHERE_ITEMS),
    closing: &["<|END_ACTION|>"],
    thinking: ["<|START_THINKING|>", "<|END_THINKING|>"],
    frames: &[
        "<|START_OF_TURN_TOKEN|>",
        "<|END_OF_TURN_TOKEN|>",
        "<|SYSTEM_TOKEN|>",
        "<|USER_TOKEN|>",
        "<|CHATBOT_TOKEN|>",
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        "<|START_TEXT|>",
        "<|END_TEXT|>",
        "<|START_TOOL_RESULT|>",
        "<|END_TOOL_RESULT|>",
    ],
    ..BASE
};

/// Apertus: `[{"NAME": {..}}]`.
pub const APERTUS: Family = Family {
    name: "apertus",
    opening: Opening::Marker("<|tools_prefix|>"),
    form: CallForm::Objects(&Items { name: None, ..Items::USUAL }),
    closing: &["<|tools_suffix|>"],
    thinking: ["<|inner_prefix|>", "<|inner_suffix|>"],
    frames: &[
        "<|system_start|>",
        "<|system_end|>",
        "<|developer_start|>",
        "<|developer_end|>",
        "<|user_start|>",
        "<|user_end|>",
        "<|assistant_start|>",
        "<|assistant_end|>",
    ],
    ..BASE
};

/// Granite 3, and Phi-4-mini, which closes a block with a marker of its own.
pub const GRANITE_3: Family = Family {
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
pub const NEMOTRON_2: Family = Family {
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
pub const APRIEL: Family = Family {
    name: "apriel",
    opening: Opening::Marker("<tool_calls>"),
    closing: &["</tool_calls>"],
    frames: &["<|begin_system|>", "<|begin_user|>", "<|begin_assistant|>", "<|begin_tool_result|>"],
    ..BASE
};

/// GigaChat 3.1, which writes one object.
pub const GIGACHAT: Family = Family {
    name: "gigachat",
    opening: Opening::Marker("<|function_call|>"),
    form: CallForm::Object { within: None, arguments: "arguments" },
    closing: &["<|message_sep|>"],
    frames: &["<|role_sep|>"],
    ..BASE
};

/// GigaChat 3, which writes a call in a message with a role of its own.
pub const GIGACHAT_3: Family = Family {
    name: "gigachat3",
    opening: Opening::Marker("<|message_sep|>\n\nfunction call<|role_sep|>"),
    ..GIGACHAT
};

/// HyperCLOVA X SEED, which writes calls in a message with a role of its own.
pub const HYPERCLOVA: Family = Family {
    name: "hyperclova",
    opening: Opening::Marker("-> tool/function_call"),
    frames: &["<|im_start|>", "<|im_end|>", "<|endofturn|>", "<|stop|>"],
    ..BASE
};
