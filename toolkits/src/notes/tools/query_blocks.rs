//! `query_blocks`: finds blocks by their words.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{
        block::BlockId,
        page::PageId,
        repository::{BlockHit, Part},
    },
    BLOCK, Rows, fault, fitting, notes,
};
use madang::tool::{self, ToolContext, ToolResult};

/// The most bytes of the hits' texts in a part.
const MAX_BYTES: usize = 256 * 1024;

pub(super) fn tool() -> impl Tool {
    tool::reading("query_blocks", "Search the text of blocks, best hits first.", query_blocks)
        .category(BLOCK)
        .idempotent()
        .narrower("get_block")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Words to look for, Korean or English.
    #[schemars(length(min = 1, max = 200))]
    query: String,
    /// Only blocks of this page.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    page_id: Option<String>,
    /// How many blocks to return at most.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: u8,
    /// How many hits to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

fn default_limit() -> u8 {
    20
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Hit {
    id: BlockId,
    page_id: PageId,
    page_title: String,
    content: String,
}

async fn query_blocks(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Rows<Hit>> {
    let Arguments { query, page_id, limit, offset } = arguments;
    let mut notes = notes(db, ctx);
    let found = notes.query_blocks(&query, page_id.as_deref(), offset as usize, limit.into());
    let found = found.await.map_err(fault(ctx))?;
    let hit =
        |BlockHit { id, page_id, page_title, content }| Hit { id, page_id, page_title, content };
    let mut items: Vec<_> = found.items.into_iter().map(hit).collect();
    items.truncate(fitting(items.iter().map(|hit| hit.content.len()), MAX_BYTES));
    Ok(Rows::behind(offset as usize, Part { items, total: found.total }))
}
