//! `end_habit`: ends an active habit, which frees its place.
use madang::tool::{Locale, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{habit::HabitId, texts, today::today},
    HABIT, habits, title,
};
use madang::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional(
        "end_habit",
        "End an active habit of the user today. What was recorded stays.",
        end_habit,
    )
    .category(HABIT)
    .consequence_from(seen)
    .consequence(consequence)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Number of the habit, as in the result of list_active_habits.
    #[schemars(range(min = 1))]
    habit_id: HabitId,
}

#[derive(Debug, Serialize)]
struct Ended {
    habit_id: HabitId,
    title: String,
    ended_on: String,
}

async fn end_habit(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Ended> {
    let mut habits = habits(db, ctx);
    habits.end(arguments.habit_id).await.map_err(|error| error.into_fault(ctx.locale))?;
    let habit = habits.habit(arguments.habit_id).await;
    let habit = habit.map_err(|error| error.into_fault(ctx.locale))?;
    Ok(Ended {
        habit_id: habit.id,
        title: title(&habit.origin, ctx.locale).to_owned(),
        ended_on: today(ctx.now(), &ctx.time_zone).to_string(),
    })
}

/// Names the habit, if it is the user's.
async fn seen(
    arguments: &Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let habit = habits(db, ctx).habit(arguments.habit_id).await?;
    let title = title(&habit.origin, ctx.locale);
    Ok(texts::will_end(habit.id, Some(title), ctx.locale))
}

fn consequence(arguments: &Arguments, locale: Locale) -> String {
    texts::will_end(arguments.habit_id, None, locale)
}
