//! The failures of the program: one sentence for the person, and the causes with `--verbose`.

use std::{error::Error, fmt, process::ExitCode};

use madang::store::{OpenError, WriteFault};

use crate::output;

/// The reason why the program ends before its work is done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error; the sentence says what to do.
    Told { sentence: String, cause: Option<Box<dyn Error + Send + Sync>> },
    /// The reader of the output has left (`| head`), which needs no message.
    Unheard,
}

impl Failure {
    /// Builds a failure that its sentence explains completely.
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self::Told { sentence: sentence.into(), cause: None }
    }

    /// Builds a failure from a sentence and its cause.
    pub(crate) fn because(
        sentence: impl Into<String>,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Told { sentence: sentence.into(), cause: Some(cause.into()) }
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

    /// Builds a failure from an error whose message is the sentence.
    pub(crate) fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Told { sentence: error.to_string(), cause: Some(Box::new(error)) }
    }

    /// Tells whether another process holds the database.
    pub(crate) fn is_of_a_held_database(&self) -> bool {
        let Self::Told { cause: Some(cause), .. } = self else { return false };
        matches!(cause.downcast_ref(), Some(OpenError::Held { .. }))
    }

    /// Prints the failure, and returns the exit code.
    pub(crate) fn tell(&self, with_causes: bool) -> ExitCode {
        match self {
            Self::Told { sentence, cause } => {
                output::complain(sentence);
                let mut cause =
                    cause.as_deref().map(|cause| cause as &dyn Error).filter(|_| with_causes);
                while let Some(error) = cause {
                    let words = error.to_string();
                    if words != *sentence {
                        output::complain(&format!("because: {words}"));
                    }
                    cause = error.source();
                }
                ExitCode::FAILURE
            }
            Self::Unheard => ExitCode::SUCCESS,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Told { sentence, .. } => sentence,
            Self::Unheard => "the reader of the output is gone",
        })
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Told { cause, .. } => cause.as_deref().map(|cause| cause as _),
            Self::Unheard => None,
        }
    }
}
