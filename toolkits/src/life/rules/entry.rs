//! R5: one entry per habit and date, with the value done or blank, and never in the future.
use jiff::civil::Date;

use super::{super::habit::TrackerValue, LifeViolation, frame::validate_optional_text};

/// The verdict about an entry that may be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryVerdict {
    /// The day has no entry. Write it.
    Record,
    /// The day already has this value. Change nothing.
    AlreadyRecorded,
}

/// Judges a value for a day by the value that is recorded for it.
///
/// # Errors
/// Returns [`LifeViolation::Duplicate`] if another value is recorded.
pub fn judge_tracker_entry(
    date: Date,
    value: TrackerValue,
    recorded: Option<TrackerValue>,
) -> Result<EntryVerdict, LifeViolation> {
    match recorded {
        None => Ok(EntryVerdict::Record),
        Some(recorded) if recorded == value => Ok(EntryVerdict::AlreadyRecorded),
        Some(recorded) => Err(LifeViolation::Duplicate { date, recorded }),
    }
}

/// Judges a correction of a day, and returns the recorded value.
///
/// # Errors
/// Returns [`LifeViolation::NoEntry`] if there is no entry to correct.
pub fn judge_correction(
    date: Date,
    recorded: Option<TrackerValue>,
) -> Result<TrackerValue, LifeViolation> {
    recorded.ok_or(LifeViolation::NoEntry { date })
}

/// Requires that the day of an entry is today or before, by the person's calendar.
///
/// # Errors
/// Returns [`LifeViolation::FutureDate`] for a later day.
pub fn judge_tracker_date(date: Date, today: Date) -> Result<(), LifeViolation> {
    if date <= today { Ok(()) } else { Err(LifeViolation::FutureDate { date, today }) }
}

/// Reads a tracker value from its word.
///
/// # Errors
/// Returns [`LifeViolation::Value`] for any word but `done` and `blank`.
pub fn validate_tracker_value(word: &str) -> Result<TrackerValue, LifeViolation> {
    TrackerValue::from_word(word).ok_or(LifeViolation::Value)
}

/// Checks that a note has at most 200 characters.
///
/// # Errors
/// [`LifeViolation::LongText`].
pub fn validate_note(note: Option<&str>) -> Result<(), LifeViolation> {
    validate_optional_text("note", note)
}

#[cfg(test)]
mod tests {
    use super::{TrackerValue::*, *};
    use jiff::civil::date;

    const DAY: Date = date(2026, 3, 10);

    #[test]
    fn r5_a_day_without_an_entry_is_recorded() {
        for value in [Done, Blank] {
            assert_eq!(judge_tracker_entry(DAY, value, None), Ok(EntryVerdict::Record));
        }
    }

    #[test]
    fn r5_the_same_value_again_changes_nothing() {
        for value in [Done, Blank] {
            let verdict = judge_tracker_entry(DAY, value, Some(value));
            assert_eq!(verdict, Ok(EntryVerdict::AlreadyRecorded));
        }
    }

    #[test]
    fn r5_another_value_is_refused() {
        for (value, recorded) in [(Done, Blank), (Blank, Done)] {
            let violation = judge_tracker_entry(DAY, value, Some(recorded)).unwrap_err();
            assert_eq!(violation, LifeViolation::Duplicate { date: DAY, recorded });
            assert_eq!(violation.code(), "r5_duplicate");
        }
    }

    #[test]
    fn only_a_day_with_an_entry_can_be_corrected() {
        assert_eq!(judge_correction(DAY, Some(Blank)), Ok(Blank));
        let violation = judge_correction(DAY, None).unwrap_err();
        assert_eq!(violation.code(), "not_found");
    }

    #[test]
    fn r5_only_done_and_blank_are_values() {
        assert_eq!(validate_tracker_value("done"), Ok(Done));
        assert_eq!(validate_tracker_value("blank"), Ok(Blank));
        for word in ["", "Done", "done ", "skip", "완료"] {
            assert_eq!(validate_tracker_value(word).unwrap_err().code(), "validation", "{word:?}");
        }
    }

    #[test]
    fn today_and_the_past_can_be_recorded_and_tomorrow_cannot() {
        assert_eq!(judge_tracker_date(DAY, DAY), Ok(()));
        assert_eq!(judge_tracker_date(date(1999, 12, 31), DAY), Ok(()));
        let violation = judge_tracker_date(date(2026, 3, 11), DAY).unwrap_err();
        assert_eq!(violation.code(), "validation");
    }

    #[test]
    fn a_note_has_at_most_200_characters() {
        assert_eq!(validate_note(None), Ok(()));
        assert_eq!(validate_note(Some(&"가".repeat(200))), Ok(()));
        assert!(validate_note(Some(&"가".repeat(201))).is_err());
    }
}
