//! Defines a habit: its origin, type, frame, anchor and entries.
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words::words;

/// The number of a habit, unique among all users.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct HabitId(pub i64);

impl std::fmt::Display for HabitId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A habit in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Habit {
    /// Its number, by which tools name it.
    pub id: HabitId,
    /// Its item of the catalogue.
    pub origin: Origin,
    /// The frame that the person chose.
    pub frame_level: FrameLevel,
    /// The person's own words for it.
    pub framed_text: String,
    /// The moment and the event that it follows.
    pub anchor: Anchor,
    /// The amount, in the person's words.
    pub dose_text: Option<String>,
    /// Its first day, in the person's time zone. The phase is counted from it.
    pub started_on: Date,
}

words! {
    /// The direction of a habit.
    pub enum HabitType {
        /// Something to take up.
        Build = "build",
        /// Something to let go.
        Break = "break",
    }
}

/// The most active build habits (R1).
const MAX_BUILD: u32 = 3;
/// The most active break habits (R2).
const MAX_BREAK: u32 = 1;

/// Returns the most active habits of a type.
pub fn quota_of(habit_type: HabitType) -> u32 {
    match habit_type {
        HabitType::Build => MAX_BUILD,
        HabitType::Break => MAX_BREAK,
    }
}

/// The one catalogue item that a habit comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A protocol.
    Protocol(String),
    /// A break protocol.
    BreakProtocol(String),
    /// A diet pattern.
    DietPattern(String),
}

impl Origin {
    /// Returns the id of the item.
    pub fn item_id(&self) -> &str {
        match self {
            Self::Protocol(id) | Self::BreakProtocol(id) | Self::DietPattern(id) => id,
        }
    }

    /// Returns the type, which follows from the origin.
    pub fn habit_type(&self) -> HabitType {
        match self {
            Self::Protocol(_) | Self::DietPattern(_) => HabitType::Build,
            Self::BreakProtocol(_) => HabitType::Break,
        }
    }
}

/// The three origin columns of a row. The rule R8 allows exactly one to be filled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OriginColumns {
    /// The id of a protocol.
    pub protocol_id: Option<String>,
    /// The id of a break protocol.
    pub break_protocol_id: Option<String>,
    /// The id of a diet pattern.
    pub diet_pattern_id: Option<String>,
}

impl From<Origin> for OriginColumns {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Protocol(id) => Self { protocol_id: Some(id), ..Self::default() },
            Origin::BreakProtocol(id) => Self { break_protocol_id: Some(id), ..Self::default() },
            Origin::DietPattern(id) => Self { diet_pattern_id: Some(id), ..Self::default() },
        }
    }
}

words! {
    /// The frame of a habit, from avoiding something to an identity. The rules, not the schema,
    /// decide which are allowed.
    pub enum FrameLevel {
        /// Away from something.
        L0 = "L0",
        /// A duty.
        L1 = "L1",
        /// Towards something.
        L2 = "L2",
        /// An identity.
        L3 = "L3",
    }
}

/// The moment or event that a habit is tied to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Anchor {
    /// A time of day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// An event that happens anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_what: Option<String>,
}

words! {
    /// The value of a day.
    pub enum TrackerValue {
        /// It was done.
        Done = "done",
        /// The day is left blank on purpose.
        Blank = "blank",
    }
}
