//! `update_block`: replaces the text of a block.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::SqliteConnection;

use super::{BLOCK, Changed, fault, notes, success};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional("update_block", "Replace the text of a block.", update_block)
        .category(BLOCK)
        .effect(EffectPolicy::Write)
        .narrower("get_block")
        .idempotent()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Id of the block.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// The new text, one line.
    content: String,
}

async fn update_block(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let updated = notes(db, ctx).update_block(&arguments.id, &arguments.content).await;
    success(Changed::from(updated.map_err(fault(ctx))?), ctx)
}
