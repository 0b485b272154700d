//! `create_block`: creates a block on a page or inside of another block.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::SqliteConnection;

use super::{
    super::{repository::Inside, rules::NotesViolation},
    BLOCK, Created, fault, notes, success,
};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional(
        "create_block",
        "Create a block on a page or inside of another block.",
        create_block,
    )
    .category(BLOCK)
    .effect(EffectPolicy::Write)
    .narrower("get_block")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Id of the page. Give either this or parentBlockId.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    page_id: Option<String>,
    /// Id of the block that is to contain it.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    parent_block_id: Option<String>,
    /// Id of the block that it comes after; at the end when left out.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    insert_after_block_id: Option<String>,
    /// One line of text.
    content: String,
}

async fn create_block(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let inside = match (&arguments.page_id, &arguments.parent_block_id) {
        (Some(page), None) => Inside::Page(page),
        (None, Some(block)) => Inside::Block(block),
        (Some(_), Some(_)) | (None, None) => {
            let names = ["pageId", "parentBlockId"];
            return Err(fault(ctx)(NotesViolation::OneOf { names }.into()));
        }
    };
    let after = arguments.insert_after_block_id.as_deref();
    let created = notes(db, ctx).create_block(inside, after, &arguments.content).await;
    success(Created::from(created.map_err(fault(ctx))?), ctx)
}
