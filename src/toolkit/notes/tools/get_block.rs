//! `get_block`: reads one block.
use madang_actors::port::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{block::BlockId, page::PageId},
    BLOCK, fault, notes,
};
use crate::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::reading("get_block", "Read one block.", get_block).category(BLOCK).idempotent()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Id of the block.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Read {
    id: BlockId,
    page_id: PageId,
    parent_id: Option<BlockId>,
    order: usize,
    content: String,
}

async fn get_block(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Read> {
    let mut notes = notes(db, ctx);
    let block = notes.block(&arguments.id).await.map_err(fault(ctx))?;
    let order = notes.order_of(&block).await.map_err(fault(ctx))?;
    Ok(Read {
        id: block.id,
        page_id: block.page_id,
        parent_id: block.parent_id,
        order,
        content: block.content,
    })
}
