//! The reasons why a database cannot be opened, and what PostgreSQL's errors mean for a write.

use std::{borrow::Cow, error::Error, path::PathBuf};

use madang_actors::port::StoreError;
use sqlx::{
    migrate::MigrateError,
    postgres::{PgDatabaseError, PgSeverity},
};

use crate::store::key_file::SealKeyError;

/// A reason why a database cannot be opened. Each message says what to do, and none has a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresOpenError {
    /// The URL cannot be read.
    #[error("the URL of the database cannot be read; write it as postgres://user@host/database")]
    Url {
        /// The underlying error.
        #[source]
        cause: sqlx::Error,
    },
    /// No server answers.
    #[error("failed to reach the database {database}; check that its server runs, and the URL")]
    Unreachable {
        /// The host, the port and the name of the database.
        database: String,
        /// The underlying error.
        #[source]
        cause: sqlx::Error,
    },
    /// The server does not accept the user or the password.
    #[error("the server of {database} refuses the user; check user and password in the URL")]
    Denied {
        /// The host, the port and the name of the database.
        database: String,
        /// The underlying error.
        #[source]
        cause: sqlx::Error,
    },
    /// The server has no database of this name.
    #[error("there is no database {database}; create it, or check the URL")]
    Missing {
        /// The host, the port and the name of the database.
        database: String,
    },
    /// The server is older than PostgreSQL 15.
    #[error("the server of {database} has version {found}; use PostgreSQL 15 or later")]
    OldServer {
        /// The host, the port and the name of the database.
        database: String,
        /// The version of the server.
        found: String,
    },
    /// The database does not keep texts as UTF-8.
    #[error("the database {database} keeps texts as {found}; create one with the encoding UTF8")]
    Encoding {
        /// The host, the port and the name of the database.
        database: String,
        /// The encoding of the database.
        found: String,
    },
    /// The server is a standby, which follows another.
    #[error("the server of {database} is a standby; use the primary that it follows")]
    Standby {
        /// The host, the port and the name of the database.
        database: String,
    },
    /// The server, the database or the user was set to read only.
    #[error(
        "the database {database} is set to read only; reset default_transaction_read_only, or use another"
    )]
    ReadOnly {
        /// The host, the port and the name of the database.
        database: String,
    },
    /// Commits would be acknowledged before they are on the disk.
    #[error(
        "the server of {database} leaves synchronous_commit at {found}; let the user of the URL set it to on"
    )]
    NotDurable {
        /// The host, the port and the name of the database.
        database: String,
        /// The value of the setting.
        found: String,
    },
    /// Another process, or another store of this process, writes the database.
    #[error(
        "the database {database} is in use by another process or by another store of this one; end that one first"
    )]
    Held {
        /// The host, the port and the name of the database.
        database: String,
    },
    /// The schema `madang` belongs to another program.
    #[error("the schema madang in {database} is not Madang's; rename it, or use another database")]
    Foreign {
        /// The host, the port and the name of the database.
        database: String,
    },
    /// A later version of the program changed the tables.
    #[error("the tables in {database} were made by a newer version; use that version to open them")]
    Newer {
        /// The host, the port and the name of the database.
        database: String,
    },
    /// The tables were made by another program of this version.
    #[error(
        "the tables in {database} are not those of this program (version {version} differs); use the program that made them"
    )]
    Changed {
        /// The host, the port and the name of the database.
        database: String,
        /// The version that differs.
        version: i32,
    },
    /// The store's own tables could not be created.
    #[error(
        "failed to create the tables of the store in {database}; let the user of the URL create a schema there"
    )]
    Tables {
        /// The host, the port and the name of the database.
        database: String,
        /// The underlying error.
        #[source]
        cause: sqlx::Error,
    },
    /// The tables of a toolkit or the application could not be created, or do not fit.
    #[error("failed to prepare the tables of {of} in {database}; correct its migrations")]
    Migrations {
        /// The host, the port and the name of the database.
        database: String,
        /// The name under which they were added.
        of: &'static str,
        /// The underlying error.
        #[source]
        cause: Box<MigrateError>,
    },
    /// The seal keys cannot be read or created.
    #[error(transparent)]
    SealKeys(#[from] SealKeyError),
    /// Approvals in the database are sealed with a key that the program does not have.
    #[error(
        "the database {database} was sealed with key {key}, which is not {}; restore the file of its keys, or name it with MADANG_SEAL_KEYS",
        keys.as_deref().map_or_else(|| "among those that were given".to_owned(), |keys| format!("in {}", keys.display()))
    )]
    SealKeyMissing {
        /// The host, the port and the name of the database.
        database: String,
        /// The newest missing key.
        key: String,
        /// The key file that was searched. `None` if the program passed the keys itself.
        keys: Option<PathBuf>,
    },
    /// The server failed otherwise.
    #[error("failed to open the database {database}")]
    Unusable {
        /// The host, the port and the name of the database.
        database: String,
        /// The underlying error.
        #[source]
        cause: sqlx::Error,
    },
}

impl PostgresOpenError {
    /// Translates an error at connecting into advice.
    pub(super) fn of_connecting(database: &str, cause: sqlx::Error) -> Self {
        let database = database.to_owned();
        match code(&cause).as_deref() {
            Some("3D000") => Self::Missing { database },
            Some(code) if code.starts_with("28") => Self::Denied { database, cause },
            Some(_) => Self::Unusable { database, cause },
            None => Self::Unreachable { database, cause },
        }
    }

    /// Translates another error at opening.
    pub(super) fn of_sql(database: &str, cause: sqlx::Error) -> Self {
        Self::Unusable { database: database.to_owned(), cause }
    }
}

/// Another process has taken the database over, so nothing is written for it any more.
#[derive(Debug, thiserror::Error)]
#[error("another process has taken the database over: end this one")]
pub(super) struct Fenced(#[source] pub(super) Option<sqlx::Error>);

/// PostgreSQL takes no further statement after one that failed, until the part around it is undone.
pub(super) const ABORTED: &str =
    "an earlier statement of the transaction failed, which undoes all of it";

/// Finds PostgreSQL's five letters of an error. There are none if the server did not answer.
pub(super) fn code(error: &sqlx::Error) -> Option<Cow<'_, str>> {
    error.as_database_error()?.code()
}

/// Returns whether the transaction was aborted by an earlier error.
pub(super) fn is_of_an_aborted_transaction(error: &sqlx::Error) -> bool {
    code(error).as_deref() == Some("25P02")
}

/// Returns whether the statement itself is at fault: it contradicts what is stored, breaks a
/// constraint, or has a value that PostgreSQL cannot keep.
fn is_of_the_statement(code: &str) -> bool {
    matches!(code, "MD003" | "MD007" | "54000") || code.starts_with("22") || code.starts_with("23")
}

/// Interprets a failed statement of a write. A statement at fault is refused and harms no other
/// write; any other error makes the store unavailable.
pub(super) fn of_write(error: sqlx::Error, what: impl FnOnce() -> String) -> StoreError {
    match code(&error).as_deref() {
        Some("MD001") => StoreError::unavailable(Fenced(Some(error))),
        Some(code) if is_of_the_statement(code) => {
            let message = error.as_database_error().map(|error| error.message().to_owned());
            StoreError::refused(format!("{}: {}", what(), message.unwrap_or_default()))
        }
        Some(_) | None => StoreError::unavailable(error),
    }
}

/// Interprets a failed `COMMIT`. An error of the transaction undid it. After the end of the
/// connection or of the server, and with no answer, it may have been committed.
pub(super) fn of_commit(error: sqlx::Error) -> StoreError {
    if is_undone(&error) { StoreError::unavailable(error) } else { StoreError::unknown(error) }
}

fn is_undone(error: &sqlx::Error) -> bool {
    let Some(told) = error.as_database_error() else { return false };
    let severity = told.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::severity);
    let code = told.code().unwrap_or_default();
    let is_doubtful = code.starts_with("08") || code.starts_with("57P0") || code == "40P01";
    matches!(severity, Some(PgSeverity::Error)) && !is_doubtful
}

/// Reports an error whose cause is a text.
pub(super) fn io(what: &'static str) -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::other(Box::<dyn Error + Send + Sync>::from(what)))
}
