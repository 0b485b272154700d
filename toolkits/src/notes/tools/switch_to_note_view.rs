//! `switch_to_note_view`: shows a page.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::SqliteConnection;

use super::{
    super::{history::Location, rules::NotesViolation},
    NAVIGATION, fault, notes,
    shown::Shown,
    success,
};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional(
        "switch_to_note_view",
        "Show a page: the one with this id or path, else the one that is open.",
        switch_to_note_view,
    )
    .category(NAVIGATION)
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
    /// Path of the page, such as Projects/Plan.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 4096))]
    page_path: Option<String>,
}

async fn switch_to_note_view(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let mut notes = notes(db, ctx);
    let page = match (&arguments.page_id, &arguments.page_path) {
        (Some(id), None) => notes.page(id).await.map(|page| page.id),
        (None, Some(path)) => match notes.page_at(path).await {
            Ok(page) => page
                .map(|page| page.id)
                .ok_or_else(|| NotesViolation::UnknownPage { name: path.clone() }.into()),
            Err(error) => Err(error),
        },
        (None, None) => notes.last_page(&ctx.session).await,
        (Some(_), Some(_)) => Err(NotesViolation::OneOf { names: ["pageId", "pagePath"] }.into()),
    };
    let place = Location::Page(page.map_err(fault(ctx))?);
    notes.visit(&ctx.session, place).await.map_err(fault(ctx))?;
    success(Shown::of(place, &mut notes).await.map_err(fault(ctx))?, ctx)
}
