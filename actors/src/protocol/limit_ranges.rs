//! The range of each limit, so that a runtime that started can keep to all of them.

use std::{fmt::Debug, time::Duration};

use super::Limits;

/// Longer than any process runs, and short enough that adding it to a moment does not overflow.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// The shortest time in which a step can happen.
const SHORTEST: Duration = Duration::from_millis(1);

/// A limit that no runtime can keep to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the limit {name} is {value}, and must be at least {least} and at most {most}")]
pub struct LimitError {
    /// The field of [`Limits`].
    pub name: &'static str,
    /// The value as it was given.
    pub value: String,
    /// The least value allowed.
    pub least: String,
    /// The greatest value allowed.
    pub most: String,
}

/// Gives each field of [`Limits`] the least and the greatest value. A field without a range does not compile.
macro_rules! ranges {
    ($($name:ident: $least:expr, $most:expr;)*) => {
        impl Limits {
            /// Checks that a runtime can keep to these limits. A runtime does this at its start.
            ///
            /// # Errors
            /// [`LimitError`] names the first limit that is too small or too large.
            pub fn check(&self) -> Result<(), LimitError> {
                let Self { $($name),* } = self;
                $(fits(stringify!($name), $name, &$least, &$most)?;)*
                Ok(())
            }

            /// Makes limits of which one is at an end of its range or of its type, with its name; for tests.
            #[cfg(any(test, feature = "testing"))]
            #[must_use]
            pub fn each_at_its_ends() -> Vec<(&'static str, Self)> {
                let mut all = Vec::new();
                $(
                    let mut ends = at_ends(Self::default().$name).to_vec();
                    ends.extend([$least, $most]);
                    all.extend(ends.into_iter().map(|end| {
                        (stringify!($name), Self { $name: end, ..Self::default() })
                    }));
                )*
                all
            }
        }
    };
}

ranges! {
    max_rounds: 1, u32::MAX;
    max_calls_per_completion: 1, usize::MAX;
    max_completion_tokens: 1, u32::MAX;
    max_user_text_bytes: 1, usize::MAX;
    max_instructions_bytes: 0, usize::MAX;
    max_imported_messages: 0, usize::MAX; // 0 lets no chat begin with a history
    max_imported_bytes: 0, usize::MAX;
    max_arguments_bytes: 2, usize::MAX; // the bytes of an empty object
    max_opaque_bytes: 0, usize::MAX; // 0 keeps none
    max_arguments_depth: 1, usize::MAX;
    max_outcome_bytes: 1, usize::MAX;
    max_progress_bytes: 0, usize::MAX;
    progress_pause: Duration::ZERO, LONGEST; // 0 passes each report
    max_envelope_bytes: 1, usize::MAX;
    max_validation_steps: 1, u64::MAX;
    max_validation_problems: 1, usize::MAX;
    max_validation_bytes: 1, usize::MAX;
    tool_timeout: SHORTEST, LONGEST;
    transaction_deadline: SHORTEST, LONGEST;
    decision_timeout: SHORTEST, LONGEST;
    approval_timeout: SHORTEST, LONGEST;
    standing_approval_lifetime: SHORTEST, LONGEST;
    max_standing_uses: 0, u32::MAX; // 0 makes "always" a plain yes
    max_denial_bytes: 0, usize::MAX;
    max_awake_sessions: 1, usize::MAX;
    max_awake_sessions_per_user: 1, usize::MAX;
    max_running_turns: 1, usize::MAX;
    max_running_turns_per_user: 1, usize::MAX;
    max_approval_requests: 1, usize::MAX;
    max_approval_requests_per_user: 1, usize::MAX;
    max_inboxes: 0, usize::MAX; // 0 allows none
    max_inboxes_per_user: 0, usize::MAX;
    max_inbox_changes: 0, usize::MAX; // 0 makes each change a reading of all
    max_running_calls: 1, usize::MAX;
    max_running_calls_per_user: 1, usize::MAX;
    max_queued_bytes: 1, usize::MAX;
    max_queued_bytes_per_user: 1, usize::MAX;
    max_stored_bytes_per_user: 1, usize::MAX;
    max_waiting_completions: 1, usize::MAX;
    first_token_timeout: SHORTEST, LONGEST;
    completion_timeout: SHORTEST, LONGEST;
    max_batch_jobs: 1, usize::MAX;
    batch_closes_after: Duration::ZERO, LONGEST;
    max_waiting_writes: 1, usize::MAX;
    store_timeout: SHORTEST, LONGEST;
    ask_timeout: SHORTEST, LONGEST;
    max_feed_events: 1, usize::MAX;
    max_streaming_bytes: 0, usize::MAX;
    max_waiting_messages: 1, usize::MAX;
    session_idle: Duration::ZERO, LONGEST;
    max_resumes: 0, u32::MAX;
    max_resuming_sessions: 1, usize::MAX;
    suggest_clear_after: 0, u32::MAX;
    max_restarts: 0, usize::MAX;
    restart_window: Duration::ZERO, LONGEST;
    shutdown_timeout: Duration::ZERO, LONGEST;
}

fn fits<T: PartialOrd + Debug>(
    name: &'static str,
    value: &T,
    least: &T,
    most: &T,
) -> Result<(), LimitError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let (value, least, most) = (format!("{value:?}"), format!("{least:?}"), format!("{most:?}"));
    Err(LimitError { name, value, least, most })
}

/// A type of limits.
#[cfg(any(test, feature = "testing"))]
trait Ends: Sized {
    const ENDS: [Self; 2];
}

#[cfg(any(test, feature = "testing"))]
fn at_ends<T: Ends>(_: T) -> [T; 2] {
    T::ENDS
}

#[cfg(any(test, feature = "testing"))]
macro_rules! ends {
    ($($type:ty),*) => {
        $(impl Ends for $type {
            const ENDS: [Self; 2] = [<$type>::MIN, <$type>::MAX];
        })*
    };
}

#[cfg(any(test, feature = "testing"))]
ends!(u32, u64, usize);

#[cfg(any(test, feature = "testing"))]
impl Ends for Duration {
    const ENDS: [Self; 2] = [Self::ZERO, Self::MAX];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_cannot_be_kept_is_named_with_what_it_may_be() {
        assert_eq!(Limits::default().check(), Ok(()));
        let limits = Limits { session_idle: Duration::MAX, ..Limits::default() };
        assert_eq!(
            limits.check().unwrap_err().to_string(),
            "the limit session_idle is 18446744073709551615.999999999s, and must be at least 0ns and at most 315360000s"
        );
        let limits = Limits { max_waiting_messages: 0, ..Limits::default() };
        let error = limits.check().unwrap_err();
        assert_eq!((error.name, &*error.value, &*error.least), ("max_waiting_messages", "0", "1"));
    }

    #[test]
    fn no_time_is_longer_than_any_process_runs_and_each_end_of_a_range_is_in_it() {
        let all = Limits::each_at_its_ends();
        let refused: Vec<_> = all.iter().filter(|(_, limits)| limits.check().is_err()).collect();
        let is_longest = |limits: &Limits| format!("{limits:?}").contains("18446744073709551615.9");
        assert!(all.iter().all(|(_, limits)| !is_longest(limits) || limits.check().is_err()));
        // Of each field at most both ends of its type.
        let most = |name| refused.iter().filter(|(refused, _)| *refused == name).count();
        assert!(all.iter().all(|(name, _)| most(*name) <= 2));
    }
}
