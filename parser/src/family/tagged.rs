//! Families that write each argument of a call between tags: one row each.

use super::{Family, Opening, THINK};
use crate::call::{CallForm, Tags};

/// The base of the rows.
const BASE: Family = Family {
    name: "",
    opening: Opening::Marker("<tool_call>"),
    form: CallForm::Tagged(&QWEN_TAGS),
    closing: &[],
    thinking: THINK,
    frames: &[],
    instruction: None,
};

const QWEN_TAGS: Tags = Tags {
    before: "<function=",
    named: ">\n",
    key: "<parameter=",
    keyed: ">\n",
    value: ["", ""],
    end: "\n</parameter>\n",
    after: "</function>",
    separator: None,
    quotes: None,
};
const SEED_TAGS: Tags = Tags { keyed: ">", end: "</parameter>\n", ..QWEN_TAGS };
const GLM_TAGS: Tags = Tags {
    before: "",
    named: "\n",
    key: "<arg_key>",
    keyed: "</arg_key>\n",
    value: ["<arg_value>", "<arg_value>"],
    end: "</arg_value>\n",
    after: "</tool_call>",
    separator: None,
    quotes: None,
};
const GLM_TIGHT_TAGS: Tags =
    Tags { named: "", keyed: "</arg_key>", end: "</arg_value>", ..GLM_TAGS };
const HY_TAGS: Tags = Tags {
    before: "<tool_call:opensource>",
    named: "<tool_sep:opensource>\n",
    key: "<arg_key:opensource>",
    keyed: "</arg_key:opensource>\n",
    value: ["<arg_value:opensource>", "<arg_value:opensource>"],
    end: "</arg_value:opensource>\n",
    after: "</tool_call:opensource>",
    separator: Some("\n"),
    quotes: None,
};
const MINIMAX_TAGS: Tags = Tags {
    before: "<invoke name=\"",
    named: "\">\n",
    key: "<parameter name=\"",
    keyed: "\">",
    value: ["", ""],
    end: "</parameter>\n",
    after: "</invoke>",
    separator: Some("\n"),
    quotes: None,
};
const MINICPM_TAGS: Tags = Tags {
    before: "",
    named: "\">",
    key: "<param name=\"",
    keyed: "\">",
    value: ["", ""],
    end: "</param>",
    after: "</function>",
    separator: None,
    quotes: Some(["<![CDATA[", "]]>"]),
};
const DEEPSEEK_TAGS: Tags = Tags {
    before: "<｜DSML｜invoke name=\"",
    named: "\">\n",
    key: "<｜DSML｜parameter name=\"",
    keyed: "\" string=\"",
    value: ["true\">", "false\">"],
    end: "</｜DSML｜parameter>\n",
    after: "</｜DSML｜invoke>",
    separator: Some("\n"),
    quotes: None,
};

/// Qwen3-Coder, Qwen 3.5 and 3.6, Nemotron 3, Step 3.5.
pub const QWEN_CODER: Family =
    Family { name: "qwen-coder", closing: &["</tool_call>"], frames: super::HERMES.frames, ..BASE };

/// Seed-OSS.
pub const SEED: Family = Family {
    name: "seed",
    opening: Opening::Marker("<seed:tool_call>"),
    form: CallForm::Tagged(&SEED_TAGS),
    closing: &["</seed:tool_call>"],
    thinking: ["<seed:think>", "</seed:think>"],
    frames: &["<seed:bos>", "<seed:eos>", "<seed:cot_budget_reflect>"],
    ..BASE
};

/// GLM 4.5 and 4.6, Laguna XS, Ling 3.
pub const GLM: Family = Family {
    name: "glm",
    form: CallForm::Tagged(&GLM_TAGS),
    frames: &[
        "[gMASK]",
        "<sop>",
        "<|system|>",
        "<|user|>",
        "<|assistant|>",
        "<|observation|>",
        "<tools>",
        "</tools>",
        "<tool_response>",
        "</tool_response>",
    ],
    ..BASE
};

/// GLM 4.7, Laguna S and Spark 2.5, which write the tags of GLM without line breaks.
pub const GLM_TIGHT: Family =
    Family { name: "glm-4.7", form: CallForm::Tagged(&GLM_TIGHT_TAGS), ..GLM };

/// MiniCPM 5: `<function name="NAME"><param name="KEY">value</param></function>`.
pub const MINICPM_5: Family = Family {
    name: "minicpm5",
    opening: Opening::Marker("<function name=\""),
    form: CallForm::Tagged(&MINICPM_TAGS),
    frames: super::HERMES.frames,
    ..BASE
};

/// Hunyuan 3.
pub const HY_3: Family = Family {
    name: "hy3",
    opening: Opening::Marker("<tool_calls:opensource>"),
    form: CallForm::Tagged(&HY_TAGS),
    closing: &["</tool_calls:opensource>"],
    thinking: ["<think:opensource>", "</think:opensource>"],
    frames: &[
        "<｜hy_User:opensource｜>",
        "<｜hy_Assistant:opensource｜>",
        "<｜hy_eos:opensource｜>",
        "<tool_responses:opensource>",
        "</tool_responses:opensource>",
        "<tool_response:opensource>",
        "</tool_response:opensource>",
    ],
    ..BASE
};

/// MiniMax M2.
pub const MINIMAX_M2: Family = Family {
    name: "minimax-m2",
    opening: Opening::Marker("<minimax:tool_call>"),
    form: CallForm::Tagged(&MINIMAX_TAGS),
    closing: &["</minimax:tool_call>"],
    frames: &["]~!b[", "]~b]", "[e~[", "<response>", "</response>"],
    ..BASE
};

/// DeepSeek V3.2.
pub const DEEPSEEK_V3_2: Family = Family {
    name: "deepseek-v3.2",
    opening: Opening::Marker("<｜DSML｜function_calls>"),
    form: CallForm::Tagged(&DEEPSEEK_TAGS),
    closing: &["</｜DSML｜function_calls>"],
    frames: &[
        "<｜User｜>",
        "<｜Assistant｜>",
        "<｜end▁of▁sentence｜>",
        "｜DSML｜",
        "<function_results>",
        "</function_results>",
        "<tool_result>",
        "</tool_result>",
    ],
    ..BASE
};

/// DeepSeek V4.
pub const DEEPSEEK_V4: Family = Family {
    name: "deepseek-v4",
    opening: Opening::Marker("<｜DSML｜tool_calls>"),
    closing: &["</｜DSML｜tool_calls>"],
    ..DEEPSEEK_V3_2
};
