//! The errors of starting a child, and the ends of one.

use std::{error::Error, io, path::PathBuf, process::ExitStatus, sync::Arc, time::Duration};

use super::{frame::FrameError, watch::Hang, wire::ErrorReport};

/// A reason why a model in a process of its own cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChildError {
    /// The process could not be started.
    #[error("failed to start the model's process {}: check that it may be run", program.display())]
    Start {
        /// The program's path.
        program: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// The process reported why it cannot load the model; the text is its own.
    #[error(transparent)]
    NotLoaded {
        /// The report of the process.
        problem: ErrorReport,
    },
    /// The process ended before it had loaded the model.
    #[error("failed to load the model: {death}; another model, or a smaller one, may work")]
    Died {
        /// The end of the process.
        death: ChildDeath,
    },
    /// The thread that watches the process did not start, or ended.
    #[error("failed to watch over the model's process")]
    Thread {
        /// The system's error, if there was one.
        #[source]
        cause: Option<io::Error>,
    },
}

/// The end of a child.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the model's process {reason}{}{}", said_status(*.status), said_last(.last_words.as_deref()))]
pub struct ChildDeath {
    pub(super) reason: String,
    pub(super) status: Option<ExitStatus>,
    pub(super) last_words: Option<String>,
}

fn said_status(status: Option<ExitStatus>) -> String {
    status.map(|status| format!(" ({status})")).unwrap_or_default()
}

fn said_last(words: Option<&str>) -> String {
    words.map(|words| format!("; it said last: {words}")).unwrap_or_default()
}

/// The reason why a child is silent.
#[derive(Debug, thiserror::Error)]
pub(super) enum Silence {
    #[error("ended")]
    Closed,
    #[error("could not be read and was ended: {0}")]
    Read(io::Error),
    #[error("wrote {0} and was ended")]
    Garbage(FrameError),
    #[error("speaks protocol {0} and was ended")]
    Foreign(u32),
    #[error("lost what ran the model in it and was ended")]
    EngineDied,
    #[error("{0}")]
    Hangs(Hang),
}

/// The reason why no child runs, for all its requests.
pub(super) type Loss = Arc<dyn Error + Send + Sync>;

/// The reason why a request was not sent to a child.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unasked {
    #[error("the request ran when {deaths} processes of the model ended, and is not asked again")]
    Killer { deaths: u32 },
    #[error("the model's process cannot be started again")]
    Unloadable {
        #[source]
        cause: Loss,
    },
    #[error("the request is larger than a frame for the process may be")]
    TooLong(#[source] FrameError),
}

/// The longest time for a question to a child that needs no model.
pub(super) const ASK_WITHIN: Duration = Duration::from_secs(5);
