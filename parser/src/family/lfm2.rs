//! LFM2: `<|tool_call_start|>[NAME(key="value")]<|tool_call_end|>`.

use super::{Family, Opening, THINK};
use crate::call::CallForm;

/// The family of LFM2.
pub const LFM2: Family = Family {
    name: "lfm2",
    opening: Opening::Marker("<|tool_call_start|>"),
    form: CallForm::Python,
    closing: &["<|tool_call_end|>"],
    thinking: THINK,
    frames: &[
        "<|im_start|>",
        "<|im_end|>",
        "<|tool_list_start|>",
        "<|tool_list_end|>",
        "<|tool_response_start|>",
        "<|tool_response_end|>",
    ],
    instruction: None,
};
