//! `go_forward`: shows the next place again.
use madang::tool::Tool;
use sqlx::SqliteConnection;

use super::{super::repository::Way, NAVIGATION, fault, notes, shown::Shown, success};
use madang::tool::{self, EffectPolicy, NoArguments, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional("go_forward", "Go forward again after going back.", go_forward)
        .category(NAVIGATION)
        .effect(EffectPolicy::Write)
        .narrower("switch_to_index")
}

async fn go_forward(
    _: NoArguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let mut notes = notes(db, ctx);
    let place = notes.travel(&ctx.session, Way::Forward).await.map_err(fault(ctx))?;
    success(Shown::of(place, &mut notes).await.map_err(fault(ctx))?, ctx)
}
