//! The messages between the program and its child, one for each frame.

use std::{error::Error, sync::Arc, time::Duration};

use madang_actors::{
    port::{Caveat, ModelError, ModelInfo, Unconstrained},
    protocol::{Completion, CompletionRequest, ToolSpec, Usage},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of these messages: both sides have the same, or part at once.
pub(super) const PROTOCOL: u32 = 2;

/// A message of the program.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    /// Completes a request; `id` names it on this pipe.
    Complete { id: u64, request: CompletionRequest },
    /// Ends a request soon.
    Cancel { id: u64 },
    /// Asks which limits of these tools the model's calls may exceed.
    Unconstrained { id: u64, tools: Vec<ToolSpec> },
    /// Asks for a sign of life.
    Ping,
}

/// The properties of a loaded model, as its child reports them and the parent keeps them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Loaded {
    pub(super) info: ModelInfo,
    pub(super) caveats: Vec<Caveat>,
}

/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tell {
    /// The first message.
    Hello {
        protocol: u32,
    },
    /// The loaded part of the model, from 0 to 1.
    Loading {
        done: f32,
    },
    /// The model is loaded.
    Loaded(Loaded),
    /// The model cannot be loaded; the child ends.
    NotLoaded {
        problem: ErrorReport,
    },
    Began {
        id: u64,
    },
    Text {
        id: u64,
        text: String,
    },
    Thinking {
        id: u64,
        text: String,
    },
    Ended {
        id: u64,
        result: Result<Completion, Failure>,
    },
    Unconstrained {
        id: u64,
        parts: Vec<Unconstrained>,
    },
    /// Answers a ping.
    Pong {
        report: ModelReport,
    },
}

/// The report of a served model on its own work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelReport {
    /// Grows with all work of the model, such as decodes. While it grows the child does not hang,
    /// even if nothing is streamed. `None` if the model does not count.
    pub progress: Option<u64>,
    /// Figures for people, in any form.
    pub figures: Value,
}

/// A [`ModelError`] on its way through the pipe.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Failure {
    Cancelled {
        usage: Usage,
    },
    Overloaded {
        retry_after: Option<Duration>,
    },
    Failed {
        kind: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Arc<str>>,
        cause: Option<ErrorReport>,
    },
}

impl From<&ModelError> for Failure {
    fn from(error: &ModelError) -> Self {
        match error {
            ModelError::Cancelled { usage } => Self::Cancelled { usage: *usage },
            ModelError::Overloaded { retry_after } => {
                Self::Overloaded { retry_after: *retry_after }
            }
            ModelError::Failed { kind, said, cause } => {
                let cause = cause.as_deref().map(|cause| ErrorReport::of(cause as _));
                Self::Failed { kind: kind.to_string(), said: said.clone(), cause }
            }
            other => {
                let cause = Some(ErrorReport::of(other));
                Self::Failed { kind: other.kind().to_owned(), said: None, cause }
            }
        }
    }
}

impl From<Failure> for ModelError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Cancelled { usage } => Self::Cancelled { usage },
            Failure::Overloaded { retry_after } => Self::Overloaded { retry_after },
            Failure::Failed { kind, said, cause: Some(cause) } => {
                Self::failed_by(kind, cause).with_words(said)
            }
            Failure::Failed { kind, said, cause: None } => Self::failed(kind).with_words(said),
        }
    }
}

/// An error of the child as text, with its causes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{words}")]
pub struct ErrorReport {
    words: String,
    #[source]
    cause: Option<Box<Self>>,
}

/// Deeper causes are cut.
const MAX_CAUSES: usize = 16;

impl ErrorReport {
    pub(super) fn of(error: &(dyn Error + 'static)) -> Self {
        Self::within(error, MAX_CAUSES)
    }

    fn within(error: &(dyn Error + 'static), causes: usize) -> Self {
        let cause = error.source().filter(|_| causes > 0);
        let cause = cause.map(|cause| Box::new(Self::within(cause, causes - 1)));
        Self { words: error.to_string(), cause }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn words(error: &dyn Error) -> Vec<String> {
        let causes = error.source().map(words).unwrap_or_default();
        [vec![error.to_string()], causes].concat()
    }

    #[test]
    fn an_error_arrives_with_all_its_causes() {
        let cause = io::Error::other(ModelError::failed_by("Odd", io::Error::other("deepest")));
        let sent = ModelError::failed_by("Template", cause);
        let json = serde_json::to_string(&Failure::from(&sent)).unwrap();
        let came = ModelError::from(serde_json::from_str::<Failure>(&json).unwrap());
        assert_eq!(words(&came), words(&sent));
        assert_eq!(words(&came).last().unwrap(), "deepest");
    }

    #[test]
    fn what_was_spent_and_when_to_come_again_arrives() {
        let usage = Usage { prompt_tokens: 3, cached_tokens: 2, completion_tokens: 1 };
        let retry_after = Some(Duration::from_millis(1_500));
        for sent in [ModelError::Cancelled { usage }, ModelError::Overloaded { retry_after }] {
            let json = serde_json::to_string(&Failure::from(&sent)).unwrap();
            let came = ModelError::from(serde_json::from_str::<Failure>(&json).unwrap());
            assert_eq!(format!("{came:?}"), format!("{sent:?}"));
        }
    }
}
