//! R1 and R2: limit the number of active habits.
use super::{
    super::habit::{HabitType, quota_of},
    LifeViolation,
};

/// The number of a user's active habits of each type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActiveHabits {
    /// Active build habits, diet patterns included.
    pub build: u32,
    /// Active break habits.
    pub breaking: u32,
}

/// Requires that one more habit of a type may begin.
///
/// # Errors
/// Returns [`LifeViolation::Quota`] if the type is full.
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
