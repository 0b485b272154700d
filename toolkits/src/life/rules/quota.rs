//! R1 and R2: how many habits may be active at once.
use super::{super::habit::HabitType, LifeViolation};

/// At most so many active build habits (R1).
const MAX_BUILD: u32 = 3;
/// At most so many active break habits (R2).
const MAX_BREAK: u32 = 1;

/// How many habits of each type a user has active.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActiveHabits {
    /// Active build habits, diet patterns included.
    pub build: u32,
    /// Active break habits.
    pub breaking: u32,
}

/// Returns how many habits of a type may be active.
pub fn quota_of(habit_type: HabitType) -> u32 {
    match habit_type {
        HabitType::Build => MAX_BUILD,
        HabitType::Break => MAX_BREAK,
    }
}

/// Judges whether one more habit of a type may begin beside those that are active.
///
/// # Errors
/// [`LifeViolation::Quota`] when the type is full.
pub fn judge_active_habit_quota(
    active: ActiveHabits,
    wanted: HabitType,
) -> Result<(), LifeViolation> {
    let active = match wanted {
        HabitType::Build => active.build,
        HabitType::Break => active.breaking,
    };
    if active < quota_of(wanted) {
        Ok(())
    } else {
        Err(LifeViolation::Quota { habit_type: wanted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_three_build_habits_are_the_most() {
        for (build, allowed) in [(0, true), (2, true), (3, false), (4, false)] {
            let verdict =
                judge_active_habit_quota(ActiveHabits { build, breaking: 9 }, HabitType::Build);
            assert_eq!(verdict.is_ok(), allowed, "{build} active");
        }
    }

    #[test]
    fn r2_one_break_habit_is_the_most() {
        for (breaking, allowed) in [(0, true), (1, false), (2, false)] {
            let verdict =
                judge_active_habit_quota(ActiveHabits { build: 9, breaking }, HabitType::Break);
            assert_eq!(verdict.is_ok(), allowed, "{breaking} active");
        }
    }

    #[test]
    fn a_full_quota_is_called_r3_quota() {
        let full = ActiveHabits { build: 3, breaking: 1 };
        for habit_type in [HabitType::Build, HabitType::Break] {
            let violation = judge_active_habit_quota(full, habit_type).unwrap_err();
            assert_eq!(violation.code(), "r3_quota");
        }
    }
}
