//! The order to forget a user, and its result.

use super::StoreError;
use crate::protocol::{Timestamp, UserId};

/// An order to erase all that a store has of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forget {
    /// The user whose texts are erased.
    pub user: UserId,
    /// The user that orders it, who stays on record.
    pub by: UserId,
    /// The time of the order.
    pub at: Timestamp,
    /// Statements that erase the user's rows in tables of toolkits and of the application, in their
    /// order. Each has the user as `$1`; rows that a `DELETE` removes are counted. They run in the
    /// transaction of the erasure. A store without SQL has no such tables.
    pub tables: Vec<&'static str>,
}

/// The counts of what was erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forgotten {
    /// The sessions, with their names.
    pub sessions: u64,
    /// The entries of transcripts that are not calls.
    pub messages: u64,
    /// The rows of calls in the ledger.
    pub calls: u64,
    /// The steps of calls. Their hashes stay.
    pub transitions: u64,
    /// The rows in tables of toolkits and of the application.
    pub rows: u64,
}

/// A reason why a user is not forgotten, or not completely.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ForgetError {
    /// A runtime runs on the store, and keeps in memory what would be erased. Nothing was erased.
    #[error("a runtime uses the store: shut it down, and forget the user then")]
    InUse,
    /// The rows are gone, but their bytes may still lie in the files, because another program reads
    /// there.
    #[error(
        "the rows were erased, but another program reads the database and their bytes may still be there: run it again when that program has ended"
    )]
    Remains,
    /// The rows are gone, but the files could not be rewritten.
    #[error(
        "the rows were erased, but their bytes may still be there, for the files could not be written anew: make room on the disk and run it again"
    )]
    NotRewritten(#[source] StoreError),
    /// The store failed. Nothing was erased.
    #[error("nothing was erased, for the store failed")]
    Store(#[from] StoreError),
}
