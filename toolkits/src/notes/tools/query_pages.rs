//! `query_pages`: finds pages by words of their titles.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::SqliteConnection;

use super::super::page::Page;
use super::{PAGE, Rows, fault, notes};
use madang::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::reading("query_pages", "Search pages by words of their titles.", query_pages)
        .category(PAGE)
        .idempotent()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// What to look for.
    #[schemars(length(min = 1, max = 200))]
    query: String,
    /// How many pages to return at most.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 50))]
    limit: u8,
    /// How many pages to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

fn default_limit() -> u8 {
    10
}

async fn query_pages(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Rows<Page>> {
    let Arguments { query, limit, offset } = arguments;
    let offset = offset as usize;
    let found = notes(db, ctx).query_pages(&query, offset, limit.into()).await;
    Ok(Rows::behind(offset, found.map_err(fault(ctx))?))
}
