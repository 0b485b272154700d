//! Llama 3.1 to 4, whose answer is `{"name": .., "parameters": {..}}` and nothing else.

use super::{Family, Opening, THINK};
use crate::call::CallForm;

/// The family of Llama 3.1 to 4.
pub const LLAMA_3: Family = Family {
    name: "llama3",
    opening: Opening::Answer("name"),
    form: CallForm::Object { within: None, arguments: "parameters" },
    closing: &["```"],
    thinking: THINK,
    frames: &[
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|python_tag|>",
        "<|begin_of_text|>",
        "<|header_start|>",
        "<|header_end|>",
        "<|eot|>",
        "<|eom|>",
        "<|python_start|>",
        "<|python_end|>",
    ],
    instruction: None,
};
