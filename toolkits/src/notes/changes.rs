//! Reads committed changes for a screen, in the order of the commits.
use std::{any::Any, collections::VecDeque};

use madang::{
    SessionId, UserId,
    store::{Store, StoreError},
};
use sqlx::SqliteConnection;
use tokio::sync::watch;

use super::{block::BlockId, page::PageId};
use madang::store::SqliteStore;

/// How many changes are read at once.
const AT_ONCE: usize = 100;

/// A committed change of a user's notes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A page was created or renamed.
    PageChanged {
        /// The id of the created or renamed page.
        page: PageId,
    },
    /// A page was deleted, with its blocks.
    PageDeleted {
        /// The id that the deleted page had.
        page: PageId,
    },
    /// Blocks of a page were created, changed, moved or deleted.
    BlocksChanged {
        /// The page that contains or contained the blocks.
        page: PageId,
        /// The ids of the changed blocks, deleted ones included.
        blocks: Vec<BlockId>,
    },
    /// A session shows another place.
    Navigated {
        /// The session whose place changed.
        session: SessionId,
        /// The page or directory. `None` if the session shows the index.
        page: Option<PageId>,
    },
    /// The oldest unread changes were dropped. Read everything that the screen shows again.
    Missed,
}

/// Why the changes cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangesError {
    /// The store cannot be read, or was closed.
    #[error("failed to read what changed")]
    Store(#[from] StoreError),
    /// The table cannot be read.
    #[error("failed to read what changed")]
    Database(#[from] sqlx::Error),
    /// A row is not as the toolkit wrote it.
    #[error("failed to read change {number}: it is not as it was written")]
    Corrupt {
        /// The number of the change.
        number: i64,
    },
}

/// The committed changes of one user's notes from when this was created, each once and in order. A
/// slow reader loses only changes that are older than the last 10,000, and receives
/// [`Change::Missed`] for them.
#[derive(Debug)]
pub struct Changes {
    store: SqliteStore,
    user: UserId,
    commits: watch::Receiver<u64>,
    /// The number of the last change that was read.
    last: i64,
    read: VecDeque<Change>,
}

type Row = (i64, String, Option<String>, Option<String>, String);

impl Changes {
    /// Creates a reader, which begins with the next commit.
    ///
    /// # Errors
    /// Returns [`ChangesError::Store`] or [`ChangesError::Database`].
    pub async fn of(store: &SqliteStore, user: UserId) -> Result<Self, ChangesError> {
        let commits = store.commits();
        let mut changes =
            Self { store: store.clone(), user, commits, last: 0, read: VecDeque::new() };
        let mut reader = changes.store.reader().await?;
        let newest: Option<i64> = sqlx::query_scalar("SELECT max(number) FROM notes_changes")
            .fetch_one(lent(reader.connection())?)
            .await?;
        changes.last = newest.unwrap_or_default();
        Ok(changes)
    }

    /// Waits for the next change and returns it. To drop the future loses none.
    ///
    /// # Errors
    /// Returns [`ChangesError`] if the store cannot be read, and after it was closed.
    pub async fn next(&mut self) -> Result<Change, ChangesError> {
        loop {
            if let Some(change) = self.read.pop_front() {
                return Ok(change);
            }
            // The commit is marked before the look, so that a later one wakes the wait.
            self.commits.borrow_and_update();
            self.look().await?;
            if self.read.is_empty() && self.commits.changed().await.is_err() {
                return Err(ChangesError::Store(StoreError::unavailable(Gone)));
            }
        }
    }

    async fn look(&mut self) -> Result<(), ChangesError> {
        let mut reader = self.store.reader().await?;
        let db = lent(reader.connection())?;
        // The bounds are read before the rows. A commit in between is among the rows, or comes with
        // the next look.
        let (oldest, newest): (Option<i64>, Option<i64>) =
            sqlx::query_as("SELECT min(number), max(number) FROM notes_changes")
                .fetch_one(&mut *db)
                .await?;
        let has_missed = oldest.is_some_and(|oldest| oldest > self.last + 1);
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT number, kind, session_id, page_id, block_ids FROM notes_changes
             WHERE number > $1 AND user_id = $2 ORDER BY number LIMIT $3",
        )
        .bind(self.last)
        .bind(self.user.as_str())
        .bind(i64::try_from(AT_ONCE).unwrap_or(i64::MAX))
        .fetch_all(db)
        .await?;
        drop(reader);
        let mut read: VecDeque<_> = has_missed.then_some(Change::Missed).into_iter().collect();
        // Others' changes are skipped, unless more of this user's changes may follow them.
        let is_all = rows.len() < AT_ONCE;
        let mut last = if is_all { newest.unwrap_or(self.last) } else { self.last };
        for row in rows {
            last = last.max(row.0);
            read.push_back(change(row)?);
        }
        (self.last, self.read) = (last, read);
        Ok(())
    }
}

/// The store was closed.
#[derive(Debug, thiserror::Error)]
#[error("the store is gone")]
struct Gone;

/// The store lends another kind of connection.
#[derive(Debug, thiserror::Error)]
#[error("the store lends no connection of SQLite")]
struct OtherConnection;

/// Takes the connection that a reader or a transaction of the store lends.
pub(super) fn lent(connection: &mut (dyn Any + Send)) -> Result<&mut SqliteConnection, StoreError> {
    connection.downcast_mut().ok_or_else(|| StoreError::unavailable(OtherConnection))
}

fn change((number, kind, session, page, blocks): Row) -> Result<Change, ChangesError> {
    let read = || {
        let page_id = || page.as_deref().and_then(PageId::parse);
        match kind.as_str() {
            "page_changed" => Some(Change::PageChanged { page: page_id()? }),
            "page_deleted" => Some(Change::PageDeleted { page: page_id()? }),
            "blocks_changed" => Some(Change::BlocksChanged {
                page: page_id()?,
                blocks: serde_json::from_str(&blocks).ok()?,
            }),
            "navigated" => {
                let session = SessionId::new(session.as_deref()?).ok()?;
                Some(Change::Navigated { session, page: page_id() })
            }
            _ => None,
        }
    };
    read().ok_or(ChangesError::Corrupt { number })
}
