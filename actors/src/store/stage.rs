//! The stages of a job with a waiting caller, and which side may still decide about it. Pure.

/// The stage of a job. Its caller's deadline can withdraw it only before a writer takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The job waits for a writer: no part of it has happened.
    Queued,
    /// A writer has taken the job, so only that writer knows its end.
    Taken {
        /// Whether its caller's time is up: then no part of it is done a second time.
        is_late: bool,
    },
    /// Its caller was answered, and nothing more happens.
    Answered,
}

/// An event of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happens {
    /// A writer takes the job.
    Begins,
    /// The writer undid all of it, and wants to do it once more.
    IsUndone,
    /// Its caller has waited for long enough.
    TimeIsUp,
    /// The writer has its result.
    IsAnswered,
    /// The holder dropped it.
    IsLost,
}

/// The answer that the caller receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// No part of the job has happened, and none will.
    Withdrawn,
    /// The writer's result.
    Answer,
    /// The end of the job is unknown.
    NotKnown,
}

impl Stage {
    /// Returns the next stage, and the answer to its caller. The writer continues the job only if
    /// the stage is [`Taken`](Self::Taken).
    pub(super) const fn after(self, happens: Happens) -> (Self, Option<Word>) {
        match (self, happens) {
            (Self::Queued, Happens::Begins) => (Self::Taken { is_late: false }, None),
            (Self::Queued, Happens::TimeIsUp | Happens::IsLost)
            | (Self::Taken { is_late: true }, Happens::IsUndone) => {
                (Self::Answered, Some(Word::Withdrawn))
            }
            (Self::Taken { is_late: false }, Happens::IsUndone) => (Self::Queued, None),
            // A "no" now might be wrong a moment later, so the job's writer answers.
            (Self::Taken { .. }, Happens::TimeIsUp) => (Self::Taken { is_late: true }, None),
            (Self::Taken { .. }, Happens::IsLost) => (Self::Answered, Some(Word::NotKnown)),
            (Self::Queued | Self::Taken { .. }, Happens::IsAnswered) => {
                (Self::Answered, Some(Word::Answer))
            }
            (Self::Queued, Happens::IsUndone)
            | (Self::Taken { .. }, Happens::Begins)
            | (Self::Answered, _) => (self, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const IN_TIME: Stage = Stage::Taken { is_late: false };
    const LATE: Stage = Stage::Taken { is_late: true };

    #[test]
    fn only_what_has_not_begun_is_withdrawn() {
        use Happens::*;
        use Stage::*;
        for (stage, happens, then, word) in [
            (Queued, Begins, IN_TIME, None),
            (Queued, IsUndone, Queued, None),
            (Queued, TimeIsUp, Answered, Some(Word::Withdrawn)),
            (Queued, IsAnswered, Answered, Some(Word::Answer)),
            (Queued, IsLost, Answered, Some(Word::Withdrawn)),
            (IN_TIME, Begins, IN_TIME, None),
            (IN_TIME, IsUndone, Queued, None),
            (IN_TIME, TimeIsUp, LATE, None),
            (IN_TIME, IsAnswered, Answered, Some(Word::Answer)),
            (IN_TIME, IsLost, Answered, Some(Word::NotKnown)),
            (LATE, Begins, LATE, None),
            (LATE, IsUndone, Answered, Some(Word::Withdrawn)),
            (LATE, TimeIsUp, LATE, None),
            (LATE, IsAnswered, Answered, Some(Word::Answer)),
            (LATE, IsLost, Answered, Some(Word::NotKnown)),
            (Answered, Begins, Answered, None),
            (Answered, IsUndone, Answered, None),
            (Answered, TimeIsUp, Answered, None),
            (Answered, IsAnswered, Answered, None),
            (Answered, IsLost, Answered, None),
        ] {
            assert_eq!(stage.after(happens), (then, word), "{stage:?} {happens:?}");
        }
    }

    fn anything() -> impl Strategy<Value = Happens> {
        prop_oneof![
            Just(Happens::Begins),
            Just(Happens::IsUndone),
            Just(Happens::TimeIsUp),
            Just(Happens::IsAnswered),
            Just(Happens::IsLost),
        ]
    }

    proptest! {
        /// Plays a writer as it is: it writes only a job that it has taken.
        #[test]
        fn a_caller_that_is_told_no_finds_nothing_written_in_any_order(
            happens in prop::collection::vec(anything(), 0..24),
        ) {
            let mut stage = Stage::Queued;
            let mut told = None;
            let mut is_begun = false;
            for happens in happens.into_iter().chain([Happens::IsLost]) {
                let (then, word) = stage.after(happens);
                // The writer does a part of it, before which the caller's "no" must never have
                // come.
                if happens == Happens::Begins && matches!(then, Stage::Taken { .. }) {
                    prop_assert_eq!(told, None);
                    is_begun = true;
                }
                is_begun &= happens != Happens::IsUndone;
                if let Some(word) = word {
                    prop_assert_eq!(told, None, "told once");
                    prop_assert!(word != Word::Withdrawn || !is_begun);
                    prop_assert!(word != Word::NotKnown || is_begun);
                    told = Some(word);
                }
                stage = then;
            }
            prop_assert!(told.is_some(), "each caller is told");
        }
    }
}
