//! `log_tracker_entry`: records a day of a habit as done or blank.
use madang::tool::{Locale, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{
        habit::{HabitId, TrackerValue},
        repository::NewEntry,
        texts,
        today::day_or_today,
    },
    HABIT, habits, title,
};
use madang::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional(
        "log_tracker_entry",
        "Record a day of a habit as done or blank.",
        log_tracker_entry,
    )
    .category(HABIT)
    .idempotent()
    .asks(|arguments: &Arguments| arguments.value == TrackerValue::Done)
    .consequence_from(seen)
    .consequence(consequence)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Number of the habit, as in the result of list_active_habits.
    #[schemars(range(min = 1))]
    habit_id: HabitId,
    /// Whether it was done or the day is left blank.
    value: TrackerValue,
    /// The day, YYYY-MM-DD; today when left out.
    #[serde(default)]
    #[schemars(with = "String", extend("format" = "date"))]
    date: Option<String>,
    /// What else there is to say.
    #[serde(default)]
    #[schemars(with = "String", length(max = 200))]
    note: Option<String>,
}

#[derive(Debug, Serialize)]
struct Logged {
    habit_id: HabitId,
    date: String,
    value: TrackerValue,
}

async fn log_tracker_entry(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Logged> {
    let date = day_or_today(arguments.date.as_deref(), ctx);
    let date = date.map_err(|violation| violation.into_fault(ctx.locale))?;
    let entry =
        NewEntry { habit: arguments.habit_id, date, value: arguments.value, note: arguments.note };
    habits(db, ctx).log(&entry).await.map_err(|error| error.into_fault(ctx.locale))?;
    Ok(Logged { habit_id: entry.habit, date: date.to_string(), value: entry.value })
}

/// Names the habit, if it is the user's.
async fn seen(
    arguments: &Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let habit = habits(db, ctx).habit(arguments.habit_id).await?;
    let title = title(&habit.origin, ctx.locale);
    Ok(texts::will_log_of(title, arguments.value, arguments.date.as_deref(), ctx.locale))
}

fn consequence(arguments: &Arguments, locale: Locale) -> String {
    texts::will_log(arguments.habit_id, arguments.value, arguments.date.as_deref(), locale)
}
