//! What each row of the table of limits becomes: a field, its default, and a range that a runtime
//! can keep.

use std::{fmt::Debug, ops::RangeInclusive, time::Duration};

/// Longer than any process runs, and short enough that adding it to a moment does not overflow.
pub(super) const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// The shortest time in which a step can happen.
pub(super) const SHORTEST: Duration = Duration::from_millis(1);

/// A limit that no runtime can keep.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the limit {name} is {value}, and must be at least {least} and at most {most}")]
pub struct LimitError {
    /// The field of [`Limits`](super::Limits).
    pub name: &'static str,
    /// The value that was set.
    pub value: String,
    /// The least value allowed.
    pub least: String,
    /// The greatest value allowed.
    pub most: String,
}

/// Makes the bounds of a table whose rows have the reason, the name, the type, the default and the
/// range of each.
macro_rules! limits {
    ($($(#[$reason:meta])* $name:ident: $type:ty = $default:expr, in $range:expr;)*) => {
        /// The bounds of a runtime. `Limits::default()` is meant for a small server or a desktop
        /// application. Set those that you need as `Limits { max_rounds: 8, ..Limits::default() }`.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$reason])* pub $name: $type,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Limits {
            /// Checks that a runtime can keep these limits. A runtime does this at its start.
            ///
            /// # Errors
            /// [`LimitError`](super::LimitError) names the first limit that is too small or too
            /// large.
            pub fn check(&self) -> Result<(), super::LimitError> {
                $(super::limit_ranges::fits(stringify!($name), &self.$name, &($range))?;)*
                Ok(())
            }

            /// Makes limits of which one is at an end of its range or of its type, with its name,
            /// for tests.
            #[cfg(any(test, feature = "testing"))]
            #[must_use]
            pub fn each_at_its_ends() -> Vec<(&'static str, Self)> {
                let mut all = Vec::new();
                $(all.extend(super::limit_ranges::ends_of($range).map(|end| {
                    (stringify!($name), Self { $name: end, ..Self::default() })
                }));)*
                all
            }
        }
    };
}
pub(super) use limits;

pub(super) fn fits<T: PartialOrd + Debug>(
    name: &'static str,
    value: &T,
    range: &RangeInclusive<T>,
) -> Result<(), LimitError> {
    if range.contains(value) {
        return Ok(());
    }
    let [value, least, most] = [value, range.start(), range.end()].map(|it| format!("{it:?}"));
    Err(LimitError { name, value, least, most })
}

/// A type of limits.
#[cfg(any(test, feature = "testing"))]
pub(super) trait Ends: Sized {
    const ENDS: [Self; 2];
}

/// Returns the ends of a type, and of a range in it.
#[cfg(any(test, feature = "testing"))]
pub(super) fn ends_of<T: Ends>(range: RangeInclusive<T>) -> impl Iterator<Item = T> {
    T::ENDS.into_iter().chain(<[T; 2]>::from(range.into_inner()))
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
    use super::{super::Limits, *};

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
