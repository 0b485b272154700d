//! The reason why a model cannot be downloaded: one sentence with advice, and what helps.

use std::{
    error::Error,
    io::{self, ErrorKind},
    path::Path,
    time::Duration,
};

/// The reason why a model cannot be downloaded.
#[derive(Debug, thiserror::Error)]
#[error("{sentence}")]
pub(super) struct HubError {
    sentence: String,
    remedy: Remedy,
    #[source]
    cause: Option<Box<dyn Error + Send + Sync>>,
}

/// What helps against an error, besides the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// Another attempt, perhaps after the time that the hub asks for. An older model will do as
    /// well.
    Retry { after: Option<Duration> },
    /// An older model, because the error says nothing against it.
    OlderModel,
    /// Nothing.
    None,
}

impl HubError {
    /// Builds an error that neither another attempt nor an older model helps against.
    pub(super) fn new(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), remedy: Remedy::None, cause: None }
    }

    /// Builds the error of a host that does not answer, or not completely.
    pub(super) fn unreachable(host: &str, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let sentence = format!(
            "failed to reach {host}: check the network and try again; what has come is kept"
        );
        Self::new(sentence).retry(None).because(cause)
    }

    /// Builds the error of a file in the cache that cannot be written.
    pub(super) fn unwritten(path: &Path, cause: io::Error) -> Self {
        Self::new(unwritten(path, &cause)).older_will_do().because(cause)
    }

    /// Says that another attempt may succeed, perhaps after this time.
    pub(super) fn retry(self, after: Option<Duration>) -> Self {
        Self { remedy: Remedy::Retry { after }, ..self }
    }

    /// Says that an older model will do.
    pub(super) fn older_will_do(self) -> Self {
        Self { remedy: Remedy::OlderModel, ..self }
    }

    /// Adds the cause, which is shown if the person asks for it.
    pub(super) fn because(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// Tells whether another attempt may succeed.
    pub(super) fn passes(&self) -> bool {
        matches!(self.remedy, Remedy::Retry { .. })
    }

    /// Returns the wait that the hub asks for.
    pub(super) fn asked(&self) -> Option<Duration> {
        if let Remedy::Retry { after } = self.remedy { after } else { None }
    }

    /// Tells whether an older model will do.
    pub(super) fn leaves_the_older(&self) -> bool {
        self.remedy != Remedy::None
    }
}

fn unwritten(path: &Path, cause: &io::Error) -> String {
    let shown = path.display();
    let is_one_of = |kinds: &[ErrorKind]| kinds.contains(&cause.kind());
    if is_one_of(&[ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge]) {
        return format!(
            "there is no room for {shown}: make some, or name another cache with HF_HUB_CACHE; what has come is kept"
        );
    }
    if is_one_of(&[ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem]) {
        return format!(
            "{shown} may not be written: make the cache writable, or name another with HF_HUB_CACHE"
        );
    }
    format!("failed to write {shown}: check the cache, or name another with HF_HUB_CACHE")
}
