//! `create_page`: creates an empty page.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{page::PageId, texts},
    PAGE, fault, notes, success_with,
};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional("create_page", "Create an empty page.", create_page)
        .category(PAGE)
        .effect(EffectPolicy::Write)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Title of the page.
    #[schemars(length(min = 1, max = 200))]
    title: String,
    /// Id of the page that is to contain it.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    parent_id: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    id: PageId,
    title: String,
    parent_id: Option<PageId>,
}

async fn create_page(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let created =
        notes(db, ctx).create_page(&arguments.title, arguments.parent_id.as_deref()).await;
    let page = created.map_err(fault(ctx))?;
    let data = Created { id: page.id, title: page.title, parent_id: page.parent_id };
    success_with(texts::page_created(ctx.locale), data)
}
