//! Why a store did not do what was asked.

use std::{error::Error, sync::Arc};

use crate::{failpoint::Failed, ledger::IllegalTransition};

/// Why the store did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// A call cannot take this step. Nothing of the job was written.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// The fact contradicts what is stored. Nothing of the job was written.
    #[error("the store refused: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// So much is stored of the user that no turn may begin. Nothing of the job was written.
    #[error("as much is stored of the user as is allowed")]
    TooMuchStored,
    /// The store cannot be used now. Nothing of the job was written.
    #[error("the store is unavailable")]
    Unavailable {
        /// The cause.
        #[source]
        cause: Arc<dyn Error + Send + Sync>,
    },
    /// The commit gave no answer that can be trusted: only the ledger knows whether the job was written.
    #[error("the end of the commit is not known")]
    Unknown {
        /// The cause.
        #[source]
        cause: Arc<dyn Error + Send + Sync>,
    },
    /// Too many jobs wait already. Nothing of the job was written.
    #[error("too many writes are waiting for the store")]
    Overloaded,
    /// No writer came to the job in time. It was withdrawn: nothing of it was written, and nothing will be.
    #[error("the store had no time for the write, which was withdrawn")]
    Withdrawn,
    /// A writer began the job and gave no answer: only the ledger knows whether it was written.
    #[error("the store did not answer")]
    Silent,
}

impl StoreError {
    /// A refusal.
    #[must_use]
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::Refused { reason: reason.into() }
    }

    /// The store cannot be used now.
    #[must_use]
    pub fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable { cause: cause.into().into() }
    }

    /// The end of a commit is not known.
    #[must_use]
    pub fn unknown(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unknown { cause: cause.into().into() }
    }

    /// Whether the job may have been written all the same, so that the ledger must be read.
    #[must_use]
    pub const fn may_have_happened(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Silent)
    }
}

impl From<Failed> for StoreError {
    fn from(failed: Failed) -> Self {
        Self::unavailable(failed)
    }
}
