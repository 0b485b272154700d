//! Options of a PostgreSQL store, and how it is opened with them.

use std::{path::PathBuf, sync::Arc};

use madang_actors::ledger::SealKeys;
use sqlx::{ConnectOptions as _, PgConnection, migrate::Migrator, postgres::PgConnectOptions};

use super::{
    PostgresOpenError, PostgresStore, claim::Claim, own::patiently, schema, server, shared::Shared,
};
use crate::store::{
    key_file::SealKeyFile,
    keys::{Keys, NoKeys},
};

/// Options of a [`PostgresStore`].
#[derive(Debug)]
#[must_use]
pub struct PostgresOptions {
    url: String,
    migrations: Vec<(&'static str, &'static Migrator)>,
    readers: usize,
    keys: Keys,
}

/// Reading connections for tools: one for each core of a small server.
const READERS: usize = 4;

/// Prepared statements that a connection keeps: the store's own and those of a few toolkits.
const STATEMENTS: usize = 256;

impl PostgresOptions {
    pub(super) const fn of(url: String) -> Self {
        Self { url, migrations: Vec::new(), readers: READERS, keys: Keys::Usual }
    }

    /// Uses these keys, instead of those of a file, to seal approvals and owners. Pass the same keys at
    /// each opening, and keep them away from the database.
    pub fn seal_keys(mut self, keys: SealKeys) -> Self {
        self.keys = Keys::Given(keys);
        self
    }

    /// Keeps the keys in this file instead of the usual one ([`SealKeyFile::usual`]). If the file does
    /// not exist, it is created, unless the database is already sealed.
    pub fn seal_key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.keys = Keys::File(SealKeyFile::at(path));
        self
    }

    /// Adds tables of a toolkit or the application, which are created after the store's own. Each
    /// migrator needs a table of versions of its own; at most one may use `_sqlx_migrations`. Error
    /// messages show the name.
    pub fn migrations(mut self, name: &'static str, migrator: &'static Migrator) -> Self {
        self.migrations.push((name, migrator));
        self
    }

    /// Sets how many reading tools may use the database at once. The store's own reads never wait for
    /// them.
    pub const fn readers(mut self, count: usize) -> Self {
        self.readers = count;
        self
    }

    /// Opens the database to write, and creates the tables that are missing. One process at a time has
    /// a database.
    ///
    /// # Errors
    /// [`PostgresOpenError`] says in one sentence what to do.
    pub async fn open(self) -> Result<PostgresStore, PostgresOpenError> {
        let options: PgConnectOptions =
            self.url.parse().map_err(|cause| PostgresOpenError::Url { cause })?;
        let options = options.statement_cache_capacity(STATEMENTS).application_name("madang");
        let database = server::name_of(&options);
        let mut db = connect(&options, &database).await?;
        server::must_fit(&mut db, &database).await?;
        Claim::lock(&mut db, &database).await?;
        let durability = server::durability(&mut db, &database).await?;
        schema::prepare(&mut db, &database).await?;
        self.migrate_others(&options, &database).await?;
        let keys = self.sealed_with(&mut db, &database).await?;
        let claim = Claim::all_users(db, options.clone()).await;
        let claim = claim.map_err(|cause| PostgresOpenError::of_sql(&database, cause))?;
        let shared = Shared::new(&options, claim, keys, self.readers, &durability);
        Ok(PostgresStore(Arc::new(shared)))
    }

    /// Creates other tables on a connection of their own, which ends with them.
    async fn migrate_others(
        &self,
        options: &PgConnectOptions,
        database: &str,
    ) -> Result<(), PostgresOpenError> {
        if self.migrations.is_empty() {
            return Ok(());
        }
        let mut db = connect(options, database).await?;
        schema::migrate_others(&mut db, database, &self.migrations).await
    }

    /// Finds the keys that sealed the database, or fresh ones if nothing is sealed yet, and notes the
    /// newest.
    async fn sealed_with(
        &self,
        db: &mut PgConnection,
        database: &str,
    ) -> Result<SealKeys, PostgresOpenError> {
        let unusable = |cause| PostgresOpenError::of_sql(database, cause);
        let known = sqlx::query_scalar("SELECT key FROM madang.seal_keys ORDER BY since DESC, key");
        let known: Vec<String> = patiently(known.fetch_all(&mut *db)).await.map_err(unusable)?;
        let found = self.keys.of_database(database, &known).map_err(|none| match none {
            NoKeys::Unusable(error) => error.into(),
            NoKeys::Missing { key, keys } => {
                PostgresOpenError::SealKeyMissing { database: database.to_owned(), key, keys }
            }
        })?;
        if let Some(newest) = found.ids().next() {
            let note = sqlx::query(
                "INSERT INTO madang.seal_keys (key, since) VALUES ($1, extract(epoch FROM now())::bigint) ON CONFLICT DO NOTHING",
            );
            patiently(note.bind(newest.to_string()).execute(db)).await.map_err(unusable)?;
        }
        Ok(found)
    }
}

async fn connect(
    options: &PgConnectOptions,
    database: &str,
) -> Result<PgConnection, PostgresOpenError> {
    let connected = patiently(options.connect()).await;
    connected.map_err(|cause| PostgresOpenError::of_connecting(database, cause))
}
