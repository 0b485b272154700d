//! The toolkit `notes`: pages of nested blocks, mirrored as Markdown files.
//!
//! A call goes from a tool ([`tools()`]) to the [`repository`], which checks the [`rules`], writes,
//! and records the change in the same transaction. After the commit, [`Changes`] reports it to
//! screens, and `mirror` writes the files of the changed pages. A screen of the application uses
//! the same repository:
//!
//! ```no_run
//! # use madang::UserId;
//! # use madang_toolkits::notes::{NotesError, NotesRepository};
//! # async fn example(db: &mut sqlx::SqliteConnection, user: &UserId) -> Result<(), NotesError> {
//! let page = NotesRepository::new(db, user).create_page("Plan", None).await?;
//! println!("{}", page.title);
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - Only the repository writes the tables, and it never ends the caller's transaction.
//! - A user sees and changes only the user's own pages.
//! - The store is the truth, and no file that a person edited is lost.
pub mod block;
mod changes;
mod file_name;
mod fold;
pub mod history;
#[cfg(unix)]
pub mod mirror;
mod order;
pub mod page;
pub mod repository;
pub mod rules;
mod search;
mod texts;
mod tools;
mod tree;

use std::sync::LazyLock;

use sqlx::migrate::Migrator;

pub use changes::{Change, Changes, ChangesError};
pub use repository::{NotesError, NotesRepository};
pub use tools::{asking_tools, tools};

/// The tables of the toolkit. Their versions are kept in a table of their own, `_notes_migrations`,
/// because an embedder may have migrations in the same file.
pub static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!("src/notes/migrations");
    migrator.dangerous_set_table_name("_notes_migrations");
    migrator
});

/// The statements that erase the rows of a user, `$1`, for
/// [`Forget::tables`](madang::ledger::Forget::tables). The last two tidy the full-text indexes,
/// which otherwise keep deleted words.
pub const FORGET: [&str; 9] = [
    "DELETE FROM notes_blocks WHERE page IN (SELECT number FROM notes_pages WHERE user_id = $1)",
    "DELETE FROM notes_title_words WHERE rowid IN (SELECT number FROM notes_pages WHERE user_id = $1)",
    "DELETE FROM notes_files WHERE page IN (SELECT number FROM notes_pages WHERE user_id = $1)",
    "DELETE FROM notes_pages WHERE user_id = $1",
    "DELETE FROM notes_files_written WHERE user_id = $1",
    "DELETE FROM notes_contexts WHERE user_id = $1",
    "DELETE FROM notes_changes WHERE user_id = $1",
    "INSERT INTO notes_words (notes_words) SELECT 'optimize' WHERE $1 <> ''",
    "INSERT INTO notes_title_words (notes_title_words) SELECT 'optimize' WHERE $1 <> ''",
];
