//! `list_active_habits`: lists the user's active habits.
use madang::tool::{Locale, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::habit::{FrameLevel, Habit, HabitId, HabitType},
    HABIT, habits, title,
};
use madang::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::reading(
        "list_active_habits",
        "List the active habits of the user with their numbers, types, frames and anchors.",
        list_active_habits,
    )
    .category(HABIT)
    .idempotent()
    .narrower("get_habit")
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {}

#[derive(Debug, Serialize)]
struct Rows {
    count: usize,
    items: Vec<HabitData>,
}

/// A habit in a result.
#[derive(Debug, Serialize)]
pub(super) struct HabitData {
    habit_id: HabitId,
    protocol_id: String,
    title: String,
    r#type: HabitType,
    frame_level: FrameLevel,
    framed_text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor_when: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor_after_what: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dose_text: Option<String>,
    started_on: String,
}

impl HabitData {
    pub(super) fn new(habit: Habit, locale: Locale) -> Self {
        Self {
            habit_id: habit.id,
            protocol_id: habit.origin.item_id().to_owned(),
            title: title(&habit.origin, locale).to_owned(),
            r#type: habit.origin.habit_type(),
            frame_level: habit.frame_level,
            framed_text: habit.framed_text,
            anchor_when: habit.anchor.when,
            anchor_after_what: habit.anchor.after_what,
            dose_text: habit.dose_text,
            started_on: habit.started_on.to_string(),
        }
    }
}

async fn list_active_habits(
    _: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Rows> {
    let active = habits(db, ctx).active().await.map_err(|error| error.into_fault(ctx.locale))?;
    let items: Vec<HabitData> =
        active.into_iter().map(|habit| HabitData::new(habit, ctx.locale)).collect();
    Ok(Rows { count: items.len(), items })
}
