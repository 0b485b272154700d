//! The three texts that the model writes in place of an answer that code writes.

/// The most bytes of an answer that is a placeholder, with blanks around it.
const MAX_BYTES: usize = 32;

/// What the model leaves to code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placeholder {
    /// What each call of this turn did.
    Outcome,
    /// The hits of the last result, and the question which one is meant.
    Which,
    /// How many the last listing found.
    Count,
}

impl Placeholder {
    pub(super) const ALL: [Self; 3] = [Self::Outcome, Self::Which, Self::Count];

    /// Returns the text that the model writes. It was trained on these.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Outcome => "{result}",
            Self::Which => "{which}",
            Self::Count => "{count}",
        }
    }

    /// Returns the placeholder that a whole answer is.
    pub(super) fn of(answer: &str) -> Option<Self> {
        let is_short = answer.len() <= MAX_BYTES;
        Self::ALL.into_iter().find(|one| is_short && answer.trim() == one.as_str())
    }

    /// Returns whether an answer that begins so may still become a placeholder.
    pub(super) fn may_begin(answer: &str) -> bool {
        let begun = answer.trim_start();
        answer.len() <= MAX_BYTES
            && (Self::of(answer).is_some()
                || Self::ALL.into_iter().any(|one| one.as_str().starts_with(begun)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_answer_is_a_placeholder_and_nothing_else_is() {
        assert_eq!(Placeholder::of("{result}"), Some(Placeholder::Outcome));
        assert_eq!(Placeholder::of(" {which}\n"), Some(Placeholder::Which));
        assert_eq!(Placeholder::of("{count}"), Some(Placeholder::Count));
        for answer in ["", "{result", "{result} and more", "{other}", "{result}{which}"] {
            assert_eq!(Placeholder::of(answer), None, "{answer}");
        }
        assert_eq!(Placeholder::of(&format!("{}{{count}}", " ".repeat(MAX_BYTES))), None);
    }

    #[test]
    fn an_answer_may_be_a_placeholder_as_long_as_it_begins_like_one() {
        for begun in ["", " ", "{", "{res", "\n{wh", "{count}", "{result} \n"] {
            assert!(Placeholder::may_begin(begun), "{begun:?}");
        }
        for other in ["h", "{x", "{result}.", "{count} of", "{ result", " { "] {
            assert!(!Placeholder::may_begin(other), "{other:?}");
        }
        assert!(!Placeholder::may_begin(&" ".repeat(MAX_BYTES + 1)));
    }
}
