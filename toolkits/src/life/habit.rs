//! Defines a habit: its origin, type, frame, anchor and entries.
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words::schema_of_words;

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
    /// Its first day, in the person's time zone; the phase is counted from it.
    pub started_on: Date,
}

/// The direction of a habit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HabitType {
    /// Something to take up.
    Build,
    /// Something to let go.
    Break,
}

impl HabitType {
    /// Returns the word that the store and results use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Break => "break",
        }
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

/// The frame of a habit, from avoiding something to an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FrameLevel {
    /// Away from something.
    L0,
    /// A duty.
    L1,
    /// Towards something.
    L2,
    /// An identity.
    L3,
}

impl FrameLevel {
    /// All levels; the rules, not the schema, decide which are allowed.
    pub const ALL: [Self; 4] = [Self::L0, Self::L1, Self::L2, Self::L3];

    /// Returns the word that the store and results use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
        }
    }

    /// Reads a level from its word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

schema_of_words!(FrameLevel);

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

/// The value of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrackerValue {
    /// It was done.
    Done,
    /// The day is left blank on purpose.
    Blank,
}

impl TrackerValue {
    /// Both values.
    pub const ALL: [Self; 2] = [Self::Done, Self::Blank];

    /// Returns the word that the store and results use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Blank => "blank",
        }
    }

    /// Reads a value from its word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.as_str() == word)
    }
}

schema_of_words!(TrackerValue);
