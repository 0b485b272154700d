//! The rules of the toolkit: functions from values to verdicts, without a store and without a
//! clock.
//!
//! Each file has a rule or two. The README of the toolkit lists them. The repository calls them
//! before it writes, so a screen, a command and a chat get the same verdict:
//!
//! ```
//! use madang_toolkits::life::rules::{LifeViolation, detect_avoidance};
//!
//! assert!(detect_avoidance("I walk after lunch").is_ok());
//! let refused = detect_avoidance("no coffee").unwrap_err();
//! assert!(matches!(refused, LifeViolation::Avoidance { .. }));
//! assert_eq!(refused.code(), "r7_avoidance");
//! ```
//!
//! Invariants:
//! - A rule depends only on its arguments, and says by a [`LifeViolation`] which rule is broken.
//! - Rules that SQL can express are in the tables too, because two writers may check at the same
//!   moment.
//! - The codes never change, because programs compare them.
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
pub use quota::{ActiveHabits, judge_active_habit_quota};
pub use violation::LifeViolation;

pub use super::habit::quota_of;
