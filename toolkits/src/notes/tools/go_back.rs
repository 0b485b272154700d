//! `go_back`: shows the previous place.
use madang::tool::Tool;
use sqlx::SqliteConnection;

use super::{super::repository::Way, NAVIGATION, fault, notes, shown::Shown, success};
use madang::tool::{self, EffectPolicy, NoArguments, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional("go_back", "Go back to the place before.", go_back)
        .category(NAVIGATION)
        .effect(EffectPolicy::Write)
        .narrower("switch_to_index")
}

async fn go_back(
    _: NoArguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let mut notes = notes(db, ctx);
    let place = notes.travel(&ctx.session, Way::Back).await.map_err(fault(ctx))?;
    success(Shown::of(place, &mut notes).await.map_err(fault(ctx))?, ctx)
}
