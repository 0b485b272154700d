//! `rename_page`: gives a page another title.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{super::page::PageId, PAGE, fault, notes, success};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional("rename_page", "Give a page another title.", rename_page)
        .category(PAGE)
        .effect(EffectPolicy::Write)
        .idempotent()
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Id of the page.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// The new title, which no other page has.
    #[schemars(length(min = 1, max = 200))]
    title: String,
}

#[derive(Debug, Serialize)]
struct Renamed {
    id: PageId,
    title: String,
}

async fn rename_page(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let renamed = notes(db, ctx).rename_page(&arguments.id, &arguments.title).await;
    let page = renamed.map_err(fault(ctx))?;
    success(Renamed { id: page.id, title: page.title }, ctx)
}
