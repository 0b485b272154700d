//! The one connection that writes, and the hooks that watch over its transaction.

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

use super::{authorizer::Authorizer, cut_off::CutOff, own::Own};

/// A connection that writes. No transaction of it commits unless it is asked to by [`Writer::commit`].
#[derive(Debug)]
pub(super) struct Writer {
    db: SqliteConnection,
    watch: Arc<Watch>,
    authorizer: Arc<Authorizer>,
    cut_off: Arc<CutOff>,
    /// It was lent, and nothing of the store's own was said on it since.
    is_lent: bool,
    /// Begins the name of each savepoint: a handler can neither meet it by accident nor guess it.
    prefix: String,
    /// Begins each statement of the store's own.
    mark: String,
    keys: SealKeys,
}

/// What the hooks know.
#[derive(Debug, Default)]
struct Watch {
    may_commit: AtomicBool,
    was_rolled_back: AtomicBool,
}

/// The transaction ended elsewhere: a handler by its own `COMMIT` or `ROLLBACK`, or SQLite on a full disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the transaction was ended by its borrower or by SQLite")]
pub(super) struct EndedByOthers;

/// What a borrower wrote is not to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum DiscardedWrites {
    /// It rolled back what it was lent.
    #[error("the borrower rolled the transaction back")]
    RolledBack,
    /// It dropped a part that could not be undone alone.
    #[error("the borrower left a part of the transaction open")]
    PartLeftOpen,
}

/// Why a statement of the writer's own failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ControlError {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Ended(#[from] EndedByOthers),
}

impl Writer {
    /// Watches over a connection whose tables are made. `SQLITE_FULL` rolls a transaction back by itself, and the next
    /// statement would then commit alone; a handler can say `COMMIT`. The hooks make both show.
    pub(super) async fn new(mut db: SqliteConnection, keys: SealKeys) -> sqlx::Result<Self> {
        let watch = Arc::new(Watch::default());
        let prefix = format!("madang_{}", Uuid::now_v7().simple());
        let cut_off = CutOff::watch(&mut db).await?;
        let authorizer = Arc::new(Authorizer::of_writer(format!("{prefix}_back"), cut_off.clone()));
        {
            let mut handle = db.lock_handle().await?;
            let (commits, rollbacks) = (watch.clone(), watch.clone());
            handle.set_commit_hook(move || commits.may_commit.load(SeqCst));
            handle.set_rollback_hook(move || rollbacks.was_rolled_back.store(true, SeqCst));
            let guarded = authorizer.clone().guard(&mut handle);
            guarded.map_err(|error| sqlx::Error::Configuration(error.into()))?;
        }
        // The statements that opened the file and made its tables were prepared before any caller came.
        db.clear_cached_statements().await?;
        let mark = format!("/*{prefix}*/");
        Ok(Self { db, watch, authorizer, cut_off, is_lent: false, prefix, mark, keys })
    }

    /// Lends the connection: what is said on it from here on is a borrower's, and is cut off so long from now; later where
    /// the borrower has not ended, for then the borrower is to be told first.
    pub(super) fn lend(&mut self, deadline: Option<Duration>) -> &mut SqliteConnection {
        // The borrower's time goes on, however often it asks.
        if !self.is_lent {
            self.cut_off.lent(deadline);
            self.authorizer.forget_parts();
        }
        self.authorizer.lend();
        self.is_lent = true;
        &mut self.db
    }

    /// The connection, as the store itself uses it.
    pub(super) fn own(&mut self) -> Own<'_> {
        if std::mem::take(&mut self.is_lent) {
            self.take_back();
        }
        Own::marked(&mut self.db, &self.keys, &self.mark)
    }

    /// One poll puts the statement into the queue of SQLite's thread, behind all that a borrower left there and before what
    /// the store says next; no caller needs to wait for it. Where a borrower filled the queue it is not put there, and the store
    /// is refused what it says next: the transaction is then lost and nothing else.
    fn take_back(&mut self) {
        self.cut_off.is_home();
        let back = AssertSqlSafe(self.authorizer.back());
        let back = pin!(sqlx::query(back).persistent(false).execute(&mut self.db));
        let polled = back.poll(&mut Context::from_waker(Waker::noop()));
        tracing::trace!(is_sent = polled.is_pending(), "a connection comes back");
    }

    pub(super) fn into_db(self) -> SqliteConnection {
        self.db
    }

    pub(super) async fn begin(&mut self) -> Result<(), ControlError> {
        self.watch.was_rolled_back.store(false, SeqCst);
        Ok(self.run("BEGIN IMMEDIATE".to_owned()).await?)
    }

    /// Gives what begins the part of this depth, once the one that was kept before it is released.
    pub(super) fn savepoint(&self, kept: Option<usize>, depth: usize) -> String {
        let prefix = &self.prefix;
        let release = kept.map(|kept| format!("RELEASE {prefix}_{kept}; ")).unwrap_or_default();
        format!("{release}SAVEPOINT {prefix}_{depth}; ")
    }

    /// Keeps the part of this depth.
    pub(super) async fn release(&mut self, depth: usize) -> Result<(), ControlError> {
        self.must_be_open()?;
        self.run(format!("RELEASE {}_{depth}", self.prefix)).await?;
        // Asked again: what a handler left running may have ended the transaction since.
        Ok(self.must_be_untouched()?)
    }

    /// Undoes and ends the part of this depth.
    pub(super) async fn roll_back(&mut self, depth: usize) -> Result<(), ControlError> {
        self.must_be_open()?;
        let name = format!("{}_{depth}", self.prefix);
        self.run(format!("ROLLBACK TO {name}; RELEASE {name}")).await?;
        self.authorizer.forget();
        Ok(self.must_be_open()?)
    }

    pub(super) async fn commit(&mut self) -> Result<(), ControlError> {
        self.must_be_untouched()?;
        self.watch.may_commit.store(true, SeqCst);
        let committed = self.run("COMMIT".to_owned()).await;
        self.watch.may_commit.store(false, SeqCst);
        Ok(committed?)
    }

    /// Whether the transaction is still the one that was begun.
    pub(super) fn must_be_open(&self) -> Result<(), EndedByOthers> {
        if self.watch.was_rolled_back.load(SeqCst) { Err(EndedByOthers) } else { Ok(()) }
    }

    /// Whether all that was kept is to be kept. A borrower that rolled back too late to be undone alone spoils it.
    pub(super) fn must_be_untouched(&self) -> Result<(), EndedByOthers> {
        self.must_be_open()?;
        self.must_not_be_discarded().map_err(|_| EndedByOthers)
    }

    /// Whether the borrower wants what it wrote to be kept: it may have rolled back on its own.
    fn must_not_be_discarded(&self) -> Result<(), DiscardedWrites> {
        if self.authorizer.gave_up() { Err(DiscardedWrites::RolledBack) } else { Ok(()) }
    }

    /// The same, and whether each part that the borrower began was kept or undone: the end of one may still be in the queue,
    /// and is waited for.
    pub(super) async fn must_be_wanted(&mut self) -> Result<(), StoreError> {
        let refused = |discarded: DiscardedWrites| StoreError::refused(discarded.to_string());
        self.must_not_be_discarded().map_err(refused)?;
        if self.authorizer.has_open_part() {
            self.own().db.ping().await.map_err(StoreError::unavailable)?;
            if self.authorizer.has_open_part() {
                return Err(refused(DiscardedWrites::PartLeftOpen));
            }
        }
        Ok(())
    }

    /// Ends a statement that still runs though its handler's future was dropped; without this, undoing would wait behind
    /// it for as long as it takes.
    pub(super) async fn cut_off(&mut self) -> sqlx::Result<()> {
        self.cut_off.now();
        let ended = self.db.ping().await;
        self.cut_off.never();
        ended
    }

    /// All transaction control goes through here, and none of it through sqlx's own transactions: cut off in flight,
    /// those lose other sessions' rows without a word.
    pub(super) async fn run(&mut self, sql: String) -> sqlx::Result<()> {
        let own = self.own();
        sqlx::query(own.sql(&sql)).execute(own.db).await.map(drop)
    }
}

/// Pages in the log before they are moved into the database, 32 MiB: each session has pages of its own, and moving them
/// after every few groups would cost more than the commits do.
const LOG_PAGES: &str = "8192";

/// The writer's cache, 32 MiB: a group touches a few pages of each session, and the default would spill them.
const CACHE_KIB: &str = "-32768";

/// How a connection that writes is opened.
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
        // What a savepoint must be able to undo would otherwise spill into a file, opened anew each time.
        .pragma("temp_store", "memory")
        .statement_cache_capacity(super::STATEMENTS);
    // Without ORDER BY the order is another than that of an index, and a test notices.
    #[cfg(test)]
    let options = options.pragma("reverse_unordered_selects", "ON");
    options
}
