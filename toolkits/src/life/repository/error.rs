//! The reasons why the repository refuses: a broken rule, or a failure of the database.
use super::super::{habit::HabitType, rules::LifeViolation};

/// Why the repository did not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HabitError {
    /// A rule is broken.
    #[error(transparent)]
    Rule(#[from] LifeViolation),
    /// The database failed.
    #[error("failed to {doing}")]
    Database {
        /// What the repository was doing.
        doing: &'static str,
        /// The error of the database.
        #[source]
        cause: sqlx::Error,
    },
    /// A row of the table contradicts its own constraints.
    #[error("failed to read habit {id}: its row is not valid")]
    Corrupt {
        /// The number of the habit.
        id: i64,
    },
}

pub(super) fn failed_to(doing: &'static str) -> impl FnOnce(sqlx::Error) -> HabitError {
    move |cause| HabitError::Database { doing, cause }
}

/// Turns an error of the database into the rule that a table found broken, if it did. Without a
/// transaction around both, another writer may take the last place between check and write.
pub(super) fn refused_by_table(
    cause: sqlx::Error,
    habit_type: HabitType,
    doing: &'static str,
) -> HabitError {
    let message = cause.as_database_error().map(|error| error.message()).unwrap_or_default();
    let violation = if message == "r3_quota" {
        LifeViolation::Quota { habit_type }
    } else if message.ends_with(": r3_frame") {
        LifeViolation::Frame
    } else if message.ends_with(": r8_xor") {
        LifeViolation::Origin
    } else {
        return HabitError::Database { doing, cause };
    };
    HabitError::Rule(violation)
}
