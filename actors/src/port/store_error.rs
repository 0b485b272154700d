//! The errors of a store: why it did not do what was asked.

use std::{error::Error, sync::Arc};

use crate::{failpoint::Failed, ledger::IllegalTransition};

/// A reason why the store did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A call cannot take this step. Nothing of the job was written.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// What was asked contradicts what is stored: a fact, or the position at which to read on.
    /// Nothing of the job was written.
    #[error("the store refused: {reason}")]
    Refused {
        /// The fact or the position that was contradicted.
        reason: String,
    },
    /// Too much is stored of the user for another turn to begin. Nothing of the job was written.
    #[error("the user has no room left in the store")]
    TooMuchStored,
    /// The store cannot be used now. Nothing of the job was written.
    #[error("the store is unavailable")]
    Unavailable {
        /// The error beneath it.
        #[source]
        cause: Arc<dyn Error + Send + Sync>,
    },
    /// The result of the commit is unknown. Only the ledger shows whether the job was written.
    #[error("the end of the commit is not known")]
    Unknown {
        /// The error beneath it.
        #[source]
        cause: Arc<dyn Error + Send + Sync>,
    },
    /// Too many jobs wait already. Nothing of the job was written.
    #[error("too many writes are waiting for the store")]
    Overloaded,
    /// No writer took the job in time, and it was withdrawn. Nothing of it was written, and nothing
    /// will be.
    #[error("the store had no time for the write, which was withdrawn")]
    Withdrawn,
    /// A writer began the job and did not answer. Only the ledger shows whether it was written.
    #[error("the store did not answer")]
    Silent,
}

impl StoreError {
    /// Makes a refusal.
    #[must_use]
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::Refused { reason: reason.into() }
    }

    /// Makes the error of a store that cannot be used now.
    #[must_use]
    pub fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable { cause: cause.into().into() }
    }

    /// Makes the error of a commit whose result is not known.
    #[must_use]
    pub fn unknown(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unknown { cause: cause.into().into() }
    }

    /// Returns whether the store refused the request and remains usable.
    #[must_use]
    pub(crate) const fn is_refusal(&self) -> bool {
        match self {
            Self::Illegal(_) | Self::Refused { .. } | Self::TooMuchStored => true,
            Self::Unavailable { .. }
            | Self::Unknown { .. }
            | Self::Overloaded
            | Self::Withdrawn
            | Self::Silent => false,
        }
    }

    /// Returns whether the job may have been written in spite of the error, so that the ledger must
    /// be read.
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
