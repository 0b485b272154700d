//! Decides whether another model is asked in place of one that failed. Pure.

use crate::port::ModelError;

/// Returns the index of the model to ask instead of this one, which failed: the next in the order,
/// if there is one. A model is replaced only before it has said anything, because a person must not
/// read the beginnings of two answers, and only if it is overloaded or lost its connection.
///
/// The order only leads on. What a turn sends to a model reaches no model before it.
pub(super) fn next_model(
    failed: usize,
    models: usize,
    error: &ModelError,
    has_begun: bool,
) -> Option<usize> {
    let may_fall_back =
        matches!(error.kind(), ModelError::OVERLOADED | ModelError::CONNECTION_LOST) && !has_begun;
    may_fall_back.then_some(failed + 1).filter(|next| *next < models)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Usage;

    #[test]
    fn the_next_model_follows_only_one_that_is_overloaded_or_unreachable_and_silent() {
        let overloaded = || ModelError::Overloaded { retry_after: None };
        for error in [
            overloaded(),
            ModelError::failed(ModelError::OVERLOADED),
            ModelError::failed(ModelError::CONNECTION_LOST),
        ] {
            let next = |failed, has_begun| next_model(failed, 3, &error, has_begun);
            assert_eq!([0, 1, 2].map(|failed| next(failed, false)), [Some(1), Some(2), None]);
            assert_eq!([0, 1, 2].map(|failed| next(failed, true)), [None; 3], "{error}");
        }
        for kind in [
            ModelError::TIMEOUT,
            ModelError::ENGINE_DIED,
            ModelError::KILLED_ENGINE,
            ModelError::BAD_OUTPUT,
            ModelError::REPETITION,
            ModelError::TOO_LONG,
            ModelError::UNAUTHORIZED,
            ModelError::REFUSED,
            ModelError::PROMPT_TOO_LONG,
            ModelError::SCRIPT_EXHAUSTED,
        ] {
            assert_eq!(next_model(0, 3, &ModelError::failed(kind), false), None, "{kind}");
        }
        let cancelled = ModelError::Cancelled { usage: Usage::default() };
        assert_eq!(next_model(0, 3, &cancelled, false), None);
    }
}
