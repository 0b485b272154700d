//! Counts how steadily a habit is kept: its streaks, its phase of six weeks, and its tier.
use std::collections::BTreeSet;

use jiff::{ToSpan, civil::Date};
use serde::Serialize;

/// The days of a phase (rule R6).
pub const PHASE_DAYS: i32 = 42;
/// The days of the recent count, today included.
pub const RECENT_DAYS: i32 = 30;

/// The sums over the done days of a habit on a given day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Streak {
    /// Consecutive done days that end today or yesterday.
    pub current: usize,
    /// The longest run of consecutive done days.
    pub longest: usize,
    /// Done days among the last 30, today included.
    pub last_30_days: usize,
    /// The 42 days from the start.
    pub phase: Phase,
    /// The step reached by the number of done days.
    pub tier: Tier,
}

/// The first 42 days of a habit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// Done days within the phase.
    pub done: usize,
    /// The day of the phase that today is, from 1. It is 42 once the phase is over.
    pub day: i32,
    /// The days of the phase.
    pub days: i32,
}

/// A step that a number of done days reaches, on whichever days they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Tier {
    /// From the first day.
    T0,
    /// From 7 done days.
    T1,
    /// From 14 done days.
    T2,
    /// From 28 done days.
    T3,
    /// From 42 done days.
    T4,
}

impl Tier {
    /// Returns the tier of a number of done days.
    pub fn of(done: usize) -> Self {
        match done {
            0..7 => Self::T0,
            7..14 => Self::T1,
            14..28 => Self::T2,
            28..42 => Self::T3,
            42.. => Self::T4,
        }
    }
}

impl Streak {
    /// Counts the done days of a habit that began on `started_on`, as seen from `today`.
    pub fn count(done: &BTreeSet<Date>, started_on: Date, today: Date) -> Self {
        let days =
            |from: Date, to: Date| if from <= to { done.range(from..=to).count() } else { 0 };
        let phase_end = later(started_on, PHASE_DAYS - 1);
        let elapsed = started_on.until(today).map_or(0, |span| span.get_days());
        Self {
            current: current(done, today),
            longest: longest(done),
            last_30_days: days(later(today, 1 - RECENT_DAYS), today),
            phase: Phase {
                done: days(started_on, phase_end),
                day: (elapsed + 1).clamp(1, PHASE_DAYS),
                days: PHASE_DAYS,
            },
            tier: Tier::of(done.len()),
        }
    }
}

fn current(done: &BTreeSet<Date>, today: Date) -> usize {
    // If today has no entry yet, the streak is not broken.
    let mut day = if done.contains(&today) { today } else { later(today, -1) };
    let mut length = 0;
    while done.contains(&day) {
        length += 1;
        let before = later(day, -1);
        if before == day {
            break;
        }
        day = before;
    }
    length
}

fn longest(done: &BTreeSet<Date>) -> usize {
    let mut longest = 0;
    let mut length = 0;
    let mut last = None;
    for &day in done {
        length = if last.is_some_and(|last| later(last, 1) == day) { length + 1 } else { 1 };
        longest = longest.max(length);
        last = Some(day);
    }
    longest
}

/// Moves a date, but not beyond the ends of the calendar.
fn later(date: Date, days: i32) -> Date {
    date.saturating_add(days.days())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    const TODAY: Date = date(2026, 3, 10);

    /// Counts done days, given as distances from today.
    fn streak(days_ago: &[i32], started_ago: i32) -> Streak {
        let done = days_ago.iter().map(|ago| later(TODAY, -ago)).collect();
        Streak::count(&done, later(TODAY, -started_ago), TODAY)
    }

    #[test]
    fn nothing_done_is_nothing() {
        let expected = Streak {
            current: 0,
            longest: 0,
            last_30_days: 0,
            phase: Phase { done: 0, day: 1, days: 42 },
            tier: Tier::T0,
        };
        assert_eq!(streak(&[], 0), expected);
    }

    #[test]
    fn a_streak_that_ends_today_or_yesterday_is_current() {
        assert_eq!(streak(&[0, 1, 2], 5).current, 3);
        assert_eq!(streak(&[1, 2], 5).current, 2, "today is not over yet");
        assert_eq!(streak(&[2, 3, 4], 5).current, 0, "yesterday was missed");
    }

    #[test]
    fn a_gap_ends_a_streak_but_the_longest_stays() {
        let streak = streak(&[0, 1, 3, 4, 5, 6, 9], 20);
        assert_eq!((streak.current, streak.longest), (2, 4));
    }

    #[test]
    fn streaks_go_over_the_ends_of_months_and_leap_days() {
        let today = date(2028, 3, 1);
        let done = [date(2028, 2, 28), date(2028, 2, 29), today].into();
        assert_eq!(Streak::count(&done, date(2028, 2, 1), today).current, 3);
    }

    #[test]
    fn the_last_30_days_include_today_and_no_31st() {
        assert_eq!(streak(&[0, 29, 30], 60).last_30_days, 2);
    }

    #[test]
    fn the_phase_counts_42_days_from_the_start() {
        let before_first_last_and_after = streak(&[51, 50, 9, 8], 50);
        assert_eq!(before_first_last_and_after.phase, Phase { done: 2, day: 42, days: 42 });
        assert_eq!(streak(&[0], 3).phase, Phase { done: 1, day: 4, days: 42 });
    }

    #[test]
    fn tiers_begin_at_0_7_14_28_and_42_done_days() {
        let table = [(0, Tier::T0), (6, Tier::T0), (7, Tier::T1), (13, Tier::T1), (14, Tier::T2)];
        for (done, tier) in table.into_iter().chain([
            (27, Tier::T2),
            (28, Tier::T3),
            (41, Tier::T3),
            (42, Tier::T4),
            (400, Tier::T4),
        ]) {
            assert_eq!(Tier::of(done), tier, "{done} done days");
        }
        let every_other_day: Vec<i32> = (0..14).map(|day| day * 2).collect();
        assert_eq!(streak(&every_other_day, 60).tier, Tier::T2, "gaps do not matter");
    }

    #[test]
    fn the_ends_of_the_calendar_do_not_loop() {
        assert_eq!(Streak::count(&[Date::MIN].into(), Date::MIN, Date::MIN).current, 1);
        assert_eq!(Streak::count(&[Date::MAX].into(), Date::MAX, Date::MAX).longest, 1);
    }
}
