//! What the StoreActor is asked.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{Lease, ReplySender};
use crate::{
    port::{StoreError, Write},
    protocol::{CallId, SessionId},
};

/// What the StoreActor is asked. [`StoreHandle`](super::StoreHandle) makes these.
#[derive(Debug)]
pub enum StoreMsg {
    /// Something waits, or a writer is idle again.
    Work,
    /// Asks how many jobs wait for a writer.
    Waiting {
        /// Hears the number.
        reply: oneshot::Sender<usize>,
    },
}

/// What waits for the writer.
#[derive(Debug)]
pub enum StoreJob {
    /// Facts that are written together or not at all.
    Write(WriteJob),
    /// Somebody wants to borrow the open transaction.
    Lend(LeaseJob),
}

/// Facts that are written together or not at all.
#[derive(Debug)]
pub struct WriteJob {
    /// The facts, in order.
    pub writes: Vec<Write>,
    /// Hears of the commit.
    pub reply: ReplySender<()>,
    /// Its permit among the jobs that may wait; free again when the job is done.
    pub permit: OwnedSemaphorePermit,
}

/// Somebody wants to borrow the open transaction.
#[derive(Debug)]
pub struct LeaseJob {
    /// Who, for the log: a tool's name.
    pub label: Arc<str>,
    /// The call that the borrower will record, if it is known.
    pub call: Option<(SessionId, CallId)>,
    /// Gets the lease.
    pub reply: ReplySender<Lease>,
    /// Its permit among the jobs that may wait; free again when the lease has ended.
    pub permit: OwnedSemaphorePermit,
}

impl StoreJob {
    /// Its asker was told that nothing of it will be done.
    pub(super) fn is_withdrawn(&self) -> bool {
        match self {
            Self::Write(job) => job.reply.is_over(),
            Self::Lend(job) => job.reply.is_over(),
        }
    }

    /// Tells whoever waits that nothing of it was done.
    pub(super) fn refuse(self, error: StoreError) {
        match self {
            Self::Write(job) => job.reply.send(Err(error)),
            Self::Lend(job) => job.reply.send(Err(error)),
        }
    }
}
