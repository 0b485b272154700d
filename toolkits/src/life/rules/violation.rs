//! A broken rule, with a code for the model. Its reason for the person stands in `texts`.
use jiff::civil::Date;

use super::super::habit::{HabitId, HabitType, TrackerValue};

/// A broken rule. Its `Display` is the English reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LifeViolation {
    /// R1 and R2: the user has as many active habits of this type as allowed.
    Quota {
        /// The type that is full.
        habit_type: HabitType,
    },
    /// R3: the frame is a duty or an avoidance.
    Frame,
    /// R7: the framed text says what to avoid.
    Avoidance {
        /// The wording of the list that was found.
        found: &'static str,
    },
    /// R8: not exactly one of protocol, break protocol and diet pattern.
    Origin,
    /// R5: the day has an entry with another value.
    Duplicate {
        /// The day.
        date: Date,
        /// The recorded value.
        recorded: TrackerValue,
    },
    /// The day has no entry to correct.
    NoEntry {
        /// The day.
        date: Date,
    },
    /// R5: the value is neither done nor blank.
    Value,
    /// The date is not a calendar date of the form YYYY-MM-DD.
    Date,
    /// The date has not come yet.
    FutureDate {
        /// The day that was given.
        date: Date,
        /// The person's today.
        today: Date,
    },
    /// A required text is blank.
    BlankText {
        /// The name of the field.
        field: &'static str,
    },
    /// A text has a control character, such as a line break.
    ControlText {
        /// The name of the field.
        field: &'static str,
    },
    /// A text is too long.
    LongText {
        /// The name of the field.
        field: &'static str,
        /// The most characters.
        max: usize,
    },
    /// The catalogue has no such item.
    UnknownItem {
        /// The given id.
        id: String,
    },
    /// The user has no such habit; another user's habit looks the same.
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
