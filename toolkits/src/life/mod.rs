//! The toolkit `life`: a catalogue of habits, the habits of a person, and the rules that they
//! follow.
//!
//! A call goes from a tool ([`tools()`]) to the [`repository`], which checks the [`rules`] and then
//! writes. A screen of the application uses the same repository, on a connection of its own:
//!
//! ```no_run
//! # use madang::UserId;
//! # use madang_toolkits::life::{HabitError, HabitRepository};
//! # use jiff::civil::Date;
//! # async fn example(db: &mut sqlx::SqliteConnection, user: &UserId, today: Date) -> Result<(), HabitError> {
//! for habit in HabitRepository::new(db, user, today).active().await? {
//!     println!("{}", habit.framed_text);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - Only the repository writes the tables, and it never ends the caller's transaction.
//! - A user sees and changes only the user's own habits.
//! - Rules that SQL can express are in the tables too.
pub mod catalogue;
mod fold;
pub mod habit;
pub mod repository;
pub mod rules;
pub mod streak;
mod texts;
mod today;
mod tools;
mod words;

use std::sync::LazyLock;

use sqlx::migrate::Migrator;

pub use repository::{HabitError, HabitRepository};
pub use today::{parse_day, today};
pub use tools::{asking_tools, tools};

/// The tables of the toolkit. Their versions are kept in a table of their own, `_life_migrations`,
/// because an embedder may have migrations in the same file.
pub static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!("src/life/migrations");
    migrator.dangerous_set_table_name("_life_migrations");
    migrator
});

/// The statements that erase the rows of a user, `$1`, for
/// [`Forget::tables`](madang::ledger::Forget::tables).
pub const FORGET: [&str; 2] = [
    "DELETE FROM life_entries WHERE habit_id IN (SELECT id FROM life_habits WHERE user_id = $1)",
    "DELETE FROM life_habits WHERE user_id = $1",
];
