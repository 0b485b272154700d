//! What others may ask of the ConfirmActor, and what it tells them.

use std::sync::Arc;

use tokio::{sync::oneshot, time::Instant};

use super::{CheckedAnswer, CheckedDecision};
use crate::{
    protocol::{AnswerError, CallId, Digest, Question, UserId},
    registry::RegisteredTool,
};

/// What others may ask of the [`ConfirmActor`](super::ConfirmActor).
#[derive(Debug)]
pub enum ConfirmMsg {
    /// Ask a person. Asking again about the same call takes the place of the first asking.
    Ask {
        /// The question.
        question: Box<Question>,
        /// The tool, against whose schema edited arguments are checked.
        tool: Arc<RegisteredTool>,
        /// When it expires.
        due: Instant,
        /// Hears how it ended.
        reply: oneshot::Sender<Verdict>,
    },
    /// An answer from whoever may give one. Exactly one answer to a question wins.
    Answer {
        /// The answer.
        answer: CheckedAnswer,
        /// Hears whether it counts, after it was recorded.
        reply: oneshot::Sender<Result<(), AnswerError>>,
    },
    /// Which tool an open question is about. The question stays open.
    Tool {
        /// The call that waits.
        call: CallId,
        /// What was shown.
        digest: Digest,
        /// Who wants to answer.
        user: UserId,
        /// The tool, or why no answer would count.
        reply: oneshot::Sender<Result<Arc<RegisteredTool>, AnswerError>>,
    },
    /// The asker does not want to know any more.
    Withdraw {
        /// The call whose question it was.
        call: CallId,
    },
    /// How many questions are open.
    OpenQuestions {
        /// The number.
        reply: oneshot::Sender<usize>,
    },
    /// Sent by the actor to itself when the earliest deadline is due.
    Due,
}

/// How a question ended.
#[derive(Debug)]
pub enum Verdict {
    /// A person decided.
    Decided {
        /// What.
        decision: CheckedDecision,
        /// Who.
        by: UserId,
        /// Whoever answered hears, once the decision is recorded, that it counts.
        recorded: oneshot::Sender<Result<(), AnswerError>>,
    },
    /// Nobody answered in time.
    Expired,
}
