//! gpt-oss, which writes messages in channels. A call is a message whose header names a tool,
//! `to=functions.NAME`.

use super::{Family, Opening};
use crate::{
    call::{CallForm, Marks},
    header::Channels,
};

/// The family of gpt-oss.
pub const GPT_OSS: Family = Family {
    name: "gpt-oss",
    opening: Opening::Header(&Channels {
        start: "<|start|>assistant",
        channel: "<|channel|>",
        message: "<|message|>",
        end: "<|end|>",
        to: "to=",
        tools: "to=functions.",
        thinking: "analysis",
    }),
    form: CallForm::Marked(&Marks {
        between: &[
            "<|channel|>commentary json<|message|>",
            "<|channel|>commentary <|constrain|>json<|message|>",
            "<|channel|>commentary<|message|>",
            " <|constrain|>json<|message|>",
            " json<|message|>",
            "<|message|>",
        ],
        ..Marks::BASE
    }),
    closing: &["<|call|>"],
    thinking: ["<|channel|>analysis<|message|>", "<|end|>"],
    frames: &["<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|return|>"],
    instruction: None,
};
