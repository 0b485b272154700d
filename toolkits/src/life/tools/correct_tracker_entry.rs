//! `correct_tracker_entry`: corrects the recorded value of a day of a habit.
use madang::{
    event::quoted,
    tool::{Locale, Tool},
};
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
        "correct_tracker_entry",
        "Correct a day of a habit that was recorded wrongly.",
        correct_tracker_entry,
    )
    .category(HABIT)
    .idempotent()
    .consequence_from(seen)
    .consequence(consequence)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Number of the habit, as in the result of list_active_habits.
    #[schemars(range(min = 1))]
    habit_id: HabitId,
    /// What the day is to have: done or blank.
    value: TrackerValue,
    /// The day, YYYY-MM-DD; today when left out.
    #[serde(default)]
    #[schemars(with = "String", extend("format" = "date"))]
    date: Option<String>,
    /// Another note; the old one stays when left out.
    #[serde(default)]
    #[schemars(with = "String", length(max = 200))]
    note: Option<String>,
}

#[derive(Debug, Serialize)]
struct Corrected {
    habit_id: HabitId,
    date: String,
    value: TrackerValue,
}

async fn correct_tracker_entry(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Corrected> {
    let date = day_or_today(arguments.date.as_deref(), ctx);
    let date = date.map_err(|violation| violation.into_fault(ctx.locale))?;
    let entry =
        NewEntry { habit: arguments.habit_id, date, value: arguments.value, note: arguments.note };
    habits(db, ctx).correct(&entry).await.map_err(|error| error.into_fault(ctx.locale))?;
    Ok(Corrected { habit_id: entry.habit, date: date.to_string(), value: entry.value })
}

/// Names the habit and the recorded value, if the habit is the user's.
async fn seen(
    arguments: &Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let day = arguments.date.as_deref();
    let date = day_or_today(day, ctx)?;
    let mut habits = habits(db, ctx);
    let habit = habits.habit(arguments.habit_id).await?;
    let recorded = habits.entry(habit.id, date).await?;
    let name = quoted(title(&habit.origin, ctx.locale));
    Ok(texts::will_correct(&name, recorded, arguments.value, day, ctx.locale))
}

fn consequence(arguments: &Arguments, locale: Locale) -> String {
    let name = match locale.language() {
        "ko" => format!("{}번", arguments.habit_id),
        _ => format!("habit {}", arguments.habit_id),
    };
    texts::will_correct(&name, None, arguments.value, arguments.date.as_deref(), locale)
}
