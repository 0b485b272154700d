//! The rules of the toolkit: functions from values to verdicts, without a store and without a clock.
//!
//! The repository calls them before it writes, so a screen, a command and a chat get the same verdict. Rules that SQL
//! can express stand in the tables too.
mod avoidance;
mod entry;
mod frame;
mod origin;
mod quota;
mod violation;

pub use avoidance::detect_avoidance;
pub use entry::{
    EntryVerdict, judge_correction, judge_tracker_date, judge_tracker_entry, validate_note,
    validate_tracker_value,
};
pub use frame::{judge_frame_level, validate_framed_text, validate_optional_text};
pub use origin::assert_exclusive_origin;
pub use quota::{ActiveHabits, judge_active_habit_quota, quota_of};
pub use violation::LifeViolation;
