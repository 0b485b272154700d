//! `open_page`: makes a page the current one.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{history::Location, page::PageId, rules::NotesViolation},
    PAGE, fault, notes, success,
};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional(
        "open_page",
        "Open a page by its id or its exact title and make it the current one.",
        open_page,
    )
    .category(PAGE)
    .effect(EffectPolicy::Write)
    .idempotent()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Id of the page.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    page_id: Option<String>,
    /// Title of the page, whole; case makes no difference.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 200))]
    page_title: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Opened {
    page_id: PageId,
    page_title: String,
    block_count: u32,
}

async fn open_page(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let mut notes = notes(db, ctx);
    let page = match (&arguments.page_id, &arguments.page_title) {
        (Some(id), None) => notes.page(id).await,
        (None, Some(title)) => notes.page_titled(title).await,
        (Some(_), Some(_)) | (None, None) => {
            Err(NotesViolation::OneOf { names: ["pageId", "pageTitle"] }.into())
        }
    };
    let page = page.map_err(fault(ctx))?;
    notes.visit(&ctx.session, Location::Page(page.id)).await.map_err(fault(ctx))?;
    success(Opened { page_id: page.id, page_title: page.title, block_count: page.block_count }, ctx)
}
