//! FunctionGemma: `<start_function_call>call:NAME{key:<escape>text<escape>}<end_function_call>`.

use super::{Family, Opening, THINK};
use crate::call::CallForm;

/// The family of FunctionGemma.
pub const FUNCTION_GEMMA: Family = Family {
    name: "functiongemma",
    opening: Opening::Marker("<start_function_call>"),
    form: CallForm::Braces("<escape>"),
    closing: &["<end_function_call>"],
    thinking: THINK,
    frames: &[
        "<start_of_turn>",
        "<end_of_turn>",
        "<start_function_declaration>",
        "<end_function_declaration>",
        "<start_function_response>",
        "<end_function_response>",
    ],
    instruction: None,
};
