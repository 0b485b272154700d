//! The order to forget a user, and what became of it.

use super::StoreError;
use crate::protocol::{Timestamp, UserId};

/// An order to erase all that a store has of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forget {
    /// Whose texts go.
    pub user: UserId,
    /// Who orders it: stays on record.
    pub by: UserId,
    /// When.
    pub at: Timestamp,
    /// Statements that erase the user's rows in tables of toolkits and of the application, in their order. Each has the user
    /// as `$1`; rows that a `DELETE` removes are counted. They are run in the transaction of the erasure; a store without SQL
    /// has no such tables.
    pub tables: Vec<&'static str>,
}

/// What was erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forgotten {
    /// Sessions, with their names.
    pub sessions: u64,
    /// Entries of transcripts that are no calls.
    pub messages: u64,
    /// Calls.
    pub calls: u64,
    /// Steps of calls. Their hashes stay.
    pub transitions: u64,
    /// Rows in tables of toolkits and of the application.
    pub rows: u64,
}

/// Why a user is not forgotten, or not wholly.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ForgetError {
    /// A runtime runs on the store, and keeps in memory what would be erased. Nothing was erased.
    #[error("a runtime uses the store: shut it down, and forget the user then")]
    InUse,
    /// The rows are gone, but their bytes may still lie in the files: somebody reads there.
    #[error(
        "the rows were erased, but another program reads the database and their bytes may still be there: run it again when that program has ended"
    )]
    Remains,
    /// The rows are gone, but the files could not be written anew.
    #[error(
        "the rows were erased, but their bytes may still be there, for the files could not be written anew: make room on the disk and run it again"
    )]
    NotRewritten(#[source] StoreError),
    /// The store failed. Nothing was erased.
    #[error("nothing was erased, for the store failed")]
    Store(#[from] StoreError),
}
