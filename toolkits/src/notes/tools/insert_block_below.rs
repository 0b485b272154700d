//! `insert_block_below`: inserts a block below another one.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::SqliteConnection;

use super::{BLOCK, Created, fault, notes, success};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional(
        "insert_block_below",
        "Insert a block below another one.",
        insert_block_below,
    )
    .category(BLOCK)
    .effect(EffectPolicy::Write)
    .narrower("get_block")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Id of the block that is to stand above it.
    #[schemars(length(min = 1, max = 64))]
    block_id: String,
    /// One line of text.
    content: String,
}

async fn insert_block_below(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let inserted = notes(db, ctx).insert_below(&arguments.block_id, &arguments.content).await;
    success(Created::from(inserted.map_err(fault(ctx))?), ctx)
}
