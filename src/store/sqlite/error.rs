//! The reasons why a database cannot be opened, and what SQLite's errors mean for a write.

use std::{
    error::Error,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use libsqlite3_sys as sqlite;
use madang_actors::port::StoreError;
use sqlx::migrate::MigrateError;

use crate::store::key_file::SealKeyError;

/// A reason why a database cannot be opened. Each message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system refuses to read or write the file.
    #[error("failed to open the database {}; check that its folder exists and that you may write there", path.display())]
    Unusable {
        /// The path of the database.
        path: PathBuf,
        /// The underlying error.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// There is no file to read.
    #[error("there is no database {}; check the path, or begin a chat with it to create it", path.display())]
    Missing {
        /// The path of the database.
        path: PathBuf,
    },
    /// The file has another format, or belongs to another application.
    #[error("{} is not a Madang database; choose another file", path.display())]
    Foreign {
        /// The path of the database.
        path: PathBuf,
    },
    /// A part of the file is missing or overwritten.
    #[error("the database {} is damaged; restore it from a backup, or choose another file", path.display())]
    Damaged {
        /// The path of the database.
        path: PathBuf,
        /// The underlying error.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// A later version of the program changed the tables.
    #[error("the database {} was made by a newer version; use that version to open it", path.display())]
    Newer {
        /// The path of the database.
        path: PathBuf,
    },
    /// The file can be read but not written.
    #[error("the database {} is read-only; make it and its folder writable for you, or choose another file", path.display())]
    ReadOnly {
        /// The path of the database.
        path: PathBuf,
        /// The underlying error.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// A program died while it wrote the file without a log. Only a connection that may write can
    /// undo what it left.
    #[error("the database {} is half written, because a program died meanwhile; begin a chat with it to undo that, and try again", path.display())]
    HalfWritten {
        /// The path of the database.
        path: PathBuf,
        /// The underlying error.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The disk has no room for the tables or the log.
    #[error("the disk is full; make room for the database {}, or choose another file", path.display())]
    Full {
        /// The path of the database.
        path: PathBuf,
        /// The underlying error.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// A program without the store's lock, such as the `sqlite3` shell, is writing the database.
    #[error("the database {} is locked by another program; end that one, and try again", path.display())]
    Locked {
        /// The path of the database.
        path: PathBuf,
        /// The underlying error.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// Another process, or another store of this process, has the database open to write.
    #[error("the database {} is in use by another process or by another store of this one; end that one first, or choose another file", path.display())]
    Held {
        /// The path of the database.
        path: PathBuf,
    },
    /// The file has a second name, a hard link. SQLite would keep a log for each name, and neither
    /// log would be complete.
    #[error("the database {} has more than one name, by a hard link; remove the others, or copy the file", path.display())]
    SeveralNames {
        /// The path of the database.
        path: PathBuf,
    },
    /// The name led to another file while the database was being opened.
    #[error("the database {} was moved or replaced while it was being opened; try again", path.display())]
    Moved {
        /// The path of the database.
        path: PathBuf,
        /// The underlying error.
        #[source]
        cause: std::io::Error,
    },
    /// The lock file belongs to another account, which could lock out every program.
    #[error("the lock file {} is not a file of yours; remove it, or choose another folder", path.display())]
    ForeignLock {
        /// The path of the lock file.
        path: PathBuf,
    },
    /// The tables could not be created, or do not fit this program.
    #[error("failed to prepare the tables of {of} in {}{}", path.display(), what_to_do(migration.as_deref(), cause))]
    Tables {
        /// The path of the database.
        path: PathBuf,
        /// The owner of the tables: the store, a toolkit, or the application under the name that it
        /// chose.
        of: &'static str,
        /// The version and description of the migration at fault, if it is none of the store's own.
        migration: Option<String>,
        /// The underlying error.
        #[source]
        cause: Box<MigrateError>,
    },
    /// The seal keys cannot be read or created.
    #[error(transparent)]
    SealKeys(#[from] SealKeyError),
    /// Approvals in the database are sealed with a key that the program does not have.
    #[error(
        "the database {} was sealed with key {key}, which is not {}; restore the file of its keys, or name it with MADANG_SEAL_KEYS",
        path.display(), searched(keys.as_deref())
    )]
    SealKeyMissing {
        /// The path of the database.
        path: PathBuf,
        /// The newest missing key.
        key: String,
        /// The key file that was searched. `None` if the program passed the keys itself.
        keys: Option<PathBuf>,
    },
    /// SQLite before 3.51.3 may corrupt a database in WAL mode.
    #[error("the program was built with SQLite {found}; build it with 3.51.3 or later")]
    OldSqlite {
        /// The version of SQLite.
        found: String,
    },
}

/// Says which migration of a toolkit or application failed, and what helps. Only a backup restores
/// the store's own tables.
fn what_to_do(migration: Option<&str>, cause: &MigrateError) -> String {
    match (migration, cause) {
        (Some(migration), MigrateError::ExecuteMigration(..)) => format!(
            ": migration {migration} failed; correct it, or restore the database from a backup"
        ),
        (Some(migration), MigrateError::VersionMismatch(_)) => format!(
            ": migration {migration} was changed after it was applied; take the change back, and make it in a new migration"
        ),
        (Some(migration), MigrateError::VersionMissing(_)) => format!(
            ": migration {migration} was applied, and this program does not have it; use a program that does"
        ),
        _ => "; restore it from a backup, or choose another file".to_owned(),
    }
}

fn searched(keys: Option<&Path>) -> String {
    keys.map_or_else(
        || "among those that were given".to_owned(),
        |keys| format!("in {}", keys.display()),
    )
}

/// Returns whether SQLite read damaged pages, or a value that the store never writes.
pub(super) fn is_of_a_damaged_file(error: &sqlx::Error) -> bool {
    matches!(primary(error), Some(sqlite::SQLITE_CORRUPT | sqlite::SQLITE_NOTADB))
        || matches!(error, sqlx::Error::ColumnDecode { .. })
}

impl OpenError {
    /// Translates SQLite's error at opening into advice.
    pub(super) fn of_sql(path: &Path, cause: sqlx::Error) -> Self {
        // A journal has to be played back, and the connection may only read.
        if code(&cause) == Some(sqlite::SQLITE_READONLY_ROLLBACK) {
            return Self::HalfWritten { path: path.to_owned(), cause: cause.into() };
        }
        match WriteFault::kind(&cause) {
            Some(kind) => Self::at_fault(path, kind, cause),
            None if is_of_a_damaged_file(&cause) => {
                Self::Damaged { path: path.to_owned(), cause: cause.into() }
            }
            None => Self::Unusable { path: path.to_owned(), cause: cause.into() },
        }
    }

    /// Builds the error for a known fault.
    pub(super) fn at_fault(
        path: &Path,
        kind: Kind,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let path = path.to_owned();
        let cause = cause.into();
        match kind {
            Kind::Full => Self::Full { path, cause },
            Kind::ReadOnly => Self::ReadOnly { path, cause },
            Kind::Locked => Self::Locked { path, cause },
            Kind::Moved => Self::Moved { path, cause: std::io::Error::other(cause) },
        }
    }

    /// Translates the system's error at opening into advice.
    pub(super) fn of_io(path: &Path, cause: std::io::Error) -> Self {
        let kind = cause.kind();
        if matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
            Self::at_fault(path, Kind::Full, cause)
        } else if kind == ErrorKind::ReadOnlyFilesystem {
            Self::at_fault(path, Kind::ReadOnly, cause)
        } else {
            Self::Unusable { path: path.to_owned(), cause: cause.into() }
        }
    }
}

/// A reason why an open database refuses writes that a person can remove. It is the cause of a
/// [`StoreError::Unavailable`]: nothing of the write was kept, and acknowledged writes are safe.
#[derive(Debug, thiserror::Error)]
#[error("{kind}")]
pub struct WriteFault {
    kind: Kind,
    #[source]
    cause: Box<dyn Error + Send + Sync>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Kind {
    #[error("the disk is full: make room and try again")]
    Full,
    #[error("the database is read-only: make it and its folder writable and try again")]
    ReadOnly,
    #[error("the database is locked by another program: end that one and try again")]
    Locked,
    #[error(
        "the database was moved, replaced or removed: put it back, or end the program and begin again"
    )]
    Moved,
}

impl WriteFault {
    /// Finds the fault among the causes of an error.
    #[must_use]
    pub fn among<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        // Several waiting callers share one cause.
        let shared = error.downcast_ref::<Arc<dyn Error + Send + Sync>>();
        let found = shared.map_or(error, |shared| &**shared);
        found.downcast_ref().or_else(|| Self::among(found.source()?))
    }

    /// Reports that the database's name was removed or leads to another file.
    pub(super) fn moved(cause: std::io::Error) -> StoreError {
        StoreError::unavailable(Self { kind: Kind::Moved, cause: cause.into() })
    }

    pub(super) fn kind(cause: &sqlx::Error) -> Option<Kind> {
        // The index of the log, a file shared by all processes, could not grow.
        if code(cause) == Some(sqlite::SQLITE_IOERR_SHMSIZE) {
            return Some(Kind::Full);
        }
        match primary(cause)? {
            sqlite::SQLITE_FULL => Some(Kind::Full),
            sqlite::SQLITE_READONLY => Some(Kind::ReadOnly),
            sqlite::SQLITE_BUSY => Some(Kind::Locked),
            _ => None,
        }
    }
}

/// Reports that the store refuses writes for this reason.
pub(super) fn unavailable(cause: sqlx::Error) -> StoreError {
    match WriteFault::kind(&cause) {
        Some(kind) => StoreError::unavailable(WriteFault { kind, cause: cause.into() }),
        None => StoreError::unavailable(cause),
    }
}

/// Returns SQLite's extended result code, if the error is SQLite's.
fn code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// Finds SQLite's primary result code, which its extended codes share.
pub(super) fn primary(error: &sqlx::Error) -> Option<i32> {
    code(error).map(|code| code & 0xff)
}

/// Returns whether the statement itself is at fault: it breaks a constraint, or a value is too long
/// or no JSON for SQLite. A veto of the commit hook does not count.
fn is_of_the_statement(error: &sqlx::Error, message: &str) -> bool {
    match primary(error) {
        Some(sqlite::SQLITE_CONSTRAINT) => {
            code(error) != Some(sqlite::SQLITE_CONSTRAINT_COMMITHOOK)
        }
        Some(sqlite::SQLITE_TOOBIG) => true,
        Some(sqlite::SQLITE_ERROR) => message == MALFORMED_JSON,
        _ => false,
    }
}

/// The message of SQLite's JSON functions, under its general error code. They read fewer levels
/// than a value may have.
const MALFORMED_JSON: &str = "malformed JSON";

/// The message of the tables when a user has stored too much.
const TOO_MUCH_STORED: &str = "too much is stored of the user";

/// Interprets a failed statement of a write. A statement at fault is refused and harms no other
/// write; any other error makes the store unavailable.
pub(super) fn of_write(error: sqlx::Error, what: impl FnOnce() -> String) -> StoreError {
    match error.as_database_error() {
        Some(cause) if cause.message() == TOO_MUCH_STORED => StoreError::TooMuchStored,
        Some(cause) if is_of_the_statement(&error, cause.message()) => {
            StoreError::refused(format!("{}: {}", what(), cause.message()))
        }
        Some(_) | None => unavailable(error),
    }
}

/// Interprets a failed `COMMIT`. With the codes listed here, SQLite rolled back, or the store still
/// can. After any other code, such as a disk error, the next start may find the commit in the log.
pub(super) fn of_commit(error: sqlx::Error) -> StoreError {
    match primary(&error) {
        Some(
            sqlite::SQLITE_BUSY
            | sqlite::SQLITE_FULL
            | sqlite::SQLITE_CONSTRAINT
            | sqlite::SQLITE_READONLY
            | sqlite::SQLITE_ERROR,
        ) => unavailable(error),
        Some(_) | None => StoreError::unknown(error),
    }
}
