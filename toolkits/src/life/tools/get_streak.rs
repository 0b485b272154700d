//! `get_streak`: tells how steadily a habit is kept.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{habit::HabitId, streak::Streak},
    HABIT, habits, title,
};
use madang::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::reading(
        "get_streak",
        "Tell how steadily a habit is kept: current and longest streak, last 30 days, phase of 42 days, tier.",
        get_streak,
    )
    .category(HABIT)
    .idempotent()
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Number of the habit, as in the result of list_active_habits.
    #[schemars(range(min = 1))]
    habit_id: HabitId,
}

#[derive(Debug, Serialize)]
struct StreakData {
    habit_id: HabitId,
    title: String,
    #[serde(flatten)]
    streak: Streak,
}

async fn get_streak(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<StreakData> {
    let (habit, streak) = habits(db, ctx)
        .streak(arguments.habit_id)
        .await
        .map_err(|error| error.into_fault(ctx.locale))?;
    Ok(StreakData {
        habit_id: habit.id,
        title: title(&habit.origin, ctx.locale).to_owned(),
        streak,
    })
}
