//! `list_tracker_entries`: reads the recorded days of a habit, in parts.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::SqliteConnection;

use super::{
    super::{
        habit::{HabitId, TrackerValue},
        repository::Entry,
    },
    HABIT, habits, in_parts,
};
use madang::tool::{self, ToolContext, ToolResult};

/// The entries without a note that a part has room for.
const MAX_ENTRIES: u32 = 50;

pub(super) fn tool() -> impl Tool {
    tool::reading(
        "list_tracker_entries",
        "Read the recorded days of a habit with their notes, newest first.",
        list_tracker_entries,
    )
    .category(HABIT)
    .idempotent()
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Number of the habit, as in the result of list_active_habits.
    #[schemars(range(min = 1))]
    habit_id: HabitId,
    /// How many days to skip; next_offset of the part before.
    #[serde(default)]
    offset: u32,
}

#[derive(Debug, Serialize)]
struct Rows {
    habit_id: HabitId,
    count: usize,
    total: usize,
    items: Vec<Recorded>,
    /// Where the next part begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

#[derive(Debug, Serialize)]
struct Recorded {
    date: String,
    value: TrackerValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

async fn list_tracker_entries(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Rows> {
    let Arguments { habit_id, offset } = arguments;
    let entries = habits(db, ctx).entries(habit_id, offset, MAX_ENTRIES).await;
    let (entries, total) = entries.map_err(|error| error.into_fault(ctx.locale))?;
    let recorded =
        |Entry { date, value, note }: Entry| Recorded { date: date.to_string(), value, note };
    let items: Vec<_> = entries.into_iter().map(recorded).collect();
    // Entries behind these are left to the next part, also those that were read.
    let (items, _) = in_parts(items, 0, |item| json!(item).to_string().len());
    let next = offset as usize + items.len();
    let next_offset = (!items.is_empty() && next < total).then_some(next);
    Ok(Rows { habit_id, count: items.len(), total, items, next_offset })
}
