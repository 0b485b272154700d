//! The messages of the ConfirmActor, and the verdicts that it gives.

use std::sync::Arc;

use tokio::{sync::oneshot, time::Instant};

use super::{CheckedAnswer, CheckedDecision};
use crate::{
    protocol::{ApprovalRequest, CallId, DecisionError, Digest, UserId},
    registry::RegisteredTool,
};

/// A message for the [`ConfirmActor`](super::ConfirmActor).
#[derive(Debug)]
pub enum ConfirmMsg {
    /// Opens a question to a person. Asking again about the same call replaces the question.
    Ask {
        /// The question as it is shown.
        request: Box<ApprovalRequest>,
        /// The tool, against whose schema edited arguments are checked.
        tool: Arc<RegisteredTool>,
        /// The moment at which the question expires.
        due: Instant,
        /// Receives how the question ended.
        reply: oneshot::Sender<QuestionVerdict>,
    },
    /// Answers a question. Exactly one answer to a question wins.
    Answer {
        /// The checked answer.
        answer: CheckedAnswer,
        /// Receives whether the answer counts, after it was recorded.
        reply: oneshot::Sender<Result<(), DecisionError>>,
    },
    /// Asks which tool an open question is about. The question stays open.
    Tool {
        /// The call that the question is about.
        call: CallId,
        /// The digest of what was shown.
        digest: Digest,
        /// The user that wants to answer.
        user: UserId,
        /// Receives the tool, or why no answer would count.
        reply: oneshot::Sender<Result<Arc<RegisteredTool>, DecisionError>>,
    },
    /// Closes a question because its call does not wait for it any more.
    Withdraw {
        /// The call that the question is about.
        call: CallId,
    },
    /// Counts the open questions.
    OpenRequests {
        /// Receives the number.
        reply: oneshot::Sender<usize>,
    },
    /// The earliest deadline is due. The actor sends this to itself.
    Due,
}

/// How a question ended.
#[derive(Debug)]
pub enum QuestionVerdict {
    /// A person decided.
    Decided {
        /// The decision, with its arguments checked.
        decision: CheckedDecision,
        /// The user that decided.
        by: UserId,
        /// Tells the answering caller, once the decision is recorded, that it counts.
        recorded: oneshot::Sender<Result<(), DecisionError>>,
    },
    /// The question expired without an answer.
    Expired,
}
