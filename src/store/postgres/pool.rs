//! Lends a few connections, each to one borrower at a time.
//!
//! sqlx's own pool is not used: it can lend a connection inside of the transaction of a `begin` that
//! was cancelled, and the next borrower's writes are lost then.

use std::{
    any::Any,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use madang_actors::{ledger::SealKeys, port::Reader};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::{
    managed,
    own::{Own, patiently, say, within},
};

/// A pool of connections, opened on demand.
#[derive(Debug)]
pub(super) struct Pool {
    options: PgConnectOptions,
    lent_to: LentTo,
    settings: String,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    /// Tasks that take connections back.
    returns: TaskTracker,
}

/// The borrowers of a pool, and what they may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LentTo {
    /// The store's writers, whose transactions are lent to tools.
    Writers,
    /// The store's own reads.
    Store,
    /// Tools that read.
    Tools,
}

/// A connection of the store.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) db: PgConnection,
    /// The start of each statement of the store's own; empty if the connection is never lent.
    pub(super) mark: String,
    /// Lent to a tool since it was last tidied.
    pub(super) was_lent: bool,
}

/// A lent connection. It is closed unless it is given back: a statement may still run on it.
#[derive(Debug)]
pub(super) struct Lent {
    /// `None` after the connection was given back.
    pub(super) connection: Option<Connection>,
    /// Whether it was idle, so that the server may have closed it.
    pub(super) was_idle: bool,
    permit: Option<OwnedSemaphorePermit>,
    pool: Arc<Pool>,
}

/// How long a tool's connection has to become usable again.
const TIDIED_WITHIN: Duration = Duration::from_secs(2);

/// Ends everything that a borrower may have left open.
const TIDY: &str = "ROLLBACK; CLOSE ALL; UNLISTEN *; RESET ALL; SELECT pg_advisory_unlock_all(); ";

/// The settings of each connection. The server ends a statement whose client is gone, and waits no
/// longer for a lock or a statement than the store waits for an answer. Whoever ends a transaction by
/// accident writes nothing after that.
const SETTINGS: &str = "SET default_transaction_read_only = on; \
    SET default_transaction_isolation = 'read committed'; SET statement_timeout = '10s'; \
    SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '60s'; \
    SET client_connection_check_interval = '250ms'";

impl Pool {
    /// Makes a pool of so many connections, whose commits wait for this (`synchronous_commit`).
    pub(super) fn new(
        options: PgConnectOptions,
        count: usize,
        lent_to: LentTo,
        durability: &str,
    ) -> Arc<Self> {
        Arc::new(Self {
            options,
            lent_to,
            settings: format!("{SETTINGS}; SET synchronous_commit = {durability}"),
            permits: Arc::new(Semaphore::new(count.max(1))),
            idle: Mutex::default(),
            returns: TaskTracker::new(),
        })
    }

    /// Lends a connection, and waits if all are lent.
    pub(super) async fn lend(self: &Arc<Self>) -> sqlx::Result<Lent> {
        let permit = self.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
        let found = self.idle().pop();
        let was_idle = found.is_some();
        let connection = match found {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let connection = Some(connection);
        Ok(Lent { connection, was_idle, permit: Some(permit), pool: self.clone() })
    }

    /// Opens a connection.
    pub(super) async fn connect(&self) -> sqlx::Result<Connection> {
        let mut db = patiently(self.options.connect()).await?;
        say(&mut db, self.settings.clone()).await?;
        let mark = match self.lent_to {
            LentTo::Writers => format!("/*{}*/ ", Uuid::now_v7().simple()),
            LentTo::Store | LentTo::Tools => String::new(),
        };
        Ok(Connection { db, mark, was_lent: false })
    }

    /// Closes the idle connections, because the server has closed one of them.
    pub(super) fn forget_idle(&self) {
        drop(std::mem::take(&mut *self.idle()));
    }

    /// Closes idle and returning connections; a lent one is closed when it returns.
    pub(super) async fn close(&self) {
        self.permits.close();
        self.returns.close();
        self.returns.wait().await;
        let idle = std::mem::take(&mut *self.idle());
        for connection in idle {
            connection.close().await;
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tidies a connection that a tool has read with, and frees its permit afterwards.
    async fn take_back(self: Arc<Self>, mut connection: Connection, permit: OwnedSemaphorePermit) {
        match within(TIDIED_WITHIN, connection.tidy(&self.settings)).await {
            Ok(()) if !self.permits.is_closed() => self.idle().push(connection),
            Ok(()) => connection.close().await,
            Err(error) => tracing::debug!(%error, "a reading connection is replaced"),
        }
        drop(permit);
    }
}

impl Connection {
    /// Ends what a borrower left, and sets the settings again.
    pub(super) async fn tidy(&mut self, settings: &str) -> sqlx::Result<()> {
        while managed::depth(&self.db) > 0 {
            managed::roll_back(&mut self.db).await?;
        }
        self.db.clear_cached_statements().await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe([TIDY, settings].concat())).execute(&mut self.db).await?;
        self.was_lent = false;
        Ok(())
    }

    pub(super) const fn own<'c>(&'c mut self, keys: &'c SealKeys) -> Own<'c> {
        Own { db: &mut self.db, keys, mark: self.mark.as_str() }
    }

    pub(super) async fn close(self) {
        if let Err(error) = patiently(self.db.close()).await {
            tracing::debug!(%error, "a connection did not close");
        }
    }
}

impl Lent {
    pub(super) fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("a connection is lent until it is given back")
    }

    /// Returns the statements that set the settings of the connection.
    pub(super) fn settings(&self) -> &str {
        &self.pool.settings
    }

    /// Ends what an earlier borrower left.
    pub(super) async fn tidy(&mut self) -> sqlx::Result<()> {
        let Self { connection, pool, .. } = self;
        match connection {
            Some(connection) => connection.tidy(&pool.settings).await,
            None => Ok(()),
        }
    }

    /// Replaces a connection that the server has closed, and forgets the others that were idle.
    pub(super) async fn replace(&mut self) -> sqlx::Result<()> {
        self.connection = None;
        self.was_idle = false;
        self.pool.forget_idle();
        self.connection = Some(self.pool.connect().await?);
        Ok(())
    }

    /// Returns the connection for the store's own statements.
    pub(super) fn own<'c>(&'c mut self, keys: &'c SealKeys) -> Own<'c> {
        self.connection().own(keys)
    }

    /// Gives back a connection on which nothing runs.
    pub(super) fn give_back(mut self) {
        if let Some(connection) = self.connection.take()
            && !self.pool.permits.is_closed()
        {
            self.pool.idle().push(connection);
        }
    }

    /// Closes a connection that failed, and forgets those that were idle meanwhile.
    pub(super) fn give_up(self) {
        self.pool.forget_idle();
    }
}

/// A connection that a tool reads with. Dropping it returns it to the store.
#[derive(Debug)]
pub(super) struct ToolReader(pub(super) Option<Lent>);

impl ToolReader {
    /// Begins a transaction that cannot write. What the tool begins is a savepoint in it.
    pub(super) async fn begin(pool: &Arc<Pool>) -> sqlx::Result<Self> {
        const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY";
        let mut lent = pool.lend().await?;
        let begun = patiently(managed::begin(&mut lent.connection().db, Some(BEGIN))).await;
        if begun.is_err() && lent.was_idle {
            lent.replace().await?;
            patiently(managed::begin(&mut lent.connection().db, Some(BEGIN))).await?;
        } else {
            begun?;
        }
        Ok(Self(Some(lent)))
    }
}

impl Reader for ToolReader {
    fn connection(&mut self) -> &mut (dyn Any + Send) {
        &mut self.0.as_mut().expect("lent until it is dropped").connection().db
    }
}

impl Drop for ToolReader {
    fn drop(&mut self) {
        let Some(mut lent) = self.0.take() else { return };
        let (Some(connection), Some(permit)) = (lent.connection.take(), lent.permit.take()) else {
            return;
        };
        // If no runtime is left to await the end of the statement, the connection is closed.
        if let Ok(runtime) = Handle::try_current() {
            let returned = lent.pool.clone().take_back(connection, permit);
            lent.pool.returns.spawn_on(returned, &runtime);
        }
    }
}
