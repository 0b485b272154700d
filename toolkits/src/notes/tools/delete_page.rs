//! `delete_page`: deletes a page with its blocks, after a question that tells their number.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{page::PageId, repository::NotesError, texts},
    PAGE, fault, notes, success,
};
use madang::tool::{self, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional(
        "delete_page",
        "Delete a page and its blocks. A page that contains pages stays.",
        delete_page,
    )
    .category(PAGE)
    .consequence_from(consequence)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Id of the page.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Deleted {
    id: PageId,
    title: String,
    deleted: bool,
    blocks_deleted: u32,
}

async fn delete_page(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let page = notes(db, ctx).delete_page(&arguments.id).await.map_err(fault(ctx))?;
    let blocks_deleted = page.block_count;
    success(Deleted { id: page.id, title: page.title, deleted: true, blocks_deleted }, ctx)
}

async fn consequence(
    arguments: &Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    match notes(db, ctx).page(&arguments.id).await {
        Ok(page) => Ok(texts::will_delete_page(&page.title, page.block_count, ctx.locale)),
        Err(NotesError::Rule(_)) => Ok(texts::will_delete_unknown_page(ctx.locale).to_owned()),
        Err(error) => Err(error.into()),
    }
}
