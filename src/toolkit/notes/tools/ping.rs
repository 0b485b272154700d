//! `ping`: answers, to see that tools work.
use madang_actors::{port::Tool, protocol::EffectPolicy};
use schemars::JsonSchema;
use serde::Deserialize;

use super::UTILITY;
use crate::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::plain("ping", "Answer pong, to see that tools work.", ping)
        .category(UTILITY)
        .effect(EffectPolicy::Read)
        .idempotent()
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// What to repeat.
    #[serde(default)]
    #[schemars(with = "String", length(max = 200))]
    message: Option<String>,
}

async fn ping(arguments: Arguments, _: &ToolContext) -> ToolResult<String> {
    Ok(match arguments.message {
        Some(message) => format!("pong: {message}"),
        None => "pong".to_owned(),
    })
}
