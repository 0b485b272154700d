//! The rules of the toolkit: functions from values to verdicts, without a store and without a clock.
//!
//! The repository calls them before it writes, so a screen, a command and a chat get the same verdict. Rules that SQL
//! can express stand in the tables too.
mod nesting;
mod path;
mod text;
mod violation;

pub use nesting::Nesting;
pub use path::parse_path;
pub use text::{judge_content, judge_text, judge_title};
pub use violation::NotesViolation;
