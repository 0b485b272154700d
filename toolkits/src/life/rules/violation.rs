//! A broken rule, with a code for the model and the English reason for a person. The Korean one is
//! in `texts`.
use jiff::civil::Date;

use super::super::habit::{HabitId, HabitType, TrackerValue, quota_of};

/// A broken rule. Its `Display` is the English reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LifeViolation {
    /// R1 and R2: the user has as many active habits of this type as allowed.
    #[error("{}", full(*habit_type))]
    Quota {
        /// The type that is full.
        habit_type: HabitType,
    },
    /// R3: the frame is a duty or an avoidance.
    #[error("The frame must be L2 (approach) or L3 (identity).")]
    Frame,
    /// R7: the framed text says what to avoid.
    #[error("Say what you want to do instead of avoiding something (found '{found}').")]
    Avoidance {
        /// The wording of the list that was found.
        found: &'static str,
    },
    /// R8: none or several of protocol, break protocol and diet pattern are given.
    #[error("Choose exactly one of protocol, break protocol and diet pattern.")]
    Origin,
    /// R5: the day has an entry with another value.
    #[error("{date} is already recorded as {} and cannot be changed.", recorded.as_str())]
    Duplicate {
        /// The day that has an entry already.
        date: Date,
        /// The recorded value.
        recorded: TrackerValue,
    },
    /// The day has no entry to correct.
    #[error("There is no record for {date} to correct.")]
    NoEntry {
        /// The day without an entry.
        date: Date,
    },
    /// R5: the value is neither done nor blank.
    #[error("The value must be done or blank.")]
    Value,
    /// The date is not a calendar date of the form YYYY-MM-DD.
    #[error("The date must have the form YYYY-MM-DD.")]
    Date,
    /// The date has not come yet.
    #[error("{date} has not come yet; today is {today}.")]
    FutureDate {
        /// The day that was given.
        date: Date,
        /// The person's today.
        today: Date,
    },
    /// A required text is blank.
    #[error("{field} must not be blank.")]
    BlankText {
        /// The name of the field.
        field: &'static str,
    },
    /// A text has a control character, such as a line break.
    #[error("{field} must have no line breaks and no control characters.")]
    ControlText {
        /// The name of the field.
        field: &'static str,
    },
    /// A text is too long.
    #[error("{field} may have at most {max} characters.")]
    LongText {
        /// The name of the field.
        field: &'static str,
        /// The most characters.
        max: usize,
    },
    /// The catalogue has no such item.
    #[error("The catalogue has no such item.")]
    UnknownItem {
        /// The given id.
        id: String,
    },
    /// The user has no such habit. Another user's habit looks the same.
    #[error("There is no habit number {id}.")]
    UnknownHabit {
        /// The given number.
        id: HabitId,
    },
}

impl LifeViolation {
    /// Returns the code that the model reads.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Quota { .. } => "r3_quota",
            Self::Frame => "r3_frame",
            Self::Avoidance { .. } => "r7_avoidance",
            Self::Origin => "r8_xor",
            Self::Duplicate { .. } => "r5_duplicate",
            Self::Value
            | Self::Date
            | Self::FutureDate { .. }
            | Self::BlankText { .. }
            | Self::ControlText { .. }
            | Self::LongText { .. } => "validation",
            Self::UnknownItem { .. } | Self::UnknownHabit { .. } | Self::NoEntry { .. } => {
                "not_found"
            }
        }
    }
}

fn full(habit_type: HabitType) -> String {
    let name = habit_type.as_str();
    let limit = quota_of(habit_type);
    let habits = if limit == 1 { "habit" } else { "habits" };
    format!("At most {limit} {name} {habits} can be active at the same time.")
}
