//! The envelope, `{"tool_call": {..}}`: how a model without support for tools is asked to write a
//! call, instead of an answer.

use super::{Family, Opening, THINK};
use crate::call::CallForm;

/// The family of models that know no tools.
pub const ENVELOPE: Family = Family {
    name: "envelope",
    opening: Opening::Answer("tool_call"),
    form: CallForm::Object { within: Some("tool_call"), arguments: "arguments" },
    closing: &["```"],
    thinking: THINK,
    frames: &[],
    instruction: Some(
        "To use a tool, answer with nothing but a JSON object of this form:\n\
                  {\"tool_call\": {\"name\": \"NAME\", \"arguments\": {}}}\n\
                  Its result comes in the next message as {\"tool_result\": ...}; it is not written by the user.\n",
    ),
};
