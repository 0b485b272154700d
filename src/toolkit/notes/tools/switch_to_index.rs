//! `switch_to_index`: shows the tree of all pages.
use madang_actors::port::Tool;
use sqlx::SqliteConnection;

use super::{super::history::Place, NAVIGATION, fault, notes, shown::Shown, told};
use crate::tool::{self, EffectPolicy, NoArguments, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional("switch_to_index", "Show the tree of all pages.", switch_to_index)
        .category(NAVIGATION)
        .effect(EffectPolicy::Write)
        .idempotent()
        .narrower("list_pages")
}

async fn switch_to_index(
    _: NoArguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let mut notes = notes(db, ctx);
    notes.visit(&ctx.session, Place::Index).await.map_err(fault(ctx))?;
    told(Shown::of(Place::Index, &mut notes).await.map_err(fault(ctx))?, ctx)
}
