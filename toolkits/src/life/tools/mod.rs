//! Defines the tools of the toolkit. Those that only read come first.
//!
//! Each kind has a file: `catalog`, and `reading` and `writing` habits. A tool has its arguments,
//! whose schema the model reads, its description, its handler, and the consequence that a question
//! shows. A handler opens the repository for the call's user, on the user's today. It turns a
//! broken rule into a fault with the rule's code and reason. Lists and long texts come in parts
//! that fit an envelope.
//!
//! ```
//! # use madang::tool::Tool as _;
//! let tools = madang_toolkits::life::tools();
//! assert!(tools.iter().any(|tool| &*tool.spec().name == "add_habit"));
//! ```
//!
//! Invariants:
//! - A tool decides nothing. The rules and the repository do, so a screen gets the same verdict.
//! - Every tool that writes asks a person, except `log_tracker_entry` if the value is not `done`.
//!   Of [`asking_tools`], it always asks.
//! - The model learns only the type of an error of the database.

mod catalog;
mod reading;
mod writing;

use std::sync::Arc;

use madang::tool::{EffectPolicy, Locale, Tool, ToolContext, ToolFault};
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::SqliteConnection;

use super::{
    super::asking::asking,
    catalogue::Catalogue,
    habit::{HabitId, Origin},
    repository::{HabitError, HabitRepository},
    today::today,
};

/// Returns the tools of the toolkit, for [`Builder::tools`](madang::Builder::tools).
///
/// They need a SQLite store that has run [`MIGRATIONS`](super::MIGRATIONS).
#[must_use]
pub fn tools() -> Vec<Arc<dyn Tool>> {
    [catalog::tools(), reading::tools(), writing::tools()].concat()
}

/// Returns the tools of the toolkit, of which all that write ask a person, whatever their arguments
/// are.
///
/// They are for a model that makes mistakes, such as the
/// [demonstration](crate::demonstration) model. Like those of [`tools`], they need a SQLite store
/// that has run [`MIGRATIONS`](super::MIGRATIONS).
#[must_use]
pub fn asking_tools() -> Vec<Arc<dyn Tool>> {
    let asks = |tool: Arc<dyn Tool>| {
        if tool.spec().effect == EffectPolicy::Read { tool } else { asking(tool) }
    };
    tools().into_iter().map(asks).collect()
}

/// The category of the tools about the habits of the user.
const HABIT: &str = "habit";

/// The arguments of a tool about one habit.
#[derive(Debug, Deserialize, JsonSchema)]
struct OfHabit {
    /// Number of the habit, as in the result of list_active_habits.
    #[schemars(range(min = 1))]
    habit_id: HabitId,
}

/// Opens the habits of the call's user, on the user's today.
fn habits<'a>(db: &'a mut SqliteConnection, ctx: &'a ToolContext) -> HabitRepository<'a> {
    HabitRepository::new(db, &ctx.user, today(ctx.now(), &ctx.time_zone))
}

/// Returns the title of an item in the language of the call.
fn title(origin: &Origin, locale: Locale) -> &str {
    let id = origin.item_id();
    Catalogue::bundled().get(id).map_or(id, |item| item.title.get(locale))
}

/// The JSON bytes of a part's texts. With numbers and dates they fit an envelope of the default
/// bound.
const PART_BYTES: usize = 1_400;

/// Passes a broken rule on to the model. Passes on only the type of any other error.
fn fault<E: Into<HabitError>>(ctx: &ToolContext) -> impl Fn(E) -> ToolFault {
    let locale = ctx.locale;
    move |error| match error.into() {
        HabitError::Rule(violation) => ToolFault::rule(violation.code(), violation.reason(locale)),
        error @ (HabitError::Database { .. } | HabitError::Corrupt { .. }) => error.into(),
    }
}

#[cfg(test)]
mod tests;
