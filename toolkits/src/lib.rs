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

mod category;
pub mod life;
pub mod notes;
mod parts;
