//! Defines the tools of the toolkit, for pages, blocks, context and navigation.
//!
//! Each kind has a file: `pages`, `blocks`, `places` and `ping`. A tool has its arguments, whose
//! schema the model reads, its description, its handler, and perhaps the consequence that a
//! question shows. A handler is lent the notes of its [`Caller`]. What it returns becomes an
//! outcome with a text for the person, and a broken rule becomes a fault with the rule's code and
//! reason. Lists and long texts come in parts that fit an envelope.
//!
//! ```
//! # use madang::tool::Tool as _;
//! let tools = madang_toolkits::notes::tools();
//! assert!(tools.iter().any(|tool| &*tool.spec().name == "delete_page"));
//! ```
//!
//! Invariants:
//! - A tool decides nothing. The rules and the repository do, so a screen gets the same verdict.
//! - Only the two deletions ask a person. Of [`asking_tools`], all that write notes do.
//! - The text for the person is in the metadata, and never reaches the model.
//! - The model learns only the type of an error of the database.

mod blocks;
mod pages;
mod ping;
mod places;

use std::sync::Arc;

use madang::{
    SessionId,
    tool::{
        self, AsyncFn2, BoxFuture, EffectPolicy, Locale, Tool, ToolContext, ToolFault, ToolOutcome,
        ToolResult, TypedTool,
    },
};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use sqlx::SqliteConnection;

use super::{
    super::{asking::asking, parts::next_offset},
    block::{Block, BlockId},
    page::{Page, PageId},
    repository::{NotesError, NotesRepository, Part},
    texts,
};

/// Returns the tools of the toolkit, for [`Builder::tools`](madang::Builder::tools).
///
/// They need a SQLite store that has run [`MIGRATIONS`](super::MIGRATIONS).
#[must_use]
pub fn tools() -> Vec<Arc<dyn Tool>> {
    [pages::tools(), blocks::tools(), places::tools(), vec![ping::tool()]].concat()
}

/// Returns the tools of the toolkit, of which all that write ask a person. Those that only navigate
/// do not ask.
///
/// They are for a model that makes mistakes, such as the
/// [demonstration](crate::demonstration) model. Like those of [`tools`], they need a SQLite store
/// that has run [`MIGRATIONS`](super::MIGRATIONS).
#[must_use]
pub fn asking_tools() -> Vec<Arc<dyn Tool>> {
    let asks = |tool: Arc<dyn Tool>| {
        let writes = tool.spec().effect != EffectPolicy::Read;
        let is_place = places::NAVIGATING.contains(&&*tool.spec().name);
        if writes && !is_place { asking(tool) } else { tool }
    };
    tools().into_iter().map(asks).collect()
}

/// Makes a tool that reads the notes of its caller.
fn reading<A, F>(name: &'static str, description: &'static str, run: F) -> TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    OnNotes<F>: for<'a> AsyncFn2<'a, A, &'a mut SqliteConnection> + 'static,
{
    tool::reading(name, description, OnNotes { run, says: None }).idempotent()
}

/// Makes a tool that changes the notes of its caller without a question.
fn writing<A, F>(name: &'static str, description: &'static str, run: F) -> TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    OnNotes<F>: for<'a> AsyncFn2<'a, A, &'a mut SqliteConnection> + 'static,
{
    saying(texts::done, name, description, run).effect(EffectPolicy::Write)
}

/// Makes a tool that changes the notes of its caller, and reports that to a person in these words.
fn saying<A, F>(
    says: fn(Locale) -> &'static str,
    name: &'static str,
    description: &'static str,
    run: F,
) -> TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    OnNotes<F>: for<'a> AsyncFn2<'a, A, &'a mut SqliteConnection> + 'static,
{
    tool::transactional(name, description, OnNotes { run, says: Some(says) })
}

/// The user who calls, as a handler knows it.
struct Caller<'a> {
    notes: NotesRepository<'a>,
    session: &'a SessionId,
}

type NotesResult<T> = Result<T, NotesError>;

/// Runs a handler on the notes of its caller.
struct OnNotes<F> {
    run: F,
    /// The words for the person about a success.
    says: Option<fn(Locale) -> &'static str>,
}

impl<'a, A, F, Fut, T> AsyncFn2<'a, A, &'a mut SqliteConnection> for OnNotes<F>
where
    F: Fn(A, Caller<'a>) -> Fut + Send + Sync,
    Fut: Future<Output = NotesResult<T>> + Send + 'a,
    T: Serialize,
{
    type Data = ToolOutcome;
    type Future = BoxFuture<'a, ToolResult<ToolOutcome>>;

    fn run(
        &'a self,
        arguments: A,
        db: &'a mut SqliteConnection,
        ctx: &'a ToolContext,
    ) -> Self::Future {
        let caller = Caller { notes: NotesRepository::new(db, &ctx.user), session: &ctx.session };
        let run = (self.run)(arguments, caller);
        Box::pin(async move {
            let data = run.await.map_err(fault(ctx))?;
            let done = ToolOutcome::ok(serde_json::to_value(data)?);
            Ok(match self.says {
                Some(says) => done.with_metadata(FEEDBACK, Value::from(says(ctx.locale))),
                None => done,
            })
        })
    }
}

/// The key in an outcome's metadata of the text for the person. `madang chat` shows it in place of
/// the data.
const FEEDBACK: &str = "feedback";

/// Passes a broken rule on to the model. Passes on only the type of any other error.
fn fault<E: Into<NotesError>>(ctx: &ToolContext) -> impl Fn(E) -> ToolFault {
    let locale = ctx.locale;
    move |error| match error.into() {
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

/// A block by its id, with its text.
#[derive(Debug, Serialize)]
struct BlockText {
    id: BlockId,
    content: String,
}

impl From<Block> for BlockText {
    fn from(Block { id, content, .. }: Block) -> Self {
        Self { id, content }
    }
}

/// A page by its id and title.
#[derive(Debug, Serialize)]
struct PageTitle {
    id: PageId,
    title: String,
}

impl From<Page> for PageTitle {
    fn from(Page { id, title, .. }: Page) -> Self {
        Self { id, title }
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
