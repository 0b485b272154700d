//! Turns what the library refuses into problems of a request.

use std::{error, time::Duration};

use madang::{
    Error,
    error::{Bound, DecisionError, LimitExceeded, Scope},
    language::{Locale, Text},
    store::StoreError,
};
use tracing::warn;

use super::{Problem, ProblemName, rule::BrokenRule};

/// How long a client waits after the store failed.
const STORE_RETRY: Duration = Duration::from_secs(5);
/// How long a client waits after a session was busy.
const BUSY_RETRY: Duration = Duration::from_secs(1);

impl Problem {
    /// Makes the problem of a session in which a turn or call has not ended.
    pub(crate) fn busy() -> Self {
        let problem = Self::new(ProblemName::Busy, "A turn or call of this session has not ended.");
        problem.retry_after(BUSY_RETRY)
    }

    /// Makes the problem of a store that cannot be reached. Its cause is only logged.
    pub(crate) fn store(cause: &(dyn error::Error + 'static)) -> Self {
        warn!(cause = chain(cause), "the store failed a request");
        let problem = Self::new(
            ProblemName::Store,
            "The store cannot be reached. It is safe to send the request again.",
        );
        problem.retry_after(STORE_RETRY)
    }

    /// Makes the problem of a request whose answer did not come in time. Work that it began
    /// continues.
    pub(crate) fn unanswered() -> Self {
        let problem = Self::new(
            ProblemName::Unanswered,
            "The answer did not come in time. Work that the request began continues. It is safe to send the request again with the same key.",
        );
        problem.retry_after(STORE_RETRY)
    }

    /// Returns the true problem if the library says that a session is closed. It also says so of
    /// one that cannot be woken.
    pub(crate) fn of_server(self, is_draining: bool) -> Self {
        if is_draining || self.name() != ProblemName::Draining {
            return self;
        }
        let problem = Self::new(
            ProblemName::Store,
            "The chat cannot be opened now: its store cannot be read. It is safe to send the request again.",
        );
        problem.retry_after(STORE_RETRY)
    }

    /// Makes the problem of a turn whose text cannot be read from the store.
    pub(crate) fn unread() -> Self {
        let problem = Self::new(
            ProblemName::Store,
            "The text of the turn could not be read from the store. It is safe to read it again.",
        );
        problem.retry_after(STORE_RETRY)
    }

    /// Makes the problem of a bound of the admission.
    pub(crate) fn bound(limit: &LimitExceeded) -> Self {
        let name = match limit.scope {
            Scope::Session | Scope::User => ProblemName::TooMany,
            Scope::All | _ => ProblemName::Overloaded,
        };
        let problem = Self::new(name, Text::TooMany(limit).in_locale(Locale::EN)).reached(
            limit.bound,
            limit.scope,
            limit.max,
        );
        if limit.bound == Bound::StoredBytes {
            return problem.not_again(); // waiting makes no room
        }
        problem.retry_after(limit.retry_after.unwrap_or(BUSY_RETRY))
    }

    /// Makes the problem of a text or body with too many bytes.
    pub(crate) fn too_long(bytes: Option<usize>, max_bytes: usize) -> Self {
        let problem =
            Self::new(ProblemName::TooLong, format!("At most {max_bytes} bytes are allowed."));
        let problem = problem.with("max_bytes", max_bytes);
        bytes.map_or(problem.clone(), |bytes| problem.with("bytes", bytes))
    }

    /// Makes the problem of a body with too many values.
    pub(crate) fn many_values(max_values: usize) -> Self {
        let problem = Self::new(
            ProblemName::TooLong,
            format!("At most {max_values} JSON values are allowed in a body."),
        );
        problem.with("max_values", max_values)
    }

    /// Makes the problem of an unknown time zone.
    fn time_zone(name: &str) -> Self {
        let detail =
            format!("No time zone is named {name:?}. Give an IANA name, such as Asia/Seoul.");
        Self::unknown_value("/time_zone", detail)
    }

    fn model(name: &str) -> Self {
        let detail = format!("No model here is named {name:?}.");
        Self::unknown_value("/model", detail)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Closed => Self::draining(),
            Error::Overloaded(limit) => Self::bound(&limit),
            Error::Store(cause) => cause.into(),
            Error::Busy | Error::HasBegun => Self::busy(),
            Error::Id(invalid) => Self::malformed(format!("{invalid}.")),
            Error::Foreign(_)
            | Error::Deleted
            | Error::NoTurn
            | Error::UnknownEntry(_)
            | Error::UnknownCall(_) => Self::not_found(),
            Error::Empty => Self::new(ProblemName::Empty, "A text is empty after trimming."),
            Error::TooLong { bytes, max_bytes }
            | Error::InstructionsTooLong { bytes, max_bytes } => {
                Self::too_long(Some(bytes), max_bytes)
            }
            Error::TooManyMessages { messages, max_messages } => Self::new(
                ProblemName::TooLong,
                format!("At most {max_messages} messages are allowed."),
            )
            .with("messages", messages),
            Error::TimeZone(unknown) => Self::time_zone(&unknown.name),
            Error::UnknownModel { name } => Self::model(&name),
            Error::NoModel => Self::new(
                ProblemName::NoModel,
                "This server has no model. Chats can be read, and tools called.",
            ),
            Error::OtherText => Self::new(
                ProblemName::KeyReused,
                "Another text was sent under this idempotency key.",
            ),
            Error::OtherCall(_) => Self::new(
                ProblemName::KeyReused,
                "Another tool, session or other arguments were sent under this idempotency key.",
            ),
            Error::StillRuns => Self::new(
                ProblemName::StillRuns,
                "The tool still runs, and will report its effect itself.",
            ),
            Error::NotUnknown { effect } => {
                let problem = Self::new(
                    ProblemName::NotUnknown,
                    "The effect of this call is known, or the call has not ended.",
                );
                problem.with("effect", effect)
            }
            other => Self::store(&other),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if !matches!(error, StoreError::TooMuchStored) {
            return Self::store(&error);
        }
        let problem = Self::new(ProblemName::TooMany, "The user has no room left in the store.");
        problem.not_again()
    }
}

impl From<DecisionError> for Problem {
    fn from(error: DecisionError) -> Self {
        match error {
            DecisionError::NotOpen => Self::new(ProblemName::NotOpen, "The approval request was decided, has expired, was dismissed, or never existed."),
            DecisionError::WrongDigest => Self::new(ProblemName::NotOpen, "The decision is about another request than the one that is open. That one stays open."),
            DecisionError::NotYours => Self::not_found(),
            DecisionError::DoesNotFit { problems } => {
                let problem = Self::new(ProblemName::DoesNotFit, "The edited arguments do not fit the tool. The request stays open.");
                problems.into_iter().fold(problem, |all, one| {
                    let detail = Text::Breach(&one.breach).in_locale(Locale::EN);
                    let rule = BrokenRule::of(&one.breach);
                    all.breaks(format!("/arguments{}", one.pointer), detail, rule)
                })
            }
            DecisionError::MessageTooLong { bytes, max_bytes } => Self::new(ProblemName::DoesNotFit, format!("The message beside the no is too long. At most {max_bytes} bytes are allowed."))
            .with("bytes", bytes)
            .with("max_bytes", max_bytes),
            DecisionError::NotRecorded => Self::store(&error),
            DecisionError::NotKnown => Self::new(ProblemName::DecisionNotKnown, "The store did not answer in time, so it is not known whether the decision was recorded. Read /v1/calls/{call}.")
            .retry_after(STORE_RETRY),
            other => Self::store(&other),
        }
    }
}

/// Writes an error and its causes in one line, for the log.
fn chain(error: &(dyn error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
