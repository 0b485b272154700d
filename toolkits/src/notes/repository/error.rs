//! Why the repository did not do what was asked: a rule, or the database.
use super::super::rules::NotesViolation;

/// Why the repository did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    /// A rule does not hold.
    #[error(transparent)]
    Rule(#[from] NotesViolation),
    /// The database failed.
    #[error("failed to {doing}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// The cause.
        #[source]
        cause: sqlx::Error,
    },
    /// A row contradicts what the toolkit writes.
    #[error("failed to read {what}: it is not as it was written")]
    Corrupt {
        /// What.
        what: &'static str,
    },
}

/// A savepoint could not be begun or ended.
impl From<sqlx::Error> for NotesError {
    fn from(cause: sqlx::Error) -> Self {
        Self::Database { doing: "keep a part of the transaction", cause }
    }
}

/// Tells a rule that a table found broken from a failure of the database.
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
