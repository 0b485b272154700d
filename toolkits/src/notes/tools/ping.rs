//! `ping`, which answers to show that tools work.
use std::sync::Arc;

use madang::tool::{self, EffectPolicy, Tool, ToolContext, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    super::{super::category::Within as _, rules::judge_text},
    fault,
};

pub(super) fn tool() -> Arc<dyn Tool> {
    tool::plain("ping", "Answer pong, to see that tools work.", ping)
        .effect(EffectPolicy::Read)
        .idempotent()
        .within("utility")
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
