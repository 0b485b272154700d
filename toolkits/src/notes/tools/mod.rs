//! Defines the tools of the toolkit: pages, blocks, context, navigation.
//!
//! A file a kind: `pages`, `blocks`, `places` and `ping`. A tool has its arguments, whose schema the model reads, its
//! description, its handler, and perhaps the consequence that a question shows. A handler opens the repository for the
//! call's user, and turns a broken rule into a fault with the rule's code and reason. Each outcome has a text for the
//! person. Lists and long texts come in parts that fit an envelope.
//!
//! ```
//! # use madang::tool::Tool as _;
//! let tools = madang_toolkits::notes::tools();
//! assert!(tools.iter().any(|tool| &*tool.spec().name == "delete_page"));
//! ```
//!
//! Invariants:
//! - A tool decides nothing: the rules and the repository do, so a screen gets the same verdict.
//! - Only the two deletions ask a person.
//! - The text for the person stands in the metadata and never reaches the model.
//! - Of an error of the database the model learns the type only.

mod blocks;
mod pages;
mod ping;
mod places;

use std::sync::Arc;

use madang::tool::{
    self, AsyncFn2, EffectPolicy, Tool, ToolContext, ToolFault, ToolOutcome, ToolResult, TypedTool,
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use sqlx::SqliteConnection;

use super::{
    super::parts::next_offset,
    repository::{NotesError, NotesRepository, Part},
    texts,
};

/// Returns the tools of the toolkit, for `register_all`.
///
/// They need a SQLite store that has run [`MIGRATIONS`](super::MIGRATIONS).
#[must_use]
pub fn tools() -> Vec<Arc<dyn Tool>> {
    let ping: Arc<dyn Tool> = Arc::new(ping::tool());
    pages::tools().into_iter().chain(blocks::tools()).chain(places::tools()).chain([ping]).collect()
}

/// Makes a tool that reads the notes of the call's user.
fn reading<A, F>(name: &'static str, description: &'static str, run: F) -> TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: for<'a> AsyncFn2<'a, A, &'a mut SqliteConnection> + 'static,
{
    tool::reading(name, description, run).idempotent()
}

/// Makes a tool that changes the notes of the call's user without a question.
fn writing<A, F>(name: &'static str, description: &'static str, run: F) -> TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: for<'a> AsyncFn2<'a, A, &'a mut SqliteConnection> + 'static,
{
    tool::transactional(name, description, run).effect(EffectPolicy::Write)
}

/// The key in an outcome's metadata of the text for the person, which `madang chat` shows instead of the data.
const FEEDBACK: &str = "feedback";

/// Opens the notes of the call's user.
fn notes<'a>(db: &'a mut SqliteConnection, ctx: &'a ToolContext) -> NotesRepository<'a> {
    NotesRepository::new(db, &ctx.user)
}

/// Builds a success with a text for the person.
fn success(data: impl Serialize, ctx: &ToolContext) -> ToolResult<ToolOutcome> {
    success_with(texts::done(ctx.locale), data)
}

fn success_with(feedback: &'static str, data: impl Serialize) -> ToolResult<ToolOutcome> {
    let data = serde_json::to_value(data)?;
    Ok(ToolOutcome::ok(data).with_metadata(FEEDBACK, Value::from(feedback)))
}

/// Passes a broken rule on; of any other error only the type.
fn fault(ctx: &ToolContext) -> impl Fn(NotesError) -> ToolFault {
    let locale = ctx.locale;
    move |error| match error {
        NotesError::Rule(violation) => {
            let reason = violation.reason(locale);
            let feedback = texts::failed(&reason, locale);
            let mut fault = ToolFault::rule(violation.code(), reason);
            if let ToolFault::Rule(rule) = &mut fault {
                rule.metadata.insert(FEEDBACK.to_owned(), Value::from(feedback));
            }
            fault
        }
        error @ (NotesError::Database { .. } | NotesError::Corrupt { .. }) => error.into(),
    }
}

/// A part of a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rows<T> {
    count: usize,
    total: usize,
    items: Vec<T>,
    /// The start of the next part.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl<T> Rows<T> {
    /// Builds the part after the first `offset` entries.
    fn behind(offset: usize, Part { items, total }: Part<T>) -> Self {
        let next_offset = next_offset(offset, items.len(), total);
        Self { count: items.len(), total, items, next_offset }
    }
}

#[cfg(test)]
mod tests;
