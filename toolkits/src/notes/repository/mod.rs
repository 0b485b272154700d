//! Writes pages and blocks, after it has checked the rules. Nothing else writes these tables.
//!
//! A screen, a command and a chat use it and get the same verdict.
//!
//! - `pages`, `changing_pages` and `paths` handle pages, and the tree of their titles.
//! - `blocks`, `place`, `lines` and `with_blocks` handle blocks, their order, and whole pages of
//!   them.
//! - `search` finds blocks by their words. `context` keeps the open page of a session and the way
//!   back.
//! - `row` reads rows back into types, and `error` distinguishes a broken rule from a failure of
//!   the database.
//!
//! ```no_run
//! # use madang::UserId;
//! use madang_toolkits::notes::{NotesError, NotesRepository};
//!
//! # async fn example(db: &mut sqlx::SqliteConnection, user: &UserId) -> Result<(), NotesError> {
//! let page = NotesRepository::new(db, user).create_page("Plan", None).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - The caller lends the connection. The repository works within the caller's transaction, and
//!   never ends it.
//! - The repository reads and writes only rows of its own user. Others' pages and blocks look
//!   unknown.
//! - Each change is recorded in the same transaction, and subscribers read it after the commit.
mod blocks;
mod changing_pages;
mod context;
mod error;
mod lines;
mod pages;
mod paths;
mod place;
mod row;
mod search;
mod with_blocks;

use madang::{SessionId, UserId};
use serde_json::json;
use sqlx::SqliteConnection;

pub use blocks::Inside;
pub use context::{Context, Way};
pub use error::NotesError;
use error::failed_to;
pub use pages::Directories;
pub use paths::TreeRow;
pub use search::BlockHit;
pub use with_blocks::{FailedBlock, MadeBlock, MadePage};

use super::{block::BlockId, page::PageId, search::Scope};

/// The most hits that a search compares. If there are more, it compares the newest.
pub const MAX_HITS: i64 = 500;

/// The pages and blocks of one user. Others' are invisible. In addition to the errors that it
/// names, each method returns [`NotesError::Database`] or [`NotesError::Corrupt`] if the database
/// fails or a row cannot be read.
#[derive(Debug)]
pub struct NotesRepository<'a> {
    db: &'a mut SqliteConnection,
    user: &'a UserId,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<T> {
    /// The items of this part.
    pub items: Vec<T>,
    /// The length of the whole list.
    pub total: usize,
}

impl<'a> NotesRepository<'a> {
    /// Opens the notes of a user.
    pub fn new(db: &'a mut SqliteConnection, user: &'a UserId) -> Self {
        Self { db, user }
    }

    async fn page_changed(&mut self, page: PageId) -> Result<(), NotesError> {
        self.tell("page_changed", None, Some(page), &[]).await
    }

    async fn page_deleted(&mut self, page: PageId) -> Result<(), NotesError> {
        self.tell("page_deleted", None, Some(page), &[]).await
    }

    async fn blocks_changed(&mut self, page: PageId, blocks: &[BlockId]) -> Result<(), NotesError> {
        self.tell("blocks_changed", None, Some(page), blocks).await
    }

    async fn navigated(
        &mut self,
        session: &SessionId,
        page: Option<PageId>,
    ) -> Result<(), NotesError> {
        self.tell("navigated", Some(session), page, &[]).await
    }

    /// Records a change in the transaction that makes it. Subscribers read it after the commit.
    async fn tell(
        &mut self,
        kind: &'static str,
        session: Option<&SessionId>,
        page: Option<PageId>,
        blocks: &[BlockId],
    ) -> Result<(), NotesError> {
        sqlx::query(
            "INSERT INTO notes_changes (user_id, kind, session_id, page_id, block_ids)
             VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(self.user.as_str())
        .bind(kind)
        .bind(session.map(SessionId::as_str))
        .bind(page.map(|page| page.to_string()))
        .bind(json!(blocks).to_string())
        .execute(&mut *self.db)
        .await
        .map(drop)
        .map_err(failed_to("write down a change"))
    }

    /// Returns the word of the index that names the owner of a text, and its page.
    fn scope_of(&self, page: i64) -> String {
        format!("{} {}", Scope::User(self.user.as_str()).word(), Scope::Page(page).word())
    }
}

#[cfg(test)]
mod tests;
