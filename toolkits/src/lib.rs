//! Two ready-made sets of tools for Madang, with their rules and tables.
//!
//! Each has `tools()` for [`Builder::tools`](madang::Builder::tools) and `MIGRATIONS` for the store
//! that keeps its rows:
//!
//! ```
//! # use madang::{Runtime, block_on, model::{self, Completion}, store::SqliteStore};
//! # use madang_toolkits::life;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # block_on(async {
//! # let model = model::from_fn("silent", async |_, _| Ok(Completion::text("")));
//! let store = SqliteStore::in_memory().migrations("life", &life::MIGRATIONS).await?;
//! let runtime = Runtime::builder().model(model).store(store).tools(life::tools()).start().await?;
//! # Ok(runtime.shutdown().await?)
//! # })?
//! # }
//! ```
//!
//! - [`life`]: a catalogue of habits, and the habits that a person keeps.
//! - [`notes`]: pages of nested blocks, mirrored as Markdown files.
//!
//! [`demonstration`] has a model that knows these tools, and [`summary`] says in a line what a call
//! gave.

mod asking;
mod category;
pub mod demonstration;
pub mod life;
pub mod notes;
mod parts;
pub mod summary;

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "bundled-model"))]
#[doc = include_str!("../../README.md")]
struct Readme;
