//! `ping`: answers, to show that tools work.
use madang::tool::{EffectPolicy, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{super::rules::judge_text, fault};
use madang::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::plain("ping", "Answer pong, to see that tools work.", ping)
        .category("utility")
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

async fn ping(arguments: Arguments, ctx: &ToolContext) -> ToolResult<String> {
    judge_text("message", arguments.message.as_deref().unwrap_or_default()).map_err(fault(ctx))?;
    Ok(match arguments.message {
        Some(message) => format!("pong: {message}"),
        None => "pong".to_owned(),
    })
}
