//! A few connections that cannot write, lent out one at a time.

use std::{
    any::Any,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use madang_actors::port::Reader;
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A few connections that cannot write, opened when they are needed.
#[derive(Debug)]
pub(super) struct Readers {
    options: SqliteConnectOptions,
    places: Arc<Semaphore>,
    idle: Arc<Idle>,
}

type Idle = Mutex<Vec<SqliteConnection>>;

/// A connection that cannot write. Comes back by itself when dropped.
#[derive(Debug)]
pub(super) struct Lent {
    db: Option<SqliteConnection>,
    idle: Arc<Idle>,
    places: Arc<Semaphore>,
    _place: OwnedSemaphorePermit,
}

impl Readers {
    pub(super) fn new(options: SqliteConnectOptions, count: usize) -> Self {
        Self { options, places: Arc::new(Semaphore::new(count.max(1))), idle: Arc::default() }
    }

    /// Lends a connection, waiting for one if all are out.
    pub(super) async fn lend(&self) -> sqlx::Result<Lent> {
        let place =
            self.places.clone().acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut lent =
            Lent { db: idle, idle: self.idle.clone(), places: self.places.clone(), _place: place };
        if let Some(db) = &mut lent.db {
            // Whoever had it may have been cut off inside a transaction, and would go on seeing that moment only.
            match sqlx::query("ROLLBACK").execute(db).await {
                Ok(_) | Err(sqlx::Error::Database(_)) => return Ok(lent),
                Err(_) => lent.db = None,
            }
        }
        lent.db = Some(self.options.connect().await?);
        Ok(lent)
    }

    /// Closes what is idle; what is out is closed when it comes back.
    pub(super) async fn close(&self) {
        self.places.close();
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for db in idle {
            if let Err(error) = db.close().await {
                tracing::debug!(%error, "a reading connection did not close");
            }
        }
    }
}

impl Lent {
    pub(super) const fn db(&mut self) -> &mut SqliteConnection {
        self.db.as_mut().expect("a connection is lent until it is dropped")
    }
}

impl Reader for Lent {
    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.db()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(db) = self.db.take()
            && !self.places.is_closed()
        {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
        }
    }
}

/// How a connection that cannot write is opened. The file is opened to read only, which no statement can change.
pub(super) fn connect_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .pragma("query_only", "ON")
        .busy_timeout(super::BUSY_TIMEOUT)
        .statement_cache_capacity(super::STATEMENTS)
}
