//! The tools that change the habits of the user. A person is asked first, with what the tool will
//! do.
use std::sync::Arc;

use madang::{
    event::quoted,
    tool::{self, Locale, Tool, ToolContext, ToolResult},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{
        super::category::Within as _,
        catalogue::Catalogue,
        habit::{Anchor, FrameLevel, HabitId, TrackerValue},
        repository::{Added, NewEntry, NewHabit},
        rules::LifeViolation,
        texts,
        today::{day_or_today, today},
    },
    HABIT, OfHabit, fault, habits,
    reading::HabitData,
    title,
};

pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        tool::transactional(
            "add_habit",
            "Add a catalogue item to the habits of the user.",
            add_habit,
        )
        .idempotent()
        .consequence(will_add)
        .within(HABIT),
        tool::transactional(
            "log_tracker_entry",
            "Record a day of a habit as done or blank.",
            log_tracker_entry,
        )
        .idempotent()
        .asks(|arguments: &LogEntry| arguments.value == TrackerValue::Done)
        .consequence_from(will_log_of)
        .consequence(will_log)
        .within(HABIT),
        tool::transactional(
            "end_habit",
            "End an active habit of the user today. What was recorded stays.",
            end_habit,
        )
        .consequence_from(will_end)
        .consequence(|arguments, locale| texts::will_end(arguments.habit_id, None, locale))
        .within(HABIT),
        tool::transactional(
            "correct_tracker_entry",
            "Correct a day of a habit that was recorded wrongly.",
            correct_tracker_entry,
        )
        .idempotent()
        .consequence_from(will_correct_from)
        .consequence(will_correct)
        .within(HABIT),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct AddHabit {
    /// Id of the catalogue item.
    #[schemars(length(min = 1, max = 64))]
    protocol_id: String,
    /// How it is framed: L2 towards something, L3 who one is.
    frame_level: FrameLevel,
    /// The habit in the user's own words, as something that is done.
    #[schemars(length(min = 1, max = 200))]
    framed_text: String,
    /// Time or moment of the day.
    #[serde(default)]
    #[schemars(with = "String", length(max = 200))]
    anchor_when: Option<String>,
    /// What it follows.
    #[serde(default)]
    #[schemars(with = "String", length(max = 200))]
    anchor_after_what: Option<String>,
    /// How much of it.
    #[serde(default)]
    #[schemars(with = "String", length(max = 200))]
    dose_text: Option<String>,
}

#[derive(Debug, Serialize)]
struct AddedData {
    #[serde(flatten)]
    habit: HabitData,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    already_active: bool,
}

async fn add_habit(
    arguments: AddHabit,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<AddedData> {
    let id = arguments.protocol_id;
    let item = Catalogue::bundled().get(&id).ok_or(LifeViolation::UnknownItem { id });
    let wanted = NewHabit {
        origin: item.map_err(fault(ctx))?.origin().into(),
        frame_level: arguments.frame_level,
        framed_text: arguments.framed_text,
        anchor: Anchor { when: arguments.anchor_when, after_what: arguments.anchor_after_what },
        dose_text: arguments.dose_text,
    };
    let (habit, already_active) = match habits(db, ctx).add(wanted).await.map_err(fault(ctx))? {
        Added::New(habit) => (habit, false),
        Added::AlreadyActive(habit) => (habit, true),
    };
    Ok(AddedData { habit: HabitData::new(habit, ctx.locale), already_active })
}

fn will_add(arguments: &AddHabit, locale: Locale) -> String {
    let id = &arguments.protocol_id;
    let title = Catalogue::bundled().get(id).map_or(id, |item| item.title.get(locale));
    texts::will_add(title, &arguments.framed_text, locale)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct LogEntry {
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

/// The value that a day has now.
#[derive(Debug, Serialize)]
struct Recorded {
    habit_id: HabitId,
    date: String,
    value: TrackerValue,
}

impl From<NewEntry> for Recorded {
    fn from(NewEntry { habit, date, value, .. }: NewEntry) -> Self {
        Self { habit_id: habit, date: date.to_string(), value }
    }
}

async fn log_tracker_entry(
    LogEntry { habit_id: habit, value, date, note }: LogEntry,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Recorded> {
    let date = day_or_today(date.as_deref(), ctx).map_err(fault(ctx))?;
    let entry = NewEntry { habit, date, value, note };
    habits(db, ctx).log(&entry).await.map_err(fault(ctx))?;
    Ok(entry.into())
}

/// Says what recording a day will do, with the name of the habit if it is the user's.
async fn will_log_of(
    arguments: &LogEntry,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let habit = habits(db, ctx).habit(arguments.habit_id).await?;
    let title = title(&habit.origin, ctx.locale);
    Ok(texts::will_log_of(title, arguments.value, arguments.date.as_deref(), ctx.locale))
}

fn will_log(arguments: &LogEntry, locale: Locale) -> String {
    texts::will_log(arguments.habit_id, arguments.value, arguments.date.as_deref(), locale)
}

#[derive(Debug, Serialize)]
struct Ended {
    habit_id: HabitId,
    title: String,
    ended_on: String,
}

async fn end_habit(
    OfHabit { habit_id }: OfHabit,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Ended> {
    let mut habits = habits(db, ctx);
    habits.end(habit_id).await.map_err(fault(ctx))?;
    let habit = habits.habit(habit_id).await.map_err(fault(ctx))?;
    let title = title(&habit.origin, ctx.locale).to_owned();
    Ok(Ended { habit_id, title, ended_on: today(ctx.now(), &ctx.time_zone).to_string() })
}

/// Says what ending a habit will do, with its name if it is the user's.
async fn will_end(
    OfHabit { habit_id }: &OfHabit,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let habit = habits(db, ctx).habit(*habit_id).await?;
    let title = title(&habit.origin, ctx.locale);
    Ok(texts::will_end(habit.id, Some(title), ctx.locale))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct CorrectEntry {
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

async fn correct_tracker_entry(
    CorrectEntry { habit_id: habit, value, date, note }: CorrectEntry,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Recorded> {
    let date = day_or_today(date.as_deref(), ctx).map_err(fault(ctx))?;
    let entry = NewEntry { habit, date, value, note };
    habits(db, ctx).correct(&entry).await.map_err(fault(ctx))?;
    Ok(entry.into())
}

/// Says what correcting a day will do, with the name of the habit and the recorded value if it is
/// the user's.
async fn will_correct_from(
    arguments: &CorrectEntry,
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

fn will_correct(arguments: &CorrectEntry, locale: Locale) -> String {
    let name = texts::numbered(arguments.habit_id, locale);
    texts::will_correct(&name, None, arguments.value, arguments.date.as_deref(), locale)
}
