//! `switch_to_index`: shows the tree of all pages, a large one in parts.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::SqliteConnection;

use super::{super::history::Location, NAVIGATION, fault, notes, shown::Shown, success};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional("switch_to_index", "Show the tree of all pages.", switch_to_index)
        .category(NAVIGATION)
        .effect(EffectPolicy::Write)
        .idempotent()
        .narrower("list_pages")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// How many pages to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

async fn switch_to_index(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let mut notes = notes(db, ctx);
    notes.visit(&ctx.session, Location::Index).await.map_err(fault(ctx))?;
    success(Shown::index(arguments.offset as usize, &mut notes).await.map_err(fault(ctx))?, ctx)
}
