//! `insert_block_below_current`: inserts a block below the focused one.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::SqliteConnection;

use super::{super::repository::Inside, BLOCK, Created, fault, notes, success};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional(
        "insert_block_below_current",
        "Insert a block below the focused one, or at the end of the open page.",
        insert_block_below_current,
    )
    .category(BLOCK)
    .effect(EffectPolicy::Write)
    .narrower("get_block")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// One line of text.
    content: String,
}

async fn insert_block_below_current(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let mut notes = notes(db, ctx);
    let context = notes.context(&ctx.session).await.map_err(fault(ctx))?;
    let page = context.open_page().map_err(|violation| fault(ctx)(violation.into()))?;
    let inserted = match &context.focused {
        Some(block) => notes.insert_below(&block.id.to_string(), &arguments.content).await,
        None => {
            let id = page.id.to_string();
            notes.create_block(Inside::Page(&id), None, &arguments.content).await
        }
    };
    success(Created::from(inserted.map_err(fault(ctx))?), ctx)
}
