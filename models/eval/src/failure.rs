//! The failures of the program: one sentence for the person.

use std::error::Error;

/// The reason why the program ends before its work is done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An error; the sentence says what to do.
    #[error("{sentence}")]
    Explained {
        sentence: String,
        #[source]
        cause: Option<Box<dyn Error + Send + Sync>>,
    },
    /// The reader of the output has left (`| head`), which needs no message.
    #[error("the reader of the output is gone")]
    OutputClosed,
}

impl Failure {
    /// Builds a failure that its sentence explains completely.
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self::Explained { sentence: sentence.into(), cause: None }
    }

    /// Builds a failure from a sentence and its cause.
    pub(crate) fn because(
        sentence: impl Into<String>,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Explained { sentence: sentence.into(), cause: Some(cause.into()) }
    }

    /// Builds a failure from an error whose message is the sentence.
    pub(crate) fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Explained { sentence: error.to_string(), cause: Some(Box::new(error)) }
    }
}
