//! The messages of the StoreActor, and the jobs of its queue.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{Lease, ReplySender};
use crate::{
    port::{StoreError, Write},
    protocol::{CallId, SessionId},
};

/// A message for the StoreActor. [`StoreHandle`](super::StoreHandle) makes these.
#[derive(Debug)]
pub enum StoreMsg {
    /// A job waits.
    Work,
    /// Asks how many jobs wait for a writer.
    Waiting {
        /// Receives the number.
        reply: oneshot::Sender<usize>,
    },
}

/// A job that waits for a writer.
#[derive(Debug)]
pub enum StoreJob {
    /// Writes facts, together or not at all.
    Write(WriteJob),
    /// Lends the open transaction.
    Lend(LeaseJob),
}

/// Facts that are written together or not at all.
#[derive(Debug)]
pub struct WriteJob {
    /// The facts, in order.
    pub writes: Vec<Write>,
    /// Receives the end of the commit.
    pub reply: ReplySender<()>,
    /// The permit among the jobs that may wait. It is free again after the job is done.
    pub permit: OwnedSemaphorePermit,
}

/// A request for the open transaction.
#[derive(Debug)]
pub struct LeaseJob {
    /// The name of the borrower for the log: a tool's name.
    pub label: Arc<str>,
    /// The call that the borrower will record, if it is known.
    pub call: Option<(SessionId, CallId)>,
    /// Receives the lease.
    pub reply: ReplySender<Lease>,
    /// The permit among the jobs that may wait. It is free again after the lease has ended.
    pub permit: OwnedSemaphorePermit,
}

impl StoreJob {
    /// Returns whether its caller has received that it is withdrawn.
    pub(super) fn is_withdrawn(&self) -> bool {
        match self {
            Self::Write(job) => job.reply.is_over(),
            Self::Lend(job) => job.reply.is_over(),
        }
    }

    /// Answers the caller that no part of it was done.
    pub(super) fn refuse(self, error: StoreError) {
        match self {
            Self::Write(job) => job.reply.send(Err(error)),
            Self::Lend(job) => job.reply.send(Err(error)),
        }
    }
}
