//! A few connections that cannot write, lent out one at a time.

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

use super::{authorizer::Authorizer, cut_off::CutOff, own::Own};

/// A few connections that cannot write, opened when they are needed.
#[derive(Debug)]
pub(super) struct Readers {
    options: SqliteConnectOptions,
    lent_to: LentTo,
    pool: Arc<Pool>,
}

/// The borrower of a connection that cannot write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LentTo {
    /// The store itself.
    Store,
    /// Tools: an authorizer keeps them to their own tables.
    Tools,
}

/// Where idle connections are.
#[derive(Debug)]
struct Pool {
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Reading>>,
    /// Connections on their way back.
    returns: TaskTracker,
}

/// A connection that cannot write.
#[derive(Debug)]
struct Reading {
    db: SqliteConnection,
    cut_off: Arc<CutOff>,
}

/// A connection that cannot write. Comes back by itself when dropped, and ends a statement that still runs then.
#[derive(Debug)]
pub(super) struct Lent {
    /// Taken only on drop.
    out: Option<Out>,
    pool: Arc<Pool>,
}

#[derive(Debug)]
struct Out {
    reading: Reading,
    permit: OwnedSemaphorePermit,
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

    /// Lends a connection, waiting for one if all are out.
    pub(super) async fn lend(&self) -> sqlx::Result<Lent> {
        let permit = self.pool.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
        let found = self.pool.idle().pop();
        let reading = match found {
            Some(reading) => reading,
            None => Reading::connect(&self.options, self.lent_to).await?,
        };
        Ok(Lent { out: Some(Out { reading, permit }), pool: self.pool.clone() })
    }

    /// Closes what is idle or on its way back; what is out is closed when it comes back.
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

    /// Ends what a borrower left: a statement without a caller, and a transaction, which would keep the log from
    /// ever being moved into the database. The permit is free behind that.
    async fn take_back(self: Arc<Self>, Out { mut reading, permit }: Out) {
        // Prepared anew: a statement that is kept counts its steps over all its runs, and would one day be cut off itself.
        let ended = sqlx::query("ROLLBACK").persistent(false).execute(&mut reading.db).await;
        reading.cut_off.never();
        match ended {
            // Without a transaction there is nothing to roll back, and SQLite says so.
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
            let guarded = Arc::new(Authorizer::of_reader()).guard(&mut handle);
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
    /// The connection, for the store's own reads.
    pub(super) const fn own<'r>(&'r mut self, keys: &'r SealKeys) -> Own<'r> {
        Own::unmarked(self.db(), keys)
    }

    pub(super) const fn db(&mut self) -> &mut SqliteConnection {
        &mut self.out.as_mut().expect("a connection is lent until it is dropped").reading.db
    }
}

impl Reader for Lent {
    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.db()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(out) = self.out.take() else { return };
        // Without a runtime that could wait for it, its statement ends and it is closed.
        out.reading.cut_off.now();
        if let Ok(runtime) = Handle::try_current() {
            let returned = self.pool.clone().take_back(out);
            drop(self.pool.returns.spawn_on(returned, &runtime));
        }
    }
}

/// How a connection that cannot write is opened. The file is opened to read only, which no statement can change.
pub(super) fn connect_options(path: &Path) -> SqliteConnectOptions {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .pragma("query_only", "ON")
        .busy_timeout(super::BUSY_TIMEOUT)
        .statement_cache_capacity(super::STATEMENTS);
    // Without ORDER BY the order is another than that of an index, and a test notices.
    #[cfg(test)]
    let options = options.pragma("reverse_unordered_selects", "ON");
    options
}
