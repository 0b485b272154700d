//! `add_habit`: begins a habit from an item of the catalogue.
use madang::tool::{Locale, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{
        catalogue::Catalogue,
        habit::{Anchor, FrameLevel},
        repository::{Added, NewHabit},
        rules::LifeViolation,
        texts,
    },
    HABIT, habits,
    list_active_habits::HabitData,
};
use madang::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional("add_habit", "Add a catalogue item to the habits of the user.", add_habit)
        .category(HABIT)
        .idempotent()
        .consequence(consequence)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
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
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<AddedData> {
    let id = arguments.protocol_id;
    let item = Catalogue::bundled().get(&id);
    let item = item.ok_or_else(|| LifeViolation::UnknownItem { id }.into_fault(ctx.locale))?;
    let wanted = NewHabit {
        origin: item.origin().into(),
        frame_level: arguments.frame_level,
        framed_text: arguments.framed_text,
        anchor: Anchor { when: arguments.anchor_when, after_what: arguments.anchor_after_what },
        dose_text: arguments.dose_text,
    };
    let added = habits(db, ctx).add(wanted).await.map_err(|error| error.into_fault(ctx.locale))?;
    let (habit, already_active) = match added {
        Added::New(habit) => (habit, false),
        Added::AlreadyActive(habit) => (habit, true),
    };
    Ok(AddedData { habit: HabitData::new(habit, ctx.locale), already_active })
}

fn consequence(arguments: &Arguments, locale: Locale) -> String {
    let id = &arguments.protocol_id;
    let title = Catalogue::bundled().get(id).map_or(id, |item| item.title.get(locale));
    texts::will_add(title, &arguments.framed_text, locale)
}
