//! The failures of the program: one sentence for the person, and the causes with `--verbose`.

use std::error::Error;

use madang::{
    SessionId,
    store::{OpenError, StoreError, WriteFault},
};

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

    /// Builds a failure of the store, with advice if the fault is known.
    pub(crate) fn of_store(
        what: impl Into<String>,
        cause: impl Error + Send + Sync + 'static,
    ) -> Self {
        let advice = WriteFault::among(&cause).map(WriteFault::to_string);
        let advice = advice.unwrap_or_else(|| "check the database and its disk".to_owned());
        Self::because(format!("{}: {advice}", what.into()), cause)
    }

    /// Builds a failure of reading the ledger.
    pub(crate) fn of_ledger(cause: StoreError) -> Self {
        Self::because("failed to read the ledger: check the database file", cause)
    }

    /// Builds the failure that the database has no such session.
    pub(crate) fn no_session(session: &SessionId) -> Self {
        Self::new(format!(
            "there is no session {session:?} in this database: give an id that `madang chat` named, or leave out --session",
            session = session.as_str(),
        ))
    }

    /// Builds a failure from an error whose message is the sentence.
    pub(crate) fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Explained { sentence: error.to_string(), cause: Some(Box::new(error)) }
    }

    /// Tells whether another process holds the database.
    pub(crate) fn is_of_a_held_database(&self) -> bool {
        let Self::Explained { cause: Some(cause), .. } = self else { return false };
        matches!(cause.downcast_ref(), Some(OpenError::Held { .. }))
    }
}
