//! What a person is asked and may answer, and the digest that binds one to the other.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallId, Problem, SessionId, Timestamp, UserId};

/// Whether anybody can be asked in a turn. A property of the turn, not a count of subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// Nobody: a destructive call is cancelled as unreachable.
    #[default]
    Nobody,
    /// A person who holds a handle of the session.
    Person,
}

/// What dismissing the screen means for the turn that runs. In both, a handler that has begun commits
/// its writes and its result is discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDismiss {
    /// The model's stream and open questions end at once, and no new round starts.
    #[default]
    Stop,
    /// The loop goes on, an open question counts as dismissed, and the closed screen hears nothing more.
    Finish,
}

/// A SHA-256 over what was shown and what is run: tool, schema, arguments, user, session and call, and the question's text.
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

/// Every byte that a person is shown before they decide. It is kept with the question, and what they decide is bound to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The question in full, in the language of its turn.
    pub text: Arc<str>,
    /// The part of it that says what will happen.
    pub consequence: Arc<str>,
}

/// What a person is asked before a destructive call runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The call that waits.
    pub call: CallId,
    /// Its session.
    pub session: SessionId,
    /// Who may answer.
    pub user: UserId,
    /// The tool's name.
    pub tool: Arc<str>,
    /// The validated arguments: exactly what will run.
    pub arguments: Value,
    /// What will happen, in the session's language; from the tool, never from the model.
    pub consequence: String,
    /// The question in full: exactly these bytes are stored, and the digest covers them. Show this.
    pub text: Arc<str>,
    /// Binds the answer to all of the above.
    pub digest: Digest,
    /// After this the call is cancelled as expired.
    pub expires_at: Timestamp,
}

/// What a person decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Run it, once, with exactly these arguments.
    Approve,
    /// The same, and from now on run this tool without a question in this session: a [`Grant`](super::Grant).
    ApproveAlways,
    /// Do not.
    Deny,
    /// Do not, and tell the model this.
    DenyWith {
        /// In the person's own words; a blank one is a plain no.
        message: Arc<str>,
    },
    /// Run it, once, with these arguments in place of those that were shown. They are validated like a model's, but
    /// keys that the schema does not know are refused. Whoever typed them has seen them, so nobody is asked again.
    Edit {
        /// An object.
        arguments: Value,
    },
}

/// A person's answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The call that waits.
    pub call: CallId,
    /// What was shown.
    pub digest: Digest,
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
    /// Who answers.
    pub user: UserId,
}

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
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
        /// What is wrong with them, and where.
        problems: Vec<Problem>,
    },
    /// The message beside a no is too long. The question stays open.
    #[error("the message has {bytes} bytes as JSON, {max_bytes} are allowed")]
    MessageTooLong {
        /// How long it is, as JSON.
        bytes: usize,
        /// How long it may be.
        max_bytes: usize,
    },
    /// The answer could not be recorded; nothing was run.
    #[error("the answer could not be recorded")]
    NotRecorded,
    /// Nobody said in time whether the answer counts: the ledger knows.
    #[error("it is not known whether the answer counts")]
    NotKnown,
}
