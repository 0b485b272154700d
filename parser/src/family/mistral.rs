//! Mistral up to Small 3.1: a list of objects after `[TOOL_CALLS]`. Later ones are rows of
//! `marked`.

use super::{Family, Opening};
use crate::call::{CallForm, Items};

const OPENING: Opening = Opening::Marker("[TOOL_CALLS]");
const THINK: [&str; 2] = ["[THINK]", "[/THINK]"];
const FRAMES: &[&str] = &[
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CONTENT]",
    "[CALL_ID]",
    "[ARGS]",
];

/// The family of Mistral up to Small 3.1.
pub const MISTRAL: Family = Family {
    name: "mistral",
    opening: OPENING,
    form: CallForm::Objects(&Items::USUAL),
    closing: &[],
    thinking: THINK,
    frames: FRAMES,
    instruction: None,
};
