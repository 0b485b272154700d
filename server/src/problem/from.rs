//! What the library refuses, as problems of a request.

use std::{error::Error, time::Duration};

use madang::{
    error::{
        Bound, ClearError, DecisionError, DismissError, ImportError, InboxError, LimitExceeded,
        ResolveError, Scope, SessionError, TurnRefused,
    },
    language::Text,
    store::StoreError,
};
use tracing::warn;

use super::{Problem, ProblemName, Words};

/// The time after which a store that failed is tried again.
const STORE_RETRY: Duration = Duration::from_secs(5);
/// The time after which a busy session is tried again.
const BUSY_RETRY: Duration = Duration::from_secs(1);

impl Problem {
    /// Makes the problem of a session in which a turn or call has not ended.
    pub(crate) fn busy() -> Self {
        let problem = Self::new(
            ProblemName::Busy,
            "이 대화에서 진행 중인 턴이나 호출이 아직 끝나지 않았습니다.",
            "A turn or call of this session has not ended.",
        );
        problem.retry_after(BUSY_RETRY)
    }

    /// Makes the problem of a store that cannot be reached. The cause goes into the log only.
    pub(crate) fn store(cause: &(dyn Error + 'static)) -> Self {
        warn!(cause = chain(cause), "the store failed a request");
        let problem = Self::new(
            ProblemName::Store,
            "저장소에 접근할 수 없습니다. 같은 요청을 다시 보내도 안전합니다.",
            "The store cannot be reached. It is safe to send the request again.",
        );
        problem.retry_after(STORE_RETRY)
    }

    /// Makes the problem of a request whose answer did not come in time. What it began goes on.
    pub(crate) fn unanswered() -> Self {
        let problem = Self::new(
            ProblemName::Unanswered,
            "제때 답하지 못했습니다. 시작된 일은 이어집니다. 같은 키로 다시 보내면 안전합니다.",
            "The answer did not come in time. What began goes on. It is safe to send the request again with the same key.",
        );
        problem.retry_after(STORE_RETRY)
    }

    /// Gives the true problem where the library says that a session is closed. It says so of one that cannot be woken, too.
    pub(crate) fn of_server(self, is_draining: bool) -> Self {
        if is_draining || self.name() != ProblemName::Draining {
            return self;
        }
        let problem = Self::new(
            ProblemName::Store,
            "지금은 이 대화를 열 수 없습니다. 같은 요청을 다시 보내도 안전합니다.",
            "The chat cannot be opened now: its store cannot be read. It is safe to send the request again.",
        );
        problem.retry_after(STORE_RETRY)
    }

    /// Makes the problem of a turn whose text cannot be read from the store.
    pub(crate) fn unread() -> Self {
        let problem = Self::new(
            ProblemName::Store,
            "이 턴의 내용을 저장소에서 읽지 못했습니다. 다시 읽어도 안전합니다.",
            "The text of the turn could not be read from the store. It is safe to read it again.",
        );
        problem.retry_after(STORE_RETRY)
    }

    /// Makes the problem of a bound that admission has.
    pub(crate) fn bound(limit: &LimitExceeded) -> Self {
        let name = match limit.scope {
            Scope::Session | Scope::User => ProblemName::TooMany,
            Scope::All | _ => ProblemName::Overloaded,
        };
        let problem =
            Self::with_words(name, Words::of(|locale| Text::TooMany(limit).in_locale(locale)))
                .reached(limit.bound, limit.scope, limit.max);
        if limit.bound == Bound::StoredBytes {
            return problem.not_again(); // waiting makes no room
        }
        problem.retry_after(limit.retry_after.unwrap_or(BUSY_RETRY))
    }

    /// Makes the problem of a text or body with too many bytes.
    pub(crate) fn too_long(bytes: Option<usize>, max_bytes: usize) -> Self {
        let problem = Self::new(
            ProblemName::TooLong,
            format!("{max_bytes}바이트까지 보낼 수 있습니다."),
            format!("At most {max_bytes} bytes are allowed."),
        );
        let problem = problem.with("max_bytes", max_bytes);
        bytes.map_or(problem.clone(), |bytes| problem.with("bytes", bytes))
    }

    /// Makes the problem of a body with too many values.
    pub(crate) fn many_values(max_values: usize) -> Self {
        let problem = Self::new(
            ProblemName::TooLong,
            format!("JSON 값을 {max_values}개까지 보낼 수 있습니다."),
            format!("At most {max_values} JSON values are allowed in a body."),
        );
        problem.with("max_values", max_values)
    }

    /// Makes the problem of an unknown time zone.
    fn time_zone(name: &str) -> Self {
        let words = Words::new(
            format!("{name:?}은(는) 시간대 이름이 아닙니다. Asia/Seoul 같은 IANA 이름을 쓰세요."),
            format!("No time zone is named {name:?}. Give an IANA name, such as Asia/Seoul."),
        );
        Self::with_words(ProblemName::Malformed, words.clone()).at("/time_zone", words)
    }

    fn model(name: &str) -> Self {
        let words = Words::new(
            format!("{name:?}(이)라는 모델은 여기에 없습니다."),
            format!("No model here is named {name:?}."),
        );
        Self::with_words(ProblemName::Malformed, words.clone()).at("/model", words)
    }
}

impl From<TurnRefused> for Problem {
    fn from(refused: TurnRefused) -> Self {
        match refused {
            TurnRefused::Empty => Self::new(
                ProblemName::Empty,
                "보낼 내용이 없습니다.",
                "The text is empty after trimming.",
            ),
            TurnRefused::Busy => Self::busy(),
            TurnRefused::TooLong { bytes, max_bytes } => Self::too_long(Some(bytes), max_bytes),
            TurnRefused::InstructionsTooLong { bytes, max_bytes } => {
                Self::too_long(Some(bytes), max_bytes)
            }
            TurnRefused::UnknownTimeZone { name } => Self::time_zone(&name),
            TurnRefused::UnknownModel { name } => Self::model(&name),
            TurnRefused::OtherText => Self::new(
                ProblemName::KeyReused,
                "이 키로 이미 다른 내용을 보냈습니다.",
                "Another text was sent under this idempotency key.",
            ),
            TurnRefused::Overloaded(limit) => Self::bound(&limit),
            TurnRefused::Store(cause) => cause.into(),
            TurnRefused::Closed => Self::draining(),
            other => Self::store(&other),
        }
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Id(invalid) => {
                Self::malformed("쓸 수 없는 이름입니다.", format!("{invalid}."))
            }
            SessionError::Foreign(_) => Self::not_found(),
            SessionError::Busy(_) => Self::busy(),
            SessionError::OtherCall(_) => Self::new(
                ProblemName::KeyReused,
                "이 키로 이미 다른 도구나 인자를 보냈습니다.",
                "Another tool, session or other arguments were sent under this idempotency key.",
            ),
            SessionError::TimeZone(unknown) => Self::time_zone(&unknown.name),
            SessionError::Store { cause, .. } => cause.into(),
            SessionError::Overloaded(limit) => Self::bound(&limit),
            SessionError::Closed => Self::draining(),
            other => Self::store(&other),
        }
    }
}

impl From<InboxError> for Problem {
    fn from(error: InboxError) -> Self {
        match error {
            InboxError::Overloaded(limit) => Self::bound(&limit),
            InboxError::Closed => Self::draining(),
            other => Self::store(&other),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if !matches!(error, StoreError::TooMuchStored) {
            return Self::store(&error);
        }
        let problem = Self::new(
            ProblemName::TooMany,
            "이 사용자가 저장할 수 있는 양을 모두 썼습니다.",
            "The user has no room left in the store.",
        );
        problem.not_again()
    }
}

impl From<ImportError> for Problem {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Empty => {
                Self::new(ProblemName::Empty, "가져올 내용이 없습니다.", "The history has no text.")
            }
            ImportError::TooManyMessages { messages, max_messages } => Self::new(
                ProblemName::TooLong,
                format!("메시지를 {max_messages}개까지 가져올 수 있습니다."),
                format!("At most {max_messages} messages are allowed."),
            )
            .with("messages", messages),
            ImportError::TooLong { bytes, max_bytes } => Self::too_long(Some(bytes), max_bytes),
            ImportError::HasBegun | ImportError::Busy => Self::busy(),
            ImportError::Overloaded(limit) => Self::bound(&limit),
            ImportError::Store(cause) => cause.into(),
            ImportError::Closed => Self::draining(),
            other => Self::store(&other),
        }
    }
}

impl From<ClearError> for Problem {
    fn from(error: ClearError) -> Self {
        match error {
            ClearError::Busy => Self::busy(),
            ClearError::Overloaded(limit) => Self::bound(&limit),
            ClearError::Store(cause) => cause.into(),
            ClearError::Closed => Self::draining(),
            other => Self::store(&other),
        }
    }
}

impl From<DismissError> for Problem {
    fn from(error: DismissError) -> Self {
        match error {
            DismissError::NoTurn => Self::not_found(),
            DismissError::Closed => Self::draining(),
            other => Self::store(&other),
        }
    }
}

impl From<DecisionError> for Problem {
    fn from(error: DecisionError) -> Self {
        match error {
            DecisionError::NotOpen => Self::new(
                ProblemName::NotOpen,
                "이 확인 요청은 열려 있지 않습니다.",
                "The approval request was decided, has expired, was dismissed, or never existed.",
            ),
            DecisionError::WrongDigest => Self::new(
                ProblemName::NotOpen,
                "지금 열려 있는 확인 요청과 다른 내용에 대한 결정입니다. 요청은 열려 있습니다.",
                "The decision is about another request than the one that is open. That one stays open.",
            ),
            DecisionError::NotYours => Self::not_found(),
            DecisionError::DoesNotFit { problems } => {
                let problem = Self::new(
                    ProblemName::DoesNotFit,
                    "고친 인자가 도구에 맞지 않습니다. 요청은 열려 있습니다.",
                    "The edited arguments do not fit the tool. The request stays open.",
                );
                problems.into_iter().fold(problem, |all, one| {
                    let words = Words::of(|locale| Text::Breach(&one.breach).in_locale(locale));
                    all.at(format!("/arguments{}", one.pointer), words)
                })
            }
            DecisionError::MessageTooLong { bytes, max_bytes } => Self::new(
                ProblemName::DoesNotFit,
                format!("거절 메시지가 너무 깁니다. {max_bytes}바이트까지 쓸 수 있습니다."),
                format!("The message beside the no is too long. At most {max_bytes} bytes are allowed."),
            )
            .with("bytes", bytes)
            .with("max_bytes", max_bytes),
            DecisionError::NotRecorded => Self::store(&error),
            DecisionError::NotKnown => Self::new(
                ProblemName::DecisionNotKnown,
                "결정이 기록되었는지 저장소가 제때 알려 주지 않았습니다. /v1/calls/{call}을 확인하세요.",
                "The store did not tell in time whether the decision counts. Read /v1/calls/{call}.",
            )
            .retry_after(STORE_RETRY),
            other => Self::store(&other),
        }
    }
}

impl From<ResolveError> for Problem {
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::NotUnknown { effect } => {
                let problem = Self::new(
                    ProblemName::NotUnknown,
                    "이 호출의 결과는 알려져 있거나, 호출이 아직 끝나지 않았습니다.",
                    "The effect of this call is known, or the call has not ended.",
                );
                problem.with("effect", effect)
            }
            ResolveError::UnknownCall(_) | ResolveError::NotYours => Self::not_found(),
            ResolveError::StillRuns => Self::new(
                ProblemName::StillRuns,
                "도구가 아직 실행 중이며, 무엇을 했는지 스스로 알립니다.",
                "The tool still runs, and will report its effect itself.",
            ),
            ResolveError::Store(cause) => cause.into(),
            other => Self::store(&other),
        }
    }
}

/// Writes an error and its causes in one line, for the log.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
