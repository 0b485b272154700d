//! Why a database cannot be opened, and what SQLite's own errors mean for a write.

use std::{
    error::Error,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use madang_actors::port::StoreError;
use sqlx::migrate::MigrateError;

use super::{key_file::SealKeyError, writer::ControlError};

/// Why a database cannot be opened. Each sentence says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system refuses to read or write there.
    #[error("failed to open the database {}; check that its folder exists and that you may write there", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// There is nothing to read.
    #[error("there is no database {}; check the path, or begin a chat with it to create it", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else, or another application's database.
    #[error("{} is not a Madang database; choose another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A part of the file is missing, or is something else.
    #[error("the database {} is damaged; restore it from a backup, or choose another file", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// A later version of the program has changed the tables.
    #[error("the database {} was made by a newer version; use that version to open it", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// It can be read and not be written.
    #[error("the database {} is read-only; make it and its folder writable for you, or choose another file", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// There is no room for its tables or its log.
    #[error("the disk is full; make room for the database {}, or choose another file", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// A program that does not know our lock, such as the shell of SQLite, is writing it.
    #[error("the database {} is locked by another program; end that one, and try again", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// Another process, or another store of this one, holds it for writing.
    #[error("the database {} is in use by another process; end that one first, or choose another file", path.display())]
    Held {
        /// The file.
        path: PathBuf,
    },
    /// The file has a second name, by a hard link: SQLite would keep a log beside each, and neither would be whole.
    #[error("the database {} has more than one name, by a hard link; remove the others, or copy the file", path.display())]
    SeveralNames {
        /// The file.
        path: PathBuf,
    },
    /// Another file came to have the name while the database was being opened.
    #[error("the database {} was moved or replaced while it was being opened; try again", path.display())]
    Moved {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// The lock file belongs to another account, which could keep every program out of the database.
    #[error("the lock file {} is no file of yours; remove it, or choose another folder", path.display())]
    ForeignLock {
        /// The lock file.
        path: PathBuf,
    },
    /// The tables could not be made or do not fit to this program.
    #[error("failed to prepare the tables of {of} in {}; restore it from a backup, or choose another file", path.display())]
    Tables {
        /// The file.
        path: PathBuf,
        /// Whose tables.
        of: &'static str,
        /// The cause.
        #[source]
        cause: Box<MigrateError>,
    },
    /// The keys of its seals cannot be read or made.
    #[error("failed to get the seal keys of the database {}", path.display())]
    SealKeys {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: SealKeyError,
    },
    /// What persons decided there was sealed with other keys than those that were given.
    #[error(
        "the database {} was sealed with key {key}, which is not {}; restore the file of its keys, or name it with MADANG_SEAL_KEYS",
        path.display(), place(keys.as_deref())
    )]
    SealKeyMissing {
        /// The file.
        path: PathBuf,
        /// The newest key that is missing.
        key: String,
        /// Where keys were looked for; `None` where they were given.
        keys: Option<PathBuf>,
    },
    /// SQLite before 3.51.3 may corrupt a database in WAL mode.
    #[error("the program was built with SQLite {found}; build it with 3.51.3 or later")]
    OldSqlite {
        /// The version that was found.
        found: String,
    },
}

fn place(keys: Option<&Path>) -> String {
    keys.map_or_else(
        || "among those that were given".to_owned(),
        |keys| format!("in {}", keys.display()),
    )
}

/// What SQLite read is no part of a database, or no value as the store writes it there.
pub(super) fn is_of_a_damaged_file(error: &sqlx::Error) -> bool {
    let code = ResultCode::of(error).map(ResultCode::primary);
    matches!(code, Some(ResultCode::CORRUPT | ResultCode::NOT_A_DATABASE))
        || matches!(error, sqlx::Error::ColumnDecode { .. })
}

impl OpenError {
    /// What SQLite's error means for a program that opens this file.
    pub(super) fn of_sql(path: &Path, cause: sqlx::Error) -> Self {
        match WriteFault::kind(&cause) {
            Some(kind) => Self::at_fault(path, kind, cause),
            None if is_of_a_damaged_file(&cause) => {
                Self::Damaged { path: path.to_owned(), cause: cause.into() }
            }
            None => Self::Unusable { path: path.to_owned(), cause: cause.into() },
        }
    }

    /// The fault is known.
    pub(super) fn at_fault(
        path: &Path,
        kind: Kind,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let (path, cause) = (path.to_owned(), cause.into());
        match kind {
            Kind::Full => Self::Full { path, cause },
            Kind::ReadOnly => Self::ReadOnly { path, cause },
            Kind::Locked => Self::Locked { path, cause },
            Kind::Moved => Self::Moved { path, cause: std::io::Error::other(cause) },
        }
    }

    /// The name does not lead to the file that was locked.
    pub(super) fn moved(path: &Path, cause: std::io::Error) -> Self {
        Self::Moved { path: path.to_owned(), cause }
    }

    /// What the system's error means.
    pub(super) fn of_io(path: &Path, cause: std::io::Error) -> Self {
        let path = path.to_owned();
        let kind = cause.kind();
        let cause = cause.into();
        if matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
            Self::Full { path, cause }
        } else if kind == ErrorKind::ReadOnlyFilesystem {
            Self::ReadOnly { path, cause }
        } else {
            Self::Unusable { path, cause }
        }
    }
}

/// Why an open database does not take writes, where a person can do something about it. The cause of a
/// [`StoreError::Unavailable`]: nothing of the write was kept, and what was acknowledged before is safe.
#[derive(Debug, thiserror::Error)]
#[error("{}", kind.words())]
pub struct WriteFault {
    kind: Kind,
    #[source]
    cause: Box<dyn Error + Send + Sync>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Full,
    ReadOnly,
    Locked,
    Moved,
}

impl Kind {
    const fn words(self) -> &'static str {
        match self {
            Self::Full => "the disk is full: make room and try again",
            Self::ReadOnly => {
                "the database is read-only: make it and its folder writable and try again"
            }
            Self::Locked => "the database is locked by another program: end that one and try again",
            Self::Moved => {
                "the database was moved, replaced or removed: put it back, or end the program and begin again"
            }
        }
    }
}

impl WriteFault {
    /// The fault among the causes of an error, if it comes from any.
    #[must_use]
    pub fn among<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        // What several wait for is told to each, so the cause is shared.
        let shared = error.downcast_ref::<Arc<dyn Error + Send + Sync>>();
        let found = shared.map_or(error, |shared| &**shared);
        found.downcast_ref().or_else(|| Self::among(found.source()?))
    }

    /// The file has lost its name.
    pub(super) fn moved(cause: std::io::Error) -> StoreError {
        StoreError::unavailable(Self { kind: Kind::Moved, cause: cause.into() })
    }

    pub(super) fn kind(cause: &sqlx::Error) -> Option<Kind> {
        let code = ResultCode::of(cause)?;
        if code == ResultCode::NO_ROOM_FOR_THE_INDEX {
            return Some(Kind::Full);
        }
        match code.primary() {
            ResultCode::FULL => Some(Kind::Full),
            ResultCode::READONLY => Some(Kind::ReadOnly),
            ResultCode::BUSY => Some(Kind::Locked),
            _ => None,
        }
    }
}

/// The store does not take writes, for this reason.
pub(super) fn unavailable(error: impl Into<ControlError>) -> StoreError {
    match error.into() {
        ControlError::Ended(error) => StoreError::unavailable(error),
        ControlError::Sql(cause) => match WriteFault::kind(&cause) {
            Some(kind) => StoreError::unavailable(WriteFault { kind, cause: cause.into() }),
            None => StoreError::unavailable(cause),
        },
    }
}

/// The end of the chain of causes that SQLite knows: its primary and extended result code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResultCode(i32);

impl ResultCode {
    pub(super) const READONLY: i32 = 8;
    const BUSY: i32 = 5;
    const CORRUPT: i32 = 11;
    const FULL: i32 = 13;
    const CONSTRAINT: i32 = 19;
    const TOO_BIG: i32 = 18;
    const ERROR: i32 = 1;
    pub(super) const NOT_A_DATABASE: i32 = 26;
    const VETOED: i32 = 531;
    /// The index of the log, a file that all processes share, could not grow (`SQLITE_IOERR_SHMSIZE`).
    const NO_ROOM_FOR_THE_INDEX: Self = Self(4_874);

    /// The code of an error, if SQLite gave it.
    pub(super) fn of(error: &sqlx::Error) -> Option<Self> {
        error.as_database_error()?.code()?.parse().ok().map(Self)
    }

    /// The part that all its extended codes share.
    pub(super) const fn primary(self) -> i32 {
        self.0 & 0xff
    }

    /// The statement itself cannot be done: a constraint of the tables said no, a value is too long for SQLite, or one is
    /// no JSON to it. A veto of the commit hook is none of these.
    fn is_of_the_statement(self, message: &str) -> bool {
        match self.primary() {
            Self::CONSTRAINT => self.0 != Self::VETOED,
            Self::TOO_BIG => true,
            Self::ERROR => message == MALFORMED_JSON,
            _ => false,
        }
    }
}

/// What SQLite's JSON functions say, under its code for any error. They read fewer levels than a value may have.
const MALFORMED_JSON: &str = "malformed JSON";

/// What the tables say where a user has too much stored.
const TOO_MUCH_STORED: &str = "too much is stored of the user";

/// What a failed statement of a write means: where the statement itself cannot be done it is a refusal, which is of this
/// write and no other; everything else is a store that cannot be used.
pub(super) fn of_write(error: sqlx::Error, what: impl FnOnce() -> String) -> StoreError {
    let code = ResultCode::of(&error);
    match error.as_database_error() {
        Some(cause) if cause.message() == TOO_MUCH_STORED => StoreError::TooMuchStored,
        Some(cause) if code.is_some_and(|code| code.is_of_the_statement(cause.message())) => {
            StoreError::refused(format!("{}: {}", what(), cause.message()))
        }
        Some(_) | None => unavailable(error),
    }
}

/// What a failed `COMMIT` means. After these codes SQLite has rolled back or still holds the transaction, which is then
/// rolled back; after any other, such as an error of the disk, the next start may find the commit in the log.
pub(super) fn of_commit(error: sqlx::Error) -> StoreError {
    let surely_not = [
        ResultCode::BUSY,
        ResultCode::FULL,
        ResultCode::CONSTRAINT,
        ResultCode::READONLY,
        ResultCode::ERROR,
    ];
    match ResultCode::of(&error) {
        Some(code) if surely_not.contains(&code.primary()) => unavailable(error),
        Some(_) | None => StoreError::unknown(error),
    }
}
