//! Writes habits and entries, after it has checked the rules. Nothing else writes these tables.
//!
//! A screen, a command and a chat use it and get the same verdict. A write checks the rules in a
//! fixed order, returns the first violation, and writes only if there is none. `row` reads the rows
//! back into types, and `error` distinguishes a rule that a table found broken from a failure of
//! the database.
//!
//! ```no_run
//! # use jiff::civil::Date;
//! # use madang::UserId;
//! use madang_toolkits::life::{HabitError, HabitRepository, habit::HabitId};
//!
//! # async fn example(db: &mut sqlx::SqliteConnection, user: &UserId, today: Date) -> Result<(), HabitError> {
//! HabitRepository::new(db, user, today).end(HabitId(7)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - The caller lends the connection. The repository works within the caller's transaction, and
//!   never ends it.
//! - The repository reads and writes only rows of its own user. Others' habits look unknown.
//! - The tables count the quotas again, so two writers at the same moment cannot both take the last
//!   place.
mod error;
mod row;

use std::collections::BTreeSet;

use jiff::civil::Date;
use madang::UserId;
use sqlx::SqliteConnection;

pub use error::HabitError;
use error::{failed_to, refused_by_table};
use row::HabitRow;

use super::{
    catalogue::Catalogue,
    habit::{Anchor, FrameLevel, Habit, HabitId, HabitType, Origin, OriginColumns, TrackerValue},
    rules::{
        ActiveHabits, EntryVerdict, LifeViolation, assert_exclusive_origin, detect_avoidance,
        judge_active_habit_quota, judge_correction, judge_frame_level, judge_tracker_date,
        judge_tracker_entry, validate_framed_text, validate_note, validate_optional_text,
    },
    streak::Streak,
    today::parse_day,
};

/// The habits of one user, as seen on one day. In addition to the errors that it names, each method
/// returns [`HabitError::Database`] or [`HabitError::Corrupt`] if the database fails or a row
/// cannot be read.
#[derive(Debug)]
pub struct HabitRepository<'a> {
    db: &'a mut SqliteConnection,
    user: &'a UserId,
    today: Date,
}

/// A habit that a user wants to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHabit {
    /// Its origin. Exactly one column must be filled.
    pub origin: OriginColumns,
    /// The level at which the habit is framed, from `L0` to `L3`.
    pub frame_level: FrameLevel,
    /// The person's own words for it.
    pub framed_text: String,
    /// The moment and the event that it follows.
    pub anchor: Anchor,
    /// The amount, in the person's words.
    pub dose_text: Option<String>,
}

/// A value to record for a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// The number of the habit.
    pub habit: HabitId,
    /// The day to record a value for.
    pub date: Date,
    /// The value to record for that day.
    pub value: TrackerValue,
    /// The person's own remark. `None` if there is none.
    pub note: Option<String>,
}

/// The recorded value of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The day that the value was recorded for.
    pub date: Date,
    /// The value that counts for that day.
    pub value: TrackerValue,
    /// The person's own remark. `None` if there is none.
    pub note: Option<String>,
}

/// What came of adding a habit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// The habit was written.
    New(Habit),
    /// The item was already active, and nothing was written.
    AlreadyActive(Habit),
}

impl<'a> HabitRepository<'a> {
    /// Opens the habits of a user. `today` is the day in the user's time zone.
    pub fn new(db: &'a mut SqliteConnection, user: &'a UserId, today: Date) -> Self {
        Self { db, user, today }
    }

    /// Lists the active habits, oldest first.
    ///
    /// # Errors
    /// Returns [`HabitError::Database`] or [`HabitError::Corrupt`].
    pub async fn active(&mut self) -> Result<Vec<Habit>, HabitError> {
        let rows: Vec<HabitRow> = sqlx::query_as(
            "SELECT * FROM life_habits WHERE user_id = $1 AND ended_on IS NULL ORDER BY id",
        )
        .bind(self.user.as_str())
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("list the active habits"))?;
        rows.into_iter().map(Habit::try_from).collect()
    }

    /// Returns one habit of the user, ended or not.
    ///
    /// # Errors
    /// Returns [`LifeViolation::UnknownHabit`], for others' habits too.
    pub async fn habit(&mut self, id: HabitId) -> Result<Habit, HabitError> {
        let row: Option<HabitRow> =
            sqlx::query_as("SELECT * FROM life_habits WHERE id = $1 AND user_id = $2")
                .bind(id.0)
                .bind(self.user.as_str())
                .fetch_optional(&mut *self.db)
                .await
                .map_err(failed_to("look up a habit"))?;
        row.ok_or(LifeViolation::UnknownHabit { id })?.try_into()
    }

    /// Begins a habit today. Writes nothing if its item is active already.
    ///
    /// # Errors
    /// Returns the first broken rule, in this order: exactly one origin, a known item, frame,
    /// texts, avoidance, quota.
    pub async fn add(&mut self, wanted: NewHabit) -> Result<Added, HabitError> {
        let origin = assert_exclusive_origin(wanted.origin)?;
        assert_known(&origin)?;
        judge_frame_level(wanted.frame_level)?;
        validate_framed_text(&wanted.framed_text)?;
        validate_optional_text("anchor_when", wanted.anchor.when.as_deref())?;
        validate_optional_text("anchor_after_what", wanted.anchor.after_what.as_deref())?;
        validate_optional_text("dose_text", wanted.dose_text.as_deref())?;
        detect_avoidance(&wanted.framed_text)?;

        let active = self.active().await?;
        if let Some(habit) = active.iter().find(|habit| habit.origin == origin) {
            return Ok(Added::AlreadyActive(habit.clone()));
        }
        judge_active_habit_quota(count(&active), origin.habit_type())?;
        self.insert(Habit {
            id: HabitId(0),
            origin,
            frame_level: wanted.frame_level,
            framed_text: wanted.framed_text,
            anchor: wanted.anchor,
            dose_text: wanted.dose_text,
            started_on: self.today,
        })
        .await
        .map(Added::New)
    }

    /// Ends an active habit today, which frees its place. Its entries are kept.
    ///
    /// # Errors
    /// Returns [`LifeViolation::UnknownHabit`], for ended habits too.
    pub async fn end(&mut self, id: HabitId) -> Result<(), HabitError> {
        let ended = sqlx::query(
            "UPDATE life_habits SET ended_on = $1 WHERE id = $2 AND user_id = $3 AND ended_on IS NULL",
        )
        .bind(self.today.to_string())
        .bind(id.0)
        .bind(self.user.as_str())
        .execute(&mut *self.db)
        .await
        .map_err(failed_to("end a habit"))?;
        if ended.rows_affected() == 0 {
            Err(LifeViolation::UnknownHabit { id }.into())
        } else {
            Ok(())
        }
    }

    /// Records a day of a habit. If the day has the same value already, nothing changes, not even
    /// its note.
    ///
    /// # Errors
    /// Returns the first broken rule, in this order: note, date, a habit of this user, one value a
    /// day.
    pub async fn log(&mut self, entry: &NewEntry) -> Result<EntryVerdict, HabitError> {
        validate_note(entry.note.as_deref())?;
        judge_tracker_date(entry.date, self.today)?;
        self.habit(entry.habit).await?;
        let recorded = self.recorded(entry.habit, entry.date).await?;
        let verdict = judge_tracker_entry(entry.date, entry.value, recorded)?;
        if verdict == EntryVerdict::Record {
            sqlx::query(
                "INSERT INTO life_entries (habit_id, date, value, note) VALUES ($1, $2, $3, $4)",
            )
            .bind(entry.habit.0)
            .bind(entry.date.to_string())
            .bind(entry.value.as_str())
            .bind(entry.note.as_deref())
            .execute(&mut *self.db)
            .await
            .map_err(failed_to("record an entry"))?;
        }
        Ok(verdict)
    }

    /// Corrects the entry of a day: its value, and its note if one is given. If nothing is
    /// different, nothing changes.
    ///
    /// # Errors
    /// Returns the first broken rule, in this order: note, date, a habit of this user, an existing
    /// entry.
    pub async fn correct(&mut self, entry: &NewEntry) -> Result<(), HabitError> {
        validate_note(entry.note.as_deref())?;
        judge_tracker_date(entry.date, self.today)?;
        self.habit(entry.habit).await?;
        judge_correction(entry.date, self.recorded(entry.habit, entry.date).await?)?;
        sqlx::query(
            "UPDATE life_entries SET value = $1, note = coalesce($2, note), corrections = corrections + 1
             WHERE habit_id = $3 AND date = $4 AND (value <> $1 OR note IS NOT coalesce($2, note))",
        )
        .bind(entry.value.as_str())
        .bind(entry.note.as_deref())
        .bind(entry.habit.0)
        .bind(entry.date.to_string())
        .execute(&mut *self.db)
        .await
        .map(drop)
        .map_err(failed_to("correct an entry"))
    }

    /// Returns the value of a day of this user's habit, or `None` if none is recorded.
    ///
    /// # Errors
    /// Returns [`LifeViolation::UnknownHabit`], for others' habits too.
    pub async fn entry(
        &mut self,
        id: HabitId,
        date: Date,
    ) -> Result<Option<TrackerValue>, HabitError> {
        self.habit(id).await?;
        self.recorded(id, date).await
    }

    /// Returns entries of this user's habit, newest first: at most `limit`, after the first
    /// `offset`. Also returns how many entries there are in all.
    ///
    /// # Errors
    /// Returns [`LifeViolation::UnknownHabit`], for others' habits too.
    pub async fn entries(
        &mut self,
        id: HabitId,
        offset: u32,
        limit: u32,
    ) -> Result<(Vec<Entry>, usize), HabitError> {
        self.habit(id).await?;
        let rows: Vec<(String, String, Option<String>)> = sqlx::query_as(
            "SELECT date, value, note FROM life_entries WHERE habit_id = $1
             ORDER BY date DESC LIMIT $2 OFFSET $3",
        )
        .bind(id.0)
        .bind(limit)
        .bind(offset)
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("read the entries of a habit"))?;
        let total: u32 =
            sqlx::query_scalar("SELECT count(*) FROM life_entries WHERE habit_id = $1")
                .bind(id.0)
                .fetch_one(&mut *self.db)
                .await
                .map_err(failed_to("count the entries of a habit"))?;
        let entry = |(date, value, note): (String, String, Option<String>)| {
            let read = parse_day(&date).ok().zip(TrackerValue::from_word(&value));
            let (date, value) = read.ok_or(HabitError::Corrupt { id: id.0 })?;
            Ok(Entry { date, value, note })
        };
        let entries = rows.into_iter().map(entry).collect::<Result<_, HabitError>>()?;
        Ok((entries, total as usize))
    }

    /// Returns a habit, and how steadily it was kept until today.
    ///
    /// # Errors
    /// Returns [`LifeViolation::UnknownHabit`], for others' habits too.
    pub async fn streak(&mut self, id: HabitId) -> Result<(Habit, Streak), HabitError> {
        let habit = self.habit(id).await?;
        let days: Vec<String> = sqlx::query_scalar(
            "SELECT date FROM life_entries WHERE habit_id = $1 AND value = 'done'",
        )
        .bind(id.0)
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("read the entries of a habit"))?;
        let done: Result<BTreeSet<Date>, LifeViolation> =
            days.iter().map(|day| parse_day(day)).collect();
        let done = done.map_err(|_| HabitError::Corrupt { id: id.0 })?;
        let streak = Streak::count(&done, habit.started_on, self.today);
        Ok((habit, streak))
    }

    async fn recorded(
        &mut self,
        id: HabitId,
        date: Date,
    ) -> Result<Option<TrackerValue>, HabitError> {
        let value: Option<String> =
            sqlx::query_scalar("SELECT value FROM life_entries WHERE habit_id = $1 AND date = $2")
                .bind(id.0)
                .bind(date.to_string())
                .fetch_optional(&mut *self.db)
                .await
                .map_err(failed_to("look up an entry"))?;
        value
            .map(|value| TrackerValue::from_word(&value).ok_or(HabitError::Corrupt { id: id.0 }))
            .transpose()
    }

    async fn insert(&mut self, mut habit: Habit) -> Result<Habit, HabitError> {
        let habit_type = habit.origin.habit_type();
        let columns = OriginColumns::from(habit.origin.clone());
        habit.id = sqlx::query_scalar(
            "INSERT INTO life_habits (user_id, type, protocol_id, break_protocol_id, diet_pattern_id, frame_level,
                framed_text, anchor_when, anchor_after_what, dose_text, started_on)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id",
        )
        .bind(self.user.as_str())
        .bind(habit_type.as_str())
        .bind(columns.protocol_id)
        .bind(columns.break_protocol_id)
        .bind(columns.diet_pattern_id)
        .bind(habit.frame_level.as_str())
        .bind(&habit.framed_text)
        .bind(habit.anchor.when.as_deref())
        .bind(habit.anchor.after_what.as_deref())
        .bind(habit.dose_text.as_deref())
        .bind(habit.started_on.to_string())
        .fetch_one(&mut *self.db)
        .await
        .map(HabitId)
        .map_err(|cause| refused_by_table(cause, habit_type, "add a habit"))?;
        Ok(habit)
    }
}

/// Requires that the item is in the catalogue and that the column fits its kind.
fn assert_known(origin: &Origin) -> Result<(), LifeViolation> {
    let id = origin.item_id();
    match Catalogue::bundled().get(id) {
        Some(item) if item.origin() == *origin => Ok(()),
        Some(_) | None => Err(LifeViolation::UnknownItem { id: id.to_owned() }),
    }
}

fn count(active: &[Habit]) -> ActiveHabits {
    let mut counted = ActiveHabits::default();
    for habit in active {
        match habit.origin.habit_type() {
            HabitType::Build => counted.build += 1,
            HabitType::Break => counted.breaking += 1,
        }
    }
    counted
}

#[cfg(test)]
mod tests;
