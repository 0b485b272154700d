//! The one place that writes pages and blocks, and that asks the rules before it does.
//!
//! A screen, a command and a chat that go through it get the same verdict. It works on a connection that the caller
//! lends, inside the caller's transaction, and never ends that transaction itself.
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
pub use lines::ImportedLine;
pub use pages::Directories;
pub use paths::TreeRow;
pub use search::BlockHit;
pub use with_blocks::{FailedBlock, MadeBlock, MadePage};

use super::{block::BlockId, page::PageId, search::Scope};

/// The most hits that a search looks at; the newest of them where there are more.
pub const MAX_HITS: i64 = 500;

/// The pages and blocks of one user. What belongs to others is not there.
#[derive(Debug)]
pub struct NotesRepository<'a> {
    db: &'a mut SqliteConnection,
    user: &'a UserId,
}

/// A part of all there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<T> {
    /// The items of this part.
    pub items: Vec<T>,
    /// How many there are in all.
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

    /// Writes down what changed, in the transaction of the change: subscribers read it after the commit.
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

    /// The words that say in the index whose a text is.
    fn scope_of(&self, page: i64) -> String {
        format!("{} {}", Scope::User(self.user.as_str()).word(), Scope::Page(page).word())
    }
}

#[cfg(test)]
mod tests;
