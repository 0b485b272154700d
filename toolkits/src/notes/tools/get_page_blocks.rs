//! `get_page_blocks`: reads the blocks of a page in order.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{block::OutlineLine, page::PageId},
    BLOCK, fault, fitting, next_offset, notes,
};
use madang::tool::{self, ToolContext, ToolResult};

/// The most blocks of a part.
const MAX_LINES: usize = 1_000;
/// The most bytes of their texts: a model reads two kilobytes of a result, and the rest would only fill the ledger.
const MAX_BYTES: usize = 256 * 1024;

pub(super) fn tool() -> impl Tool {
    tool::reading(
        "get_page_blocks",
        "Read the blocks of a page in order, with their depth.",
        get_page_blocks,
    )
    .category(BLOCK)
    .idempotent()
    .narrower("get_block")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Id of the page.
    #[schemars(length(min = 1, max = 64))]
    page_id: String,
    /// How many blocks to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PageBlocks {
    page_id: PageId,
    page_title: String,
    count: usize,
    total: usize,
    items: Vec<OutlineLine>,
    /// The start of the next part.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

async fn get_page_blocks(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<PageBlocks> {
    let mut notes = notes(db, ctx);
    let page = notes.page(&arguments.page_id).await.map_err(fault(ctx))?;
    let lines = notes.lines(&page, arguments.offset as usize, MAX_LINES).await;
    let mut lines = lines.map_err(fault(ctx))?;
    lines.items.truncate(fitting(lines.items.iter().map(|line| line.content.len()), MAX_BYTES));
    Ok(PageBlocks {
        page_id: page.id,
        page_title: page.title,
        count: lines.items.len(),
        total: lines.total,
        next_offset: next_offset(arguments.offset as usize, lines.items.len(), lines.total),
        items: lines.items,
    })
}
