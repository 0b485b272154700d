//! The reasons why a stream cannot be read further.

use std::borrow::Cow;

use madang_actors::port::ModelError;

use super::{refusal::ModelRefusal, words::Words};

/// A stream cannot be read on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// A frame is not what the format says.
    #[error("the provider's stream cannot be read: {0}")]
    BadOutput(Cow<'static, str>),
    /// The response is not an answer, but a page, a text or JSON of another kind.
    #[error("the provider sent something else than an answer")]
    NoAnswer(Words),
    /// The provider refuses to answer.
    #[error("the provider refuses to answer")]
    Refused(Words),
    /// The provider says that it failed.
    #[error("the provider failed")]
    Failed(Box<ModelRefusal>),
    /// The bytes ended before the answer did.
    #[error("the answer has no end")]
    Unended,
}

impl Broken {
    pub(super) fn bad(what: impl Into<Cow<'static, str>>) -> Self {
        Self::BadOutput(what.into())
    }

    pub(super) fn failed(refusal: ModelRefusal) -> Self {
        Self::Failed(Box::new(refusal))
    }

    /// Takes what a provider said in place of an answer.
    pub(super) fn refused(said: &str) -> Self {
        Self::Refused(Words::of_text(said))
    }

    /// Returns the error. A failure of the provider and a missing end count as a lost connection.
    pub(super) fn into_error(self, key: Option<&str>) -> ModelError {
        match &self {
            Self::BadOutput(_) => ModelError::failed_by(ModelError::BAD_OUTPUT, self),
            // The words are for the person alone, and a cause is logged.
            Self::NoAnswer(words) => {
                ModelError::failed(ModelError::BAD_OUTPUT).with_words(words.said(key))
            }
            Self::Refused(words) => {
                ModelError::failed(ModelError::REFUSED).with_words(words.said(key))
            }
            Self::Failed(_) | Self::Unended => ModelError::failed(ModelError::CONNECTION_LOST),
        }
    }
}
