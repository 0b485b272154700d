//! Gemma 4: `<|tool_call>call:NAME{key:<|"|>text<|"|>}<tool_call|>`.

use super::{Family, Opening};
use crate::call::CallForm;

/// The family of Gemma 4.
pub const GEMMA_4: Family = Family {
    name: "gemma4",
    opening: Opening::Marker("<|tool_call>"),
    form: CallForm::Braces("<|\"|>"),
    closing: &["<tool_call|>"],
    thinking: ["<|channel>thought", "<channel|>"],
    frames: &[
        "<|turn>",
        "<turn|>",
        "<|tool>",
        "<tool|>",
        "<|tool_response>",
        "<tool_response|>",
        "<|channel>",
        "<|think|>",
    ],
    instruction: None,
};
