//! `get_habit`: reads one habit whole, long texts in parts.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::SqliteConnection;

use super::{
    super::habit::{FrameLevel, Habit, HabitId, HabitType},
    HABIT, habits, in_parts, title,
};
use madang::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::reading("get_habit", "Read one habit with all that was said about it.", get_habit)
        .category(HABIT)
        .idempotent()
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Number of the habit, as in the result of list_active_habits.
    #[schemars(range(min = 1))]
    habit_id: HabitId,
    /// How many texts to skip; next_offset of the part before.
    #[serde(default)]
    offset: u32,
}

#[derive(Debug, Serialize)]
struct Read {
    habit_id: HabitId,
    protocol_id: String,
    title: String,
    r#type: HabitType,
    frame_level: FrameLevel,
    started_on: String,
    /// The texts of this part, by their names.
    #[serde(flatten)]
    texts: Map<String, Value>,
    /// Where the next part begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

async fn get_habit(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Read> {
    let habit = habits(db, ctx).habit(arguments.habit_id).await;
    let habit = habit.map_err(|error| error.into_fault(ctx.locale))?;
    let title = title(&habit.origin, ctx.locale).to_owned();
    let (protocol_id, r#type) = (habit.origin.item_id().to_owned(), habit.origin.habit_type());
    let Habit { id, frame_level, framed_text, anchor, dose_text, started_on, .. } = habit;
    let texts = [
        ("framed_text", Some(framed_text)),
        ("anchor_when", anchor.when),
        ("anchor_after_what", anchor.after_what),
        ("dose_text", dose_text),
    ];
    let texts = texts.into_iter().filter_map(|(name, text)| Some((name, Value::from(text?))));
    let (texts, next_offset) =
        in_parts(texts.collect(), arguments.offset as usize, |(_, text)| text.to_string().len());
    Ok(Read {
        habit_id: id,
        protocol_id,
        title,
        r#type,
        frame_level,
        started_on: started_on.to_string(),
        texts: texts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect(),
        next_offset,
    })
}
