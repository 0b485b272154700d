//! The tools that read the habits of the user.
use std::sync::Arc;

use madang::tool::{self, Locale, NoArguments, Tool, ToolContext, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sqlx::SqliteConnection;

use super::{
    super::{
        super::{
            category::Within as _,
            parts::{fitting, next_offset},
        },
        habit::{FrameLevel, Habit, HabitId, HabitType, TrackerValue},
        repository::Entry,
        streak::Streak,
    },
    HABIT, OfHabit, PART_BYTES, fault, habits, title,
};

/// How many entries without a note a part has room for.
const MAX_ENTRIES: u32 = 50;

pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        tool::reading(
            "list_active_habits",
            "List the active habits of the user with their numbers, types, frames and anchors.",
            list_active_habits,
        )
        .idempotent()
        .narrower("get_habit")
        .within(HABIT),
        tool::reading("get_habit", "Read one habit with all that was said about it.", get_habit)
            .idempotent()
            .within(HABIT),
        tool::reading(
            "get_streak",
            "Tell how steadily a habit is kept: current and longest streak, last 30 days, phase of \
             42 days, tier.",
            get_streak,
        )
        .idempotent()
        .within(HABIT),
        tool::reading(
            "list_tracker_entries",
            "Read the recorded days of a habit with their notes, newest first.",
            list_tracker_entries,
        )
        .idempotent()
        .within(HABIT),
    ]
}

#[derive(Debug, Serialize)]
struct Habits {
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
    _: NoArguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Habits> {
    let active = habits(db, ctx).active().await.map_err(fault(ctx))?;
    let items: Vec<_> = active.into_iter().map(|habit| HabitData::new(habit, ctx.locale)).collect();
    Ok(Habits { count: items.len(), items })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct GetHabit {
    /// Number of the habit, as in the result of list_active_habits.
    #[schemars(range(min = 1))]
    habit_id: HabitId,
    /// How many texts to skip; next_offset of the part before.
    #[serde(default)]
    offset: u32,
}

#[derive(Debug, Serialize)]
struct ReadHabit {
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
    arguments: GetHabit,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ReadHabit> {
    let habit = habits(db, ctx).habit(arguments.habit_id).await.map_err(fault(ctx))?;
    let title = title(&habit.origin, ctx.locale).to_owned();
    let (protocol_id, r#type) = (habit.origin.item_id().to_owned(), habit.origin.habit_type());
    let Habit { id, frame_level, framed_text, anchor, dose_text, started_on, .. } = habit;
    let texts = [
        ("framed_text", Some(framed_text)),
        ("anchor_when", anchor.when),
        ("anchor_after_what", anchor.after_what),
        ("dose_text", dose_text),
    ];
    let said = |(name, text): (&str, Option<String>)| Some((name.to_owned(), Value::from(text?)));
    let texts: Vec<_> = texts.into_iter().filter_map(said).collect();
    let total = texts.len();
    let offset = arguments.offset as usize;
    let mut texts: Vec<_> = texts.into_iter().skip(offset).collect();
    texts.truncate(fitting(texts.iter().map(|(_, text)| text.to_string().len()), PART_BYTES));
    Ok(ReadHabit {
        habit_id: id,
        protocol_id,
        title,
        r#type,
        frame_level,
        started_on: started_on.to_string(),
        next_offset: next_offset(offset, texts.len(), total),
        texts: texts.into_iter().collect(),
    })
}

#[derive(Debug, Serialize)]
struct StreakData {
    habit_id: HabitId,
    title: String,
    #[serde(flatten)]
    streak: Streak,
}

async fn get_streak(
    OfHabit { habit_id }: OfHabit,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<StreakData> {
    let (habit, streak) = habits(db, ctx).streak(habit_id).await.map_err(fault(ctx))?;
    Ok(StreakData { habit_id, title: title(&habit.origin, ctx.locale).to_owned(), streak })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListEntries {
    /// Number of the habit, as in the result of list_active_habits.
    #[schemars(range(min = 1))]
    habit_id: HabitId,
    /// How many days to skip; next_offset of the part before.
    #[serde(default)]
    offset: u32,
}

#[derive(Debug, Serialize)]
struct Entries {
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
    ListEntries { habit_id, offset }: ListEntries,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Entries> {
    let entries = habits(db, ctx).entries(habit_id, offset, MAX_ENTRIES).await;
    let (entries, total) = entries.map_err(fault(ctx))?;
    let recorded =
        |Entry { date, value, note }: Entry| Recorded { date: date.to_string(), value, note };
    let mut items: Vec<_> = entries.into_iter().map(recorded).collect();
    // Entries after these are left to the next part, even if they were read.
    items.truncate(fitting(items.iter().map(|item| json!(item).to_string().len()), PART_BYTES));
    let next_offset = next_offset(offset as usize, items.len(), total);
    Ok(Entries { habit_id, count: items.len(), total, items, next_offset })
}
