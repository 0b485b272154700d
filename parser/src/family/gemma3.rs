//! Gemma 3, whose template does not support tools. If it is asked to call one, it answers with
//! `{"name": .., "parameters": {..}}`.

use super::{Family, Opening, THINK};
use crate::call::CallForm;

/// The family of Gemma 3.
pub const GEMMA_3: Family = Family {
    name: "gemma3",
    opening: Opening::Answer("name"),
    form: CallForm::Object { within: None, arguments: "parameters" },
    closing: &["```"],
    thinking: THINK,
    frames: &["<start_of_turn>", "<end_of_turn>"],
    instruction: Some(
        "If you use a tool, you must put it in the format of\n\
                  {\"name\": tool name, \"parameters\": dictionary of argument name and its value}\n\
                  and write no other text. Its result comes in the next message as {\"tool_result\": ...}; it is not \
                  written by the user.\n",
    ),
};
