//! Owns the one connection that writes, and the hooks that watch over its transaction.

use std::{
    path::Path,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Waker},
    time::Duration,
};

use madang_actors::{ledger::SealKeys, port::StoreError};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use uuid::Uuid;

use super::{
    authorizer::{Authorizer, Kind},
    cut_off::CutOff,
    error,
    own::Own,
};

/// A connection that writes. Its transactions commit only through [`Writer::commit`].
#[derive(Debug)]
pub(super) struct Writer {
    db: SqliteConnection,
    watch: Arc<Watch>,
    authorizer: Arc<Authorizer>,
    cut_off: Arc<CutOff>,
    /// Lent, with no statement of the store's own since.
    is_lent: bool,
    /// The prefix of the store's savepoints, which a handler can neither meet by accident nor
    /// guess.
    prefix: String,
    /// The start of each statement of the store's own.
    mark: String,
    keys: SealKeys,
}

/// The state that the hooks share.
#[derive(Debug, Default)]
struct Watch {
    may_commit: AtomicBool,
    was_rolled_back: AtomicBool,
}

/// A handler's own `COMMIT` or `ROLLBACK`, or SQLite on a full disk, ended the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the transaction was ended by its borrower or by SQLite")]
pub(super) struct EndedByOthers;

impl From<EndedByOthers> for StoreError {
    fn from(ended: EndedByOthers) -> Self {
        Self::unavailable(ended)
    }
}

impl Writer {
    /// Sets the hooks on a connection whose tables exist. They notice a handler's `COMMIT`, and the
    /// rollback by `SQLITE_FULL`, after which the next statement would commit alone.
    pub(super) async fn new(mut db: SqliteConnection, keys: SealKeys) -> sqlx::Result<Self> {
        let watch = Arc::new(Watch::default());
        let prefix = format!("madang_{}", Uuid::now_v7().simple());
        let cut_off = CutOff::watch(&mut db).await?;
        let rules = Kind::Writer { password: back(&prefix), cut_off: cut_off.clone() };
        let authorizer = Arc::new(Authorizer::new(rules));
        {
            let mut handle = db.lock_handle().await?;
            let commits = watch.clone();
            let rollbacks = watch.clone();
            handle.set_commit_hook(move || commits.may_commit.load(SeqCst));
            handle.set_rollback_hook(move || rollbacks.was_rolled_back.store(true, SeqCst));
            let guarded = authorizer.clone().guard(&mut handle);
            guarded.map_err(|error| sqlx::Error::Configuration(error.into()))?;
        }
        // Borrowers must not meet the statements that opened the file and created its tables.
        db.clear_cached_statements().await?;
        let mark = format!("/*{prefix}*/");
        Ok(Self { db, watch, authorizer, cut_off, is_lent: false, prefix, mark, keys })
    }

    /// Lends the connection. Later statements are the borrower's; they are interrupted after two
    /// deadlines, or at the first if the borrower has ended.
    pub(super) fn lend(&mut self, deadline: Option<Duration>) -> &mut SqliteConnection {
        // The borrower's time does not start again when it asks again.
        if !self.is_lent {
            self.cut_off.lent(deadline);
            self.authorizer.forget_parts();
        }
        self.authorizer.lend();
        self.is_lent = true;
        &mut self.db
    }

    /// Returns the connection for the store's own statements.
    pub(super) fn own(&mut self) -> Own<'_> {
        if std::mem::take(&mut self.is_lent) {
            self.take_back();
        }
        Own { db: &mut self.db, keys: &self.keys, mark: &self.mark }
    }

    /// Takes the connection back without waiting: one poll queues the statement after all that the
    /// borrower left. If the borrower filled the queue, the store's next statement is refused, and
    /// only this transaction is lost.
    fn take_back(&mut self) {
        self.cut_off.returned();
        let back = AssertSqlSafe(format!("SAVEPOINT {}", back(&self.prefix)));
        let back = pin!(sqlx::query(back).persistent(false).execute(&mut self.db));
        let polled = back.poll(&mut Context::from_waker(Waker::noop()));
        tracing::trace!(is_sent = polled.is_pending(), "a connection comes back");
    }

    pub(super) fn into_db(self) -> SqliteConnection {
        self.db
    }

    pub(super) async fn begin(&mut self) -> Result<(), StoreError> {
        self.watch.was_rolled_back.store(false, SeqCst);
        self.run("BEGIN IMMEDIATE".to_owned()).await.map_err(error::unavailable)
    }

    /// Returns the SQL that begins the part of this depth, and releases the kept part before it.
    pub(super) fn savepoint(&self, kept: Option<usize>, depth: usize) -> String {
        let prefix = &self.prefix;
        let release = kept.map(|kept| format!("RELEASE {prefix}_{kept}; ")).unwrap_or_default();
        format!("{release}SAVEPOINT {prefix}_{depth}; ")
    }

    /// Keeps the part of this depth.
    pub(super) async fn release(&mut self, depth: usize) -> Result<(), StoreError> {
        self.must_be_open()?;
        let release = format!("RELEASE {}_{depth}", self.prefix);
        self.run(release).await.map_err(error::unavailable)?;
        // Checked again, because a statement that a handler left running may have ended the
        // transaction.
        Ok(self.must_be_untouched()?)
    }

    /// Undoes and ends the part of this depth.
    pub(super) async fn roll_back(&mut self, depth: usize) -> Result<(), StoreError> {
        self.must_be_open()?;
        let name = format!("{}_{depth}", self.prefix);
        let undo = format!("ROLLBACK TO {name}; RELEASE {name}");
        self.run(undo).await.map_err(error::unavailable)?;
        self.authorizer.forget();
        Ok(self.must_be_open()?)
    }

    pub(super) async fn commit(&mut self) -> Result<(), StoreError> {
        self.must_be_untouched()?;
        self.watch.may_commit.store(true, SeqCst);
        let committed = self.run("COMMIT".to_owned()).await;
        self.watch.may_commit.store(false, SeqCst);
        committed.map_err(error::of_commit)
    }

    /// Fails if the transaction has ended.
    pub(super) fn must_be_open(&self) -> Result<(), EndedByOthers> {
        if self.watch.was_rolled_back.load(SeqCst) { Err(EndedByOthers) } else { Ok(()) }
    }

    /// Fails if the transaction has ended, or a borrower rolled back too late to be undone alone.
    pub(super) fn must_be_untouched(&self) -> Result<(), EndedByOthers> {
        self.must_be_open()?;
        if self.authorizer.gave_up() { Err(EndedByOthers) } else { Ok(()) }
    }

    /// Fails if the borrower rolled back or left a part open. Waits for a part's end that is still
    /// in the queue.
    pub(super) async fn must_be_wanted(&mut self) -> Result<(), StoreError> {
        if self.authorizer.gave_up() {
            return Err(StoreError::refused("the borrower rolled the transaction back"));
        }
        if self.authorizer.has_open_part() {
            self.own().db.ping().await.map_err(StoreError::unavailable)?;
            if self.authorizer.has_open_part() {
                return Err(StoreError::refused(
                    "the borrower left a part of the transaction open",
                ));
            }
        }
        Ok(())
    }

    /// Interrupts a statement that outlived its handler's future, because undoing would wait for
    /// it.
    pub(super) async fn cut_off(&mut self) -> sqlx::Result<()> {
        self.cut_off.now();
        let ended = self.db.ping().await;
        self.cut_off.never();
        ended
    }

    /// Runs transaction control. sqlx's own transactions are not used: dropped in flight, they lose
    /// other sessions' rows silently.
    pub(super) async fn run(&mut self, sql: String) -> sqlx::Result<()> {
        let own = self.own();
        sqlx::query(own.sql(&sql)).execute(own.db).await.map(drop)
    }
}

/// Returns the name of the savepoint that ends the loan of the connection.
fn back(prefix: &str) -> String {
    format!("{prefix}_back")
}

/// Pages in the log before SQLite moves them into the database: 32 MiB. Each session has its own
/// pages, and moving them after every few groups would cost more than the commits.
const LOG_PAGES: &str = "8192";

/// The writer's cache, 32 MiB: a group touches a few pages of each session, which the default would
/// spill.
const CACHE_KIB: &str = "-32768";

/// Builds the options of a connection that writes.
pub(super) fn connect_options(path: &Path) -> sqlx::sqlite::SqliteConnectOptions {
    use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(super::BUSY_TIMEOUT)
        .pragma("wal_autocheckpoint", LOG_PAGES)
        .pragma("cache_size", CACHE_KIB)
        // Undo data would otherwise spill into a temporary file, opened each time.
        .pragma("temp_store", "memory")
        .statement_cache_capacity(super::STATEMENTS);
    // Reverses rows without ORDER BY, so that a test notices a query that relies on their order.
    #[cfg(test)]
    let options = options.pragma("reverse_unordered_selects", "ON");
    options
}
