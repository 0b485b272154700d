//! What all clones of a store share: its claim, its keys and its connections.

use std::sync::Arc;

use madang_actors::{
    ledger::SealKeys,
    port::{Occupancy, StoreError},
};
use sqlx::postgres::PgConnectOptions;

use super::{
    claim::Claim,
    doubt::Doubt,
    forget,
    own::say,
    pool::{Connection, Lent, LentTo, Pool},
};

/// The state that all clones share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) claim: Claim,
    pub(super) keys: SealKeys,
    pub(super) doubt: Doubt,
    pub(super) writing: Arc<Pool>,
    /// The store's own reading connections, which never wait for a tool.
    pub(super) own: Arc<Pool>,
    pub(super) tools: Arc<Pool>,
    /// The connection for searches. They read much, so they have one of their own and take turns.
    pub(super) searching: Arc<Pool>,
    pub(super) occupancy: Occupancy,
}

/// Transactions that are open at once. The queue before the writers keeps the order of the writes only
/// for one writer.
pub(super) const WRITERS: usize = 1;

/// Connections for the store's own reads: a waking session waits for at most one other.
const OWN_READERS: usize = 2;

impl Shared {
    pub(super) fn new(
        options: &PgConnectOptions,
        claim: Claim,
        keys: SealKeys,
        readers: usize,
        durability: &str,
    ) -> Self {
        let pool = |count, lent_to| Pool::new(options.clone(), count, lent_to, durability);
        Self {
            claim,
            keys,
            doubt: Doubt::default(),
            writing: pool(WRITERS, LentTo::Writers),
            own: pool(OWN_READERS, LentTo::Store),
            tools: pool(readers, LentTo::Tools),
            searching: pool(1, LentTo::Store),
            occupancy: Occupancy::default(),
        }
    }

    pub(super) async fn own_reader(&self) -> Result<Lent, StoreError> {
        self.reader_of(&self.own).await
    }

    pub(super) async fn reader_of(&self, pool: &Arc<Pool>) -> Result<Lent, StoreError> {
        self.settle_doubts().await?;
        pool.lend().await.map_err(StoreError::unavailable)
    }

    /// Waits for commits whose result is not known, before the ledger is read.
    async fn settle_doubts(&self) -> Result<(), StoreError> {
        if !self.doubt.is_there() {
            return Ok(());
        }
        let connect = async || self.connect_to_write().await;
        self.doubt.pass(connect, &self.keys, self.claim.node).await
    }

    /// Opens a connection beside the pool, once this process is known to have the database.
    async fn connect_to_write(&self) -> Result<Connection, StoreError> {
        self.claim.confirm().await?;
        self.writing.connect().await.map_err(StoreError::unavailable)
    }

    /// Lends a connection that writes, once this process is known to have the database.
    pub(super) async fn writer(&self) -> Result<Lent, StoreError> {
        self.settle_doubts().await?;
        let lent = self.writing.lend().await.map_err(StoreError::unavailable)?;
        if !lent.was_idle {
            self.claim.confirm().await?;
        }
        Ok(lent)
    }

    /// Clears the rows that were erased out of the tables.
    pub(super) async fn vacuum(&self) -> Result<(), StoreError> {
        let mut connection = self.connect_to_write().await?;
        let settings = "SET statement_timeout = 0; SET default_transaction_read_only = off";
        let vacuum = async {
            say(&mut connection.db, settings.to_owned()).await?;
            // On a large database this takes longer than any other statement.
            sqlx::raw_sql(forget::VACUUM).execute(&mut connection.db).await
        };
        vacuum.await.map_err(StoreError::unavailable)?;
        connection.close().await;
        Ok(())
    }
}
