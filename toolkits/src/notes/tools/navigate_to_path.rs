//! `navigate_to_path`: goes to the page or directory at a path of the workspace.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::SqliteConnection;

use super::{super::history::Location, NAVIGATION, fault, notes, shown::Shown, success};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional(
        "navigate_to_path",
        "Go to the page or directory at a path of the workspace.",
        navigate_to_path,
    )
    .category(NAVIGATION)
    .effect(EffectPolicy::Write)
    .idempotent()
    .narrower("query_pages")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Titles from the outermost page on, such as Projects/Plan.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
}

async fn navigate_to_path(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let mut notes = notes(db, ctx);
    let place = match notes.page_at(&arguments.path).await.map_err(fault(ctx))? {
        None => Location::Index,
        // The file of a directory stands for its page.
        Some(page) if page.is_directory && !arguments.path.ends_with(".md") => {
            Location::Directory(page.id)
        }
        Some(page) => Location::Page(page.id),
    };
    notes.visit(&ctx.session, place).await.map_err(fault(ctx))?;
    success(Shown::of(place, &mut notes).await.map_err(fault(ctx))?, ctx)
}
