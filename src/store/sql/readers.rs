//! A few connections that cannot write, lent out one at a time.

use std::{
    any::Any,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use madang_actors::port::Reader;
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{authorizer::Authorizer, writer::STEPS_BETWEEN_LOOKS};

/// A few connections that cannot write, opened when they are needed.
#[derive(Debug)]
pub(super) struct Readers {
    options: SqliteConnectOptions,
    places: Arc<Semaphore>,
    idle: Arc<Idle>,
    lent_to: LentTo,
}

/// Who borrows a connection that cannot write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LentTo {
    /// The store itself.
    Store,
    /// Tools: an authorizer keeps them to their own tables.
    Tools,
}

type Idle = Mutex<Vec<Reading>>;

/// A connection that cannot write.
#[derive(Debug)]
struct Reading {
    db: SqliteConnection,
    /// Nobody waits for its statement any more.
    is_cut_off: Arc<AtomicBool>,
}

/// A connection that cannot write. Comes back by itself when dropped, and ends a statement that still runs then.
#[derive(Debug)]
pub(super) struct Lent {
    reading: Option<Reading>,
    idle: Arc<Idle>,
    places: Arc<Semaphore>,
    _place: OwnedSemaphorePermit,
}

impl Readers {
    pub(super) fn new(options: SqliteConnectOptions, count: usize, lent_to: LentTo) -> Self {
        let places = Arc::new(Semaphore::new(count.max(1)));
        Self { options, places, idle: Arc::default(), lent_to }
    }

    /// Lends a connection, waiting for one if all are out.
    pub(super) async fn lend(&self) -> sqlx::Result<Lent> {
        let place =
            self.places.clone().acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed)?;
        let found = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let (idle, places) = (self.idle.clone(), self.places.clone());
        let mut lent = Lent { reading: None, idle, places, _place: place };
        if let Some(mut reading) = found {
            // Whoever had it may have been cut off inside a transaction, and would go on seeing that moment only.
            match sqlx::query("ROLLBACK").execute(&mut reading.db).await {
                Ok(_) | Err(sqlx::Error::Database(_)) => {
                    reading.is_cut_off.store(false, SeqCst);
                    lent.reading = Some(reading);
                    return Ok(lent);
                }
                Err(error) => tracing::debug!(%error, "a reading connection is replaced"),
            }
        }
        lent.reading = Some(Reading::connect(&self.options, self.lent_to).await?);
        Ok(lent)
    }

    /// Closes what is idle; what is out is closed when it comes back.
    pub(super) async fn close(&self) {
        self.places.close();
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for Reading { db, .. } in idle {
            if let Err(error) = db.close().await {
                tracing::debug!(%error, "a reading connection did not close");
            }
        }
    }
}

impl Reading {
    async fn connect(options: &SqliteConnectOptions, lent_to: LentTo) -> sqlx::Result<Self> {
        let mut db = options.connect().await?;
        let is_cut_off = Arc::new(AtomicBool::new(false));
        let steps = is_cut_off.clone();
        let mut handle = db.lock_handle().await?;
        handle.set_progress_handler(STEPS_BETWEEN_LOOKS, move || !steps.load(SeqCst));
        if lent_to == LentTo::Tools {
            let guarded = Arc::new(Authorizer::of_reader()).guard(&mut handle);
            guarded.map_err(|error| sqlx::Error::Configuration(error.into()))?;
        }
        drop(handle);
        Ok(Self { db, is_cut_off })
    }
}

impl Lent {
    pub(super) const fn db(&mut self) -> &mut SqliteConnection {
        &mut self.reading.as_mut().expect("a connection is lent until it is dropped").db
    }
}

impl Reader for Lent {
    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.db()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(reading) = self.reading.take() else { return };
        reading.is_cut_off.store(true, SeqCst);
        if !self.places.is_closed() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reading);
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
