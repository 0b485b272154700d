//! Reads a row of the table of habits.
use sqlx::FromRow;

use super::{
    super::{
        habit::{Anchor, FrameLevel, Habit, HabitId, OriginColumns},
        rules::assert_exclusive_origin,
        today::parse_day,
    },
    HabitError,
};

/// The columns as the database returns them.
#[derive(Debug, FromRow)]
pub(super) struct HabitRow {
    id: i64,
    protocol_id: Option<String>,
    break_protocol_id: Option<String>,
    diet_pattern_id: Option<String>,
    frame_level: String,
    framed_text: String,
    anchor_when: Option<String>,
    anchor_after_what: Option<String>,
    dose_text: Option<String>,
    started_on: String,
}

impl TryFrom<HabitRow> for Habit {
    type Error = HabitError;

    fn try_from(row: HabitRow) -> Result<Self, HabitError> {
        let corrupt = HabitError::Corrupt { id: row.id };
        let origin = assert_exclusive_origin(OriginColumns {
            protocol_id: row.protocol_id,
            break_protocol_id: row.break_protocol_id,
            diet_pattern_id: row.diet_pattern_id,
        });
        let (Ok(origin), Some(frame_level), Ok(started_on)) =
            (origin, FrameLevel::from_word(&row.frame_level), parse_day(&row.started_on))
        else {
            return Err(corrupt);
        };
        Ok(Self {
            id: HabitId(row.id),
            origin,
            frame_level,
            framed_text: row.framed_text,
            anchor: Anchor { when: row.anchor_when, after_what: row.anchor_after_what },
            dose_text: row.dose_text,
            started_on,
        })
    }
}
