//! Options of a SQLite store, and how it is opened with them.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use libsqlite3_sys as sqlite;
use madang_actors::{ledger::SealKeys, port::BoxFuture};
use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    migrate::Migrator,
    sqlite::{SqliteConnectOptions, SqliteSynchronous},
};

use super::{
    OpenError, database_file, error,
    inspect::{self, Found, Sharing},
    lock::Lock,
    private, readers, schema,
    store::{Claim, Shared, SqliteStore},
    temporary::TemporaryFolder,
    writer::{self, Writer},
};
use crate::store::{
    files::beside,
    key_file::{SealKeyError, SealKeyFile},
    keys::{Keys, NoKeys},
};

/// Options of a [`SqliteStore`]. Awaiting them opens it.
#[derive(Debug)]
pub struct SqliteOptions {
    location: Location,
    migrations: Vec<(&'static str, &'static Migrator)>,
    sharing: Sharing,
    readers: usize,
    writer: Option<Change>,
    busy_timeout: Duration,
    keys: Keys,
}

/// A change of the options of the writing connection.
type Change = fn(SqliteConnectOptions) -> SqliteConnectOptions;

/// The location of the database.
#[derive(Debug)]
pub(super) enum Location {
    File(PathBuf),
    Memory,
}

/// Reading connections for tools: one for each core of a small server.
const READERS: usize = 4;

/// Opens the database to write, and creates it if it is missing. [`OpenError`] says in one sentence
/// what to do. The file is unchanged then, unless creating the tables failed.
impl IntoFuture for SqliteOptions {
    type Output = Result<SqliteStore, OpenError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.open())
    }
}

impl SqliteOptions {
    pub(super) const fn at(location: Location) -> Self {
        Self {
            location,
            migrations: Vec::new(),
            sharing: Sharing::Alone,
            readers: READERS,
            writer: None,
            busy_timeout: super::BUSY_TIMEOUT,
            keys: Keys::Usual,
        }
    }

    /// Uses these keys, instead of those of a file, to seal approvals and owners. Pass the same
    /// keys at each opening, and keep them away from the database.
    #[must_use]
    pub fn seal_keys(mut self, keys: SealKeys) -> Self {
        self.keys = Keys::Given(keys);
        self
    }

    /// Keeps the keys in this file instead of the usual one ([`SealKeyFile::usual`]). If the file
    /// does not exist, it is created, unless the database is already sealed.
    #[must_use]
    pub fn seal_key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.keys = Keys::File(SealKeyFile::at(path));
        self
    }

    /// Adds tables of a toolkit or the application, which are created after the store's own. Each
    /// migrator needs a table of versions of its own; at most one may use `_sqlx_migrations`. Error
    /// messages show the name.
    #[must_use]
    pub fn migrations(mut self, name: &'static str, migrator: &'static Migrator) -> Self {
        self.migrations.push((name, migrator));
        self
    }

    /// Shares the file with the application, which may already have tables there. Otherwise the
    /// store refuses a file that has tables but none of its own.
    #[must_use]
    pub const fn shared_with_embedder(mut self) -> Self {
        self.sharing = Sharing::WithEmbedder;
        self
    }

    /// Sets how many reading tools may use the database at once. The store's own reads never wait
    /// for them.
    #[must_use]
    pub const fn readers(mut self, count: usize) -> Self {
        self.readers = count;
        self
    }

    /// Sets how long a statement waits for a program without the store's lock, such as a backup.
    /// The default is five seconds. All writers wait for as long.
    #[must_use]
    pub const fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Changes the writing connection, for proofs. The store's promises hold only with its own
    /// options.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub const fn writer(mut self, change: Change) -> Self {
        self.writer = Some(change);
        self
    }

    async fn open(mut self) -> Result<SqliteStore, OpenError> {
        match &self.location {
            Location::File(path) => {
                let path =
                    database_file::resolved(path).map_err(|cause| OpenError::of_io(path, cause))?;
                let found = inspect::file(&path)?;
                let lock = Lock::take(&path)?;
                if let Err(error) = self.must_fit(&path, found).await {
                    lock.leave_no_trace();
                    return Err(error);
                }
                private::tighten(&path, self.sharing);
                let options = writer::connect_options(&path).busy_timeout(self.busy_timeout);
                let options = self.writer.unwrap_or(|options| options)(options);
                self.open_at(&path, options, Claim { lock, _folder: None }).await
            }
            Location::Memory => {
                let path = PathBuf::from("in memory");
                let folder =
                    TemporaryFolder::new().map_err(|cause| OpenError::of_io(&path, cause))?;
                let path = folder.path().join("madang.db");
                let lock = Lock::take(&path)?;
                // Approvals in a temporary database end with it, so it needs no lasting key.
                if let Keys::Usual = self.keys {
                    let keys = SealKeys::for_this_process();
                    self.keys = Keys::Given(keys.map_err(SealKeyError::from)?);
                }
                // The database ends with the process, so it need not survive a power cut.
                let options = writer::connect_options(&path).synchronous(SqliteSynchronous::Off);
                self.open_at(&path, options, Claim { lock, _folder: Some(folder) }).await
            }
        }
    }

    /// Opens the locked database, creates its tables and finds its keys.
    async fn open_at(
        self,
        path: &Path,
        options: SqliteConnectOptions,
        claim: Claim,
    ) -> Result<SqliteStore, OpenError> {
        let unusable = |cause| OpenError::of_sql(path, cause);
        let mut db = connect(path, &options).await?;
        // The name led to the locked file before SQLite opened it and still does, so SQLite has
        // that file.
        let moved = |cause| OpenError::Moved { path: path.to_owned(), cause };
        claim.lock.file().must_be_there().map_err(moved)?;
        inspect::tables(path, &mut db, Sharing::WithEmbedder).await?;
        // SQLite opens an unwritable file to read without an error, and even begins an immediate
        // transaction.
        let probe = "BEGIN IMMEDIATE; CREATE TABLE madang_probe (id); ROLLBACK";
        sqlx::query(probe).execute(&mut db).await.map_err(unusable)?;
        schema::migrate(path, &mut db, &self.migrations).await?;
        let keys = sealed_with(&self.keys, path, &mut db).await?;
        let writer = Writer::new(db, keys.clone()).await.map_err(unusable)?;
        let reading = readers::connect_options(path);
        let shared = Shared::writing(options, writer, claim, reading, self.readers, keys);
        Ok(SqliteStore(Arc::new(shared)))
    }

    /// Refuses another application's database and tables that do not fit, before anything is
    /// changed.
    async fn must_fit(&self, path: &Path, found: Found) -> Result<(), OpenError> {
        if found == Found::Nothing {
            return Ok(());
        }
        not_another_kind(path).await?;
        // With a read-only connection SQLite would not remove its log and index.
        let options = SqliteConnectOptions::new().filename(path).busy_timeout(self.busy_timeout);
        let mut db = connect(path, &options).await?;
        let looked = async {
            inspect::tables(path, &mut db, self.sharing).await?;
            schema::rehearse(path, &mut db, &self.migrations).await
        };
        let looked = looked.await;
        close(db).await;
        looked
    }

    /// Opens the database to read, while another store may write it. Takes no lock and creates no
    /// tables.
    ///
    /// # Errors
    /// [`OpenError`] says in one sentence what to do.
    pub async fn open_read_only(self) -> Result<SqliteStore, OpenError> {
        let Location::File(path) = self.location else {
            return Err(OpenError::Missing { path: PathBuf::from("in memory") });
        };
        let path = match database_file::resolved(&path) {
            Ok(path) => path,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(OpenError::Missing { path });
            }
            Err(cause) => return Err(OpenError::of_io(&path, cause)),
        };
        if inspect::file(&path)? == Found::Nothing {
            return Err(OpenError::Missing { path });
        }
        not_another_kind(&path).await?;
        let mut options = readers::connect_options(&path);
        let mut db = match connect(&path, &options).await {
            // The folder cannot be written and no writer has it open: the file alone holds
            // everything.
            Err(OpenError::Unusable { .. } | OpenError::ReadOnly { .. })
                if !beside(&path, "-wal").exists() =>
            {
                options = options.immutable(true);
                connect(&path, &options).await?
            }
            other => other?,
        };
        inspect::tables(&path, &mut db, self.sharing).await?;
        if !inspect::has_tables(&path, &mut db).await? {
            return Err(OpenError::Foreign { path });
        }
        close(db).await;
        // Without keys a reader works, but checks no seals.
        let keys = self.keys.read().unwrap_or_else(|error| {
            tracing::warn!(error = &error as &dyn std::error::Error, "seals are not checked");
            None
        });
        let keys = keys.unwrap_or_default();
        Ok(SqliteStore(Arc::new(Shared::read_only(options, self.readers, keys))))
    }
}

/// Refuses a file that is not a database. Opened normally, SQLite would claim and remove the files
/// beside it; opened as immutable, it touches nothing.
async fn not_another_kind(path: &Path) -> Result<(), OpenError> {
    match connect(path, &readers::connect_options(path).immutable(true)).await {
        Ok(db) => close(db).await,
        Err(foreign @ OpenError::Foreign { .. }) => return Err(foreign),
        Err(_) => {}
    }
    Ok(())
}

/// Finds the keys that sealed the database, or fresh ones if nothing is sealed yet, and notes the
/// newest.
async fn sealed_with(
    keys: &Keys,
    path: &Path,
    db: &mut SqliteConnection,
) -> Result<SealKeys, OpenError> {
    let unusable = |cause| OpenError::of_sql(path, cause);
    let sealed = "SELECT key FROM madang_seal_keys ORDER BY since DESC, key";
    let known: Vec<String> =
        sqlx::query_scalar(sealed).fetch_all(&mut *db).await.map_err(unusable)?;
    let found =
        keys.of_database(&path.display().to_string(), &known).map_err(|none| match none {
            NoKeys::Unusable(error) => error.into(),
            NoKeys::Missing { key, keys } => {
                OpenError::SealKeyMissing { path: path.to_owned(), key, keys }
            }
        })?;
    if let Some(newest) = found.ids().next() {
        let note = "INSERT INTO madang_seal_keys (key, since) VALUES ($1, unixepoch()) ON CONFLICT DO NOTHING";
        let noted = sqlx::query(note).bind(newest.to_string()).execute(db).await;
        noted.map_err(unusable)?;
    }
    Ok(found)
}

async fn connect(
    path: &Path,
    options: &SqliteConnectOptions,
) -> Result<SqliteConnection, OpenError> {
    let looked = async {
        let mut db = options.connect().await?;
        // SQLite reads the file only with the first query.
        sqlx::query("SELECT count(*) FROM sqlite_schema").execute(&mut db).await?;
        Ok(db)
    };
    looked.await.map_err(|cause: sqlx::Error| match error::primary(&cause) {
        Some(sqlite::SQLITE_NOTADB) => OpenError::Foreign { path: path.to_owned() },
        Some(_) | None => OpenError::of_sql(path, cause),
    })
}

async fn close(db: SqliteConnection) {
    if let Err(error) = db.close().await {
        tracing::debug!(%error, "a connection did not close");
    }
}
