//! The reasons why the repository refuses: a broken rule, or a failure of the database.
use super::super::rules::NotesViolation;

/// Why the repository did not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotesError {
    /// A rule is broken.
    #[error(transparent)]
    Rule(#[from] NotesViolation),
    /// The database failed.
    #[error("failed to {doing}")]
    Database {
        /// What the repository was doing.
        doing: &'static str,
        /// The error of the database.
        #[source]
        cause: sqlx::Error,
    },
    /// A row is not as the toolkit writes it.
    #[error("failed to read {what}: it is not as it was written")]
    Corrupt {
        /// The unreadable value.
        what: &'static str,
    },
}

/// Takes an error of SQLite for one of beginning or ending a savepoint.
impl From<sqlx::Error> for NotesError {
    fn from(cause: sqlx::Error) -> Self {
        Self::Database { doing: "keep a part of the transaction", cause }
    }
}

/// Turns an error of the database into the rule that a table found broken, or into a failure of
/// this work.
pub(super) fn failed_to(doing: &'static str) -> impl FnOnce(sqlx::Error) -> NotesError {
    move |cause| {
        let message = cause.as_database_error().map(|error| error.message()).unwrap_or_default();
        let rule = message.rsplit(' ').next().unwrap_or_default();
        let violation = match rule {
            "too_deep" => NotesViolation::TooDeep,
            "cycle" => NotesViolation::Cycle,
            "page_full" => NotesViolation::PageFull,
            "too_long" => NotesViolation::LongContent,
            "newline" => NotesViolation::Newline,
            _ => return NotesError::Database { doing, cause },
        };
        NotesError::Rule(violation)
    }
}
