//! Questions to a person, their answers, and the digest that binds one to the other.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallId, Problem, SessionId, Timestamp, UserId};

/// Tells whether a person can be asked in a turn. A property of the turn, not a count of subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// No person can be asked: a destructive call is cancelled as unreachable.
    #[default]
    Nobody,
    /// A person with a handle of the session can be asked.
    Person,
}

/// The effect of a dismissal on the running turn. In both cases a handler that has begun commits its writes, and its
/// result is discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDismiss {
    /// Ends the model's stream and open questions at once; no new round starts.
    #[default]
    Stop,
    /// Lets the loop go on. An open question counts as dismissed, and the dismissed reader hears nothing more.
    Finish,
}

/// A SHA-256 over what was shown and what is run: tool, schema, arguments, user, session and call, and the question's
/// text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Wraps a hash.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Gives the hash.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written with every step of every call, so not digit by digit.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let both = |byte: &u8| [byte >> 4, byte & 15].map(|half| DIGITS[half as usize]);
        let digits: [[u8; 2]; 32] = self.0.each_ref().map(both);
        f.write_str(std::str::from_utf8(digits.as_flattened()).expect("the digits are ASCII"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        const NOT_A_DIGEST: &str = "a digest has 64 hexadecimal digits";
        if text.len() != 64 || !text.is_ascii() {
            return Err(NOT_A_DIGEST);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| NOT_A_DIGEST)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NOT_A_DIGEST)?;
        }
        Ok(Self(bytes))
    }
}

/// The bytes that a person is shown before deciding. They are kept with the question, and the decision is bound to
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The question in full, in the language of its turn.
    pub text: Arc<str>,
    /// The part of the question that says what will happen.
    pub consequence: Arc<str>,
}

/// The question that a person is asked before a destructive call runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The call that waits for the answer.
    pub call: CallId,
    /// The session of the call.
    pub session: SessionId,
    /// The user that may answer.
    pub user: UserId,
    /// The tool's name.
    pub tool: Arc<str>,
    /// The validated arguments: exactly what will run.
    pub arguments: Value,
    /// What will happen, in the session's language; from the tool, never from the model.
    pub consequence: String,
    /// The question in full: exactly these bytes are stored, and the digest covers them. Show this.
    pub text: Arc<str>,
    /// The digest that binds the answer to all of the above.
    pub digest: Digest,
    /// The moment at which the call is cancelled as expired.
    pub expires_at: Timestamp,
}

/// A person's decision about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Runs the call, once, with exactly these arguments.
    Approve,
    /// Runs the call, and from now on this tool without a question in this session: a [`StandingApproval`](super::StandingApproval).
    ApproveAlways,
    /// Ends the call without running it.
    Deny,
    /// Ends the call without running it, and tells the model this.
    DenyWith {
        /// The person's own words; a blank message is a plain no.
        message: Arc<str>,
    },
    /// Runs the call, once, with these arguments in place of those that were shown. They are validated like a model's,
    /// but keys that the schema does not know are refused. The person has seen what it typed, so it is not asked again.
    Edit {
        /// The arguments, as an object.
        arguments: Value,
    },
}

/// A person's answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The call that waits for the answer.
    pub call: CallId,
    /// The digest of what was shown.
    pub digest: Digest,
    /// The person's decision.
    #[serde(flatten)]
    pub decision: Decision,
    /// The user that answers.
    pub user: UserId,
}

/// A reason why an answer does not count.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// No such question is open: it was answered, expired, dismissed, or never asked.
    #[error("no such question is open")]
    NotOpen,
    /// The answer is for other arguments than those that were shown. The question stays open.
    #[error("the answer is for another question than the one that is open")]
    WrongDigest,
    /// The question is for another user. It stays open.
    #[error("the question is for another user")]
    NotYours,
    /// The edited arguments do not fit the tool. The question stays open.
    #[error("the edited arguments do not fit the tool")]
    DoesNotFit {
        /// The problems, each with its place.
        problems: Vec<Problem>,
    },
    /// The message beside a no is too long. The question stays open.
    #[error("the message has {bytes} bytes as JSON, {max_bytes} are allowed")]
    MessageTooLong {
        /// The length of the message as JSON.
        bytes: usize,
        /// The most bytes that a message may have.
        max_bytes: usize,
    },
    /// The answer could not be recorded; the call does not run.
    #[error("the answer could not be recorded")]
    NotRecorded,
    /// The store did not tell in time whether the answer counts: the ledger has it.
    #[error("it is not known whether the answer counts")]
    NotKnown,
}
