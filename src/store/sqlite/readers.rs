//! Lends a few connections that cannot write, each to one borrower at a time.

use std::{
    any::Any,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use madang_actors::{ledger::SealKeys, port::Reader};
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::task::TaskTracker;

use super::{
    authorizer::{Authorizer, Kind},
    cut_off::CutOff,
    own::Own,
};

/// A pool of connections that cannot write, opened on demand.
#[derive(Debug)]
pub(super) struct Readers {
    options: SqliteConnectOptions,
    lent_to: LentTo,
    pool: Arc<Pool>,
}

/// The borrowers of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LentTo {
    /// The store itself.
    Store,
    /// Tools, limited to their own tables by an authorizer.
    Tools,
}

/// The idle connections of a pool.
#[derive(Debug)]
struct Pool {
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Reading>>,
    /// Tasks that take connections back.
    returns: TaskTracker,
}

/// A connection that cannot write.
#[derive(Debug)]
struct Reading {
    db: SqliteConnection,
    cut_off: Arc<CutOff>,
}

/// A lent connection that cannot write. Dropping it interrupts its statement and returns it.
#[derive(Debug)]
pub(super) struct Lent {
    /// With its permit in the pool. `None` only after the drop.
    out: Option<(OwnedSemaphorePermit, Reading)>,
    pool: Arc<Pool>,
}

impl Readers {
    pub(super) fn new(options: SqliteConnectOptions, count: usize, lent_to: LentTo) -> Self {
        let pool = Pool {
            permits: Arc::new(Semaphore::new(count.max(1))),
            idle: Mutex::default(),
            returns: TaskTracker::new(),
        };
        Self { options, lent_to, pool: Arc::new(pool) }
    }

    /// Lends a connection, and waits if all are lent.
    pub(super) async fn lend(&self) -> sqlx::Result<Lent> {
        let permit = self.pool.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
        let found = self.pool.idle().pop();
        let reading = match found {
            Some(reading) => reading,
            None => Reading::connect(&self.options, self.lent_to).await?,
        };
        Ok(Lent { out: Some((permit, reading)), pool: self.pool.clone() })
    }

    /// Closes idle and returning connections; a lent one is closed when it returns.
    pub(super) async fn close(&self) {
        self.pool.permits.close();
        self.pool.returns.close();
        self.pool.returns.wait().await;
        let idle = std::mem::take(&mut *self.pool.idle());
        for reading in idle {
            reading.close().await;
        }
    }
}

impl Pool {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Reading>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a statement that the borrower left, and a transaction, which would keep the log from
    /// being moved into the database. Frees the permit afterwards.
    async fn take_back(self: Arc<Self>, mut reading: Reading, permit: OwnedSemaphorePermit) {
        // Not cached: SQLite counts the steps of a cached statement over all its runs, and would
        // interrupt it one day.
        let ended = sqlx::query("ROLLBACK").persistent(false).execute(&mut reading.db).await;
        reading.cut_off.never();
        match ended {
            // Without an open transaction SQLite answers with an error, which is expected.
            Ok(_) | Err(sqlx::Error::Database(_)) if !self.permits.is_closed() => {
                self.idle().push(reading);
            }
            Ok(_) | Err(sqlx::Error::Database(_)) => reading.close().await,
            Err(error) => tracing::debug!(%error, "a reading connection is replaced"),
        }
        drop(permit);
    }
}

impl Reading {
    async fn connect(options: &SqliteConnectOptions, lent_to: LentTo) -> sqlx::Result<Self> {
        let mut db = options.connect().await?;
        let cut_off = CutOff::watch(&mut db).await?;
        if lent_to == LentTo::Tools {
            let mut handle = db.lock_handle().await?;
            let guarded = Arc::new(Authorizer::new(Kind::Reader)).guard(&mut handle);
            guarded.map_err(|error| sqlx::Error::Configuration(error.into()))?;
        }
        Ok(Self { db, cut_off })
    }

    async fn close(self) {
        if let Err(error) = self.db.close().await {
            tracing::debug!(%error, "a reading connection did not close");
        }
    }
}

impl Lent {
    /// Returns the connection for the store's own reads.
    pub(super) const fn own<'r>(&'r mut self, keys: &'r SealKeys) -> Own<'r> {
        Own { db: self.db(), keys, mark: "" }
    }

    pub(super) const fn db(&mut self) -> &mut SqliteConnection {
        let (_, reading) = self.out.as_mut().expect("a connection is lent until it is dropped");
        &mut reading.db
    }
}

impl Reader for Lent {
    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.db()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some((permit, reading)) = self.out.take() else { return };
        // If no runtime is left to await the statement, it is interrupted, and the connection's own
        // thread closes.
        reading.cut_off.now();
        if let Ok(runtime) = Handle::try_current() {
            let returned = self.pool.clone().take_back(reading, permit);
            self.pool.returns.spawn_on(returned, &runtime);
        }
    }
}

/// Builds the options of a connection that cannot write: no statement can change a file that is
/// opened read-only.
pub(super) fn connect_options(path: &Path) -> SqliteConnectOptions {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .pragma("query_only", "ON")
        .busy_timeout(super::BUSY_TIMEOUT)
        .statement_cache_capacity(super::STATEMENTS);
    // Reverses rows without ORDER BY, so that a test notices a query that relies on their order.
    #[cfg(test)]
    let options = options.pragma("reverse_unordered_selects", "ON");
    options
}
