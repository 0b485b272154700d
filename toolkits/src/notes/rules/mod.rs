//! The rules of the toolkit: functions from values to verdicts, without a store and without a
//! clock.
//!
//! `text` judges titles and blocks, `path` the paths of the workspace, and `nesting` turns indents
//! into parents. The repository calls them before it writes, so a screen, a command and a chat get
//! the same verdict:
//!
//! ```
//! use madang_toolkits::notes::rules::{NotesViolation, judge_title};
//!
//! assert!(judge_title("Plan").is_ok());
//! assert_eq!(judge_title("two\nlines"), Err(NotesViolation::ControlInTitle));
//! ```
//!
//! Invariants:
//! - A rule depends only on its arguments, and says by a [`NotesViolation`] which rule is broken.
//! - Rules that SQL can express are in the tables too, because two writers may check at the same
//!   moment.
//! - The codes never change, because programs compare them.
mod nesting;
mod path;
mod text;
mod violation;

pub use nesting::Nesting;
pub use path::parse_path;
pub use text::{judge_content, judge_text, judge_title};
pub use violation::NotesViolation;
