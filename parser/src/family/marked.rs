//! Families that write a call as its name and its arguments as JSON, between texts of their own:
//! one row each.

use super::{Family, Opening, THINK};
use crate::call::{CallForm, Marks};

/// The base of the rows.
const BASE: Family = Family {
    name: "",
    opening: Opening::Marker(""),
    form: CallForm::Marked(&Marks::BASE),
    closing: &[],
    thinking: THINK,
    frames: &[],
    instruction: None,
};

const MISTRAL_MARKS: Marks = Marks { between: &["[ARGS]", "[CALL_ID]#[ARGS]"], ..Marks::BASE };
const DEEPSEEK_R1_MARKS: Marks = Marks {
    before: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
    between: &["\n```json\n"],
    after: "\n```<｜tool▁call▁end｜>",
    separator: Some("\n"),
};
const DEEPSEEK_MARKS: Marks = Marks {
    before: "<｜tool▁call▁begin｜>",
    between: &["<｜tool▁sep｜>"],
    after: "<｜tool▁call▁end｜>",
    separator: Some(""),
};
const KIMI_MARKS: Marks = Marks {
    before: "<|tool_call_begin|>functions.",
    between: &[":#<|tool_call_argument_begin|>"],
    after: "<|tool_call_end|>",
    separator: Some(""),
};
const SOLAR_MARKS: Marks = Marks {
    before: "<|tool_call:begin|>#<|tool_call:name|>",
    between: &["<|tool_call:args|>"],
    after: "<|tool_call:end|>",
    separator: Some(""),
};

/// Mistral since Small 3.2: `[TOOL_CALLS]NAME[ARGS]{..}`.
pub const MISTRAL_MARKED: Family =
    Family { name: "mistral-marked", form: CallForm::Marked(&MISTRAL_MARKS), ..super::MISTRAL };

/// DeepSeek R1 and V3, and the models distilled from them.
pub const DEEPSEEK_R1: Family = Family {
    name: "deepseek-r1",
    form: CallForm::Marked(&DEEPSEEK_R1_MARKS),
    instruction: Some(
        "To use a tool, write its name and its arguments as JSON in this form:\n\
         <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n{}\n```<｜tool▁call▁end｜>\
         <｜tool▁calls▁end｜>\n",
    ),
    ..DEEPSEEK_V3_1
};

/// DeepSeek V3.1.
pub const DEEPSEEK_V3_1: Family = Family {
    name: "deepseek-v3.1",
    opening: Opening::Marker("<｜tool▁calls▁begin｜>"),
    form: CallForm::Marked(&DEEPSEEK_MARKS),
    closing: &["<｜tool▁calls▁end｜>"],
    frames: &[
        "<｜User｜>",
        "<｜Assistant｜>",
        "<｜end▁of▁sentence｜>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁outputs▁begin｜>",
        "<｜tool▁outputs▁end｜>",
        "<｜tool▁output▁begin｜>",
        "<｜tool▁output▁end｜>",
    ],
    instruction: Some(
        "To use a tool, write its name and its arguments as JSON in this form:\n\
         <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>\n",
    ),
    ..BASE
};

/// Kimi K2, whose ids hold the name: `functions.NAME:0`.
pub const KIMI_K2: Family = Family {
    name: "kimi-k2",
    opening: Opening::Marker("<|tool_calls_section_begin|>"),
    form: CallForm::Marked(&KIMI_MARKS),
    closing: &["<|tool_calls_section_end|>"],
    frames: &[
        "<|im_system|>",
        "<|im_user|>",
        "<|im_assistant|>",
        "<|im_middle|>",
        "<|im_end|>",
        "<|tool_call_begin|>",
    ],
    ..BASE
};

/// Solar Open.
pub const SOLAR: Family = Family {
    name: "solar",
    opening: Opening::Marker("<|tool_calls|>"),
    form: CallForm::Marked(&SOLAR_MARKS),
    closing: &["<|calls|>"],
    thinking: ["<|think|>", "<|end|><|begin|>assistant<|content|>"],
    frames: &[
        "<|begin|>",
        "<|end|>",
        "<|content|>",
        "<|tool_response|>",
        "<|tool_response:begin|>",
        "<|tool_response:name|>",
        "<|tool_response:result|>",
        "<|tool_response:end|>",
    ],
    ..BASE
};

/// Functionary 3.1: `<function=NAME>{..}</function>`.
pub const FUNCTIONARY: Family = Family {
    name: "functionary",
    opening: Opening::Marker("<function="),
    form: CallForm::Marked(&Marks { between: &[">"], ..Marks::BASE }),
    closing: &["</function>"],
    frames: super::LLAMA_3.frames,
    ..BASE
};
