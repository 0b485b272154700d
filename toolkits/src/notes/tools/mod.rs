//! Defines the tools of the toolkit: pages, blocks, context, navigation.
//!
//! A file a tool: its arguments, whose schema the model reads, its description, its handler, and the consequence that a
//! question shows. A handler opens the repository for the call's user, and turns a broken rule into a fault with the
//! rule's code and reason. Each outcome has a text for the person. Lists and long texts come in parts that fit an
//! envelope. `shown` describes the place that a session shows.
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

mod append_to_block;
mod create_block;
mod create_page;
mod create_page_with_blocks;
mod delete_block;
mod delete_page;
mod get_block;
mod get_current_context;
mod get_page_blocks;
mod go_back;
mod go_forward;
mod insert_block_below;
mod insert_block_below_current;
mod list_pages;
mod navigate_to_path;
mod open_page;
mod ping;
mod query_blocks;
mod query_pages;
mod rename_page;
mod shown;
mod switch_to_index;
mod switch_to_note_view;
mod update_block;

use std::sync::Arc;

use madang::tool::{Tool, ToolContext, ToolFault, ToolResult};
use serde::Serialize;
use serde_json::Value;
use sqlx::SqliteConnection;

use super::{
    block::{Block, BlockId},
    page::PageId,
    repository::{NotesError, NotesRepository, Part},
    texts,
};
use madang::tool::ToolOutcome;

/// Returns the tools of the toolkit, for `register_all`.
///
/// They need a SQLite store that has run [`MIGRATIONS`](super::MIGRATIONS).
#[must_use]
pub fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(open_page::tool()),
        Arc::new(query_pages::tool()),
        Arc::new(list_pages::tool()),
        Arc::new(create_page::tool()),
        Arc::new(create_page_with_blocks::tool()),
        Arc::new(rename_page::tool()),
        Arc::new(delete_page::tool()),
        Arc::new(get_block::tool()),
        Arc::new(update_block::tool()),
        Arc::new(create_block::tool()),
        Arc::new(delete_block::tool()),
        Arc::new(query_blocks::tool()),
        Arc::new(get_page_blocks::tool()),
        Arc::new(insert_block_below_current::tool()),
        Arc::new(insert_block_below::tool()),
        Arc::new(append_to_block::tool()),
        Arc::new(get_current_context::tool()),
        Arc::new(switch_to_index::tool()),
        Arc::new(switch_to_note_view::tool()),
        Arc::new(navigate_to_path::tool()),
        Arc::new(go_back::tool()),
        Arc::new(go_forward::tool()),
        Arc::new(ping::tool()),
    ]
}

/// The category of the tools about pages.
const PAGE: &str = "page";
/// The category of the tools about blocks.
const BLOCK: &str = "block";
/// The category of the tool that tells the session's context.
const CONTEXT: &str = "context";
/// The category of the tools that navigate. They write only their session's context, and never ask.
const NAVIGATION: &str = "navigation";
/// The category of all other tools.
const UTILITY: &str = "utility";

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

/// Counts the first texts that fit into this many bytes, at least one.
fn fitting(lengths: impl Iterator<Item = usize>, max_bytes: usize) -> usize {
    let mut left = max_bytes;
    let fitting = lengths.take_while(|bytes| {
        let has_room = *bytes <= left;
        left = left.saturating_sub(*bytes);
        has_room
    });
    fitting.count().max(1)
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

/// Returns the start of the next part; `None` after the last.
fn next_offset(offset: usize, count: usize, total: usize) -> Option<usize> {
    let next = offset.saturating_add(count);
    (count > 0 && next < total).then_some(next)
}

/// A block that was created.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    id: BlockId,
    content: String,
    page_id: PageId,
    parent_id: Option<BlockId>,
}

impl From<Block> for Created {
    fn from(Block { id, content, page_id, parent_id, .. }: Block) -> Self {
        Self { id, content, page_id, parent_id }
    }
}

/// A block whose content was changed.
#[derive(Debug, Serialize)]
struct Changed {
    id: BlockId,
    content: String,
}

impl From<Block> for Changed {
    fn from(Block { id, content, .. }: Block) -> Self {
        Self { id, content }
    }
}

#[cfg(test)]
mod tests;
