//! What a broken rule is: a code for the model and a reason for the person.
use jiff::civil::Date;
use madang::tool::Locale;

use super::super::{
    habit::{HabitId, HabitType, TrackerValue},
    texts,
};

/// A rule that does not hold. Its `Display` is the English reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.reason(Locale::EN))]
pub enum LifeViolation {
    /// R1 and R2: there are as many active habits of this type as there may be.
    Quota {
        /// The type that is full.
        habit_type: HabitType,
    },
    /// R3: the frame is a duty or a pushing away.
    Frame,
    /// R7: the framed text is about what should not be.
    Avoidance {
        /// The wording of our list that was found.
        found: &'static str,
    },
    /// R8: not exactly one of protocol, break protocol and diet pattern.
    Origin,
    /// R5: the day has an entry with another value.
    Duplicate {
        /// The day.
        date: Date,
        /// What is recorded for it.
        recorded: TrackerValue,
    },
    /// The day has no entry that could be corrected.
    NoEntry {
        /// The day.
        date: Date,
    },
    /// R5: the value is neither done nor blank.
    Value,
    /// The date is no calendar date of the form YYYY-MM-DD.
    Date,
    /// The date has not come yet.
    FutureDate {
        /// The day that was given.
        date: Date,
        /// The person's today.
        today: Date,
    },
    /// A text that must say something says nothing.
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
        /// How many characters it may have.
        max: usize,
    },
    /// The catalogue has no such item.
    UnknownItem {
        /// The id that was asked for.
        id: String,
    },
    /// The user has no such habit. Another user's habit is not told apart from none.
    UnknownHabit {
        /// The number that was asked for.
        id: HabitId,
    },
}

impl LifeViolation {
    /// The code that the model reads.
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

    /// The reason in the person's language.
    pub fn reason(&self, locale: Locale) -> String {
        texts::reason(self, locale)
    }
}
