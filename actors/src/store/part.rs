//! One part of a group's transaction: a savepoint, what is written in it, and its end.

use crate::{
    failpoint::failpoint,
    port::{CallKey, StoreError, Transaction, Write},
};

/// The group's transaction.
pub(super) struct Open {
    pub(super) transaction: Box<dyn Transaction>,
    /// A part was begun for the next job already, together with the end of the last one: fewer trips to the store.
    has_next: bool,
}

/// The open transaction and whether the job was refused; or why there is no transaction any more.
pub(super) type Concluded = Result<(Open, Result<(), StoreError>), StoreError>;

/// What comes behind a part.
#[derive(Debug)]
pub(super) enum Then {
    /// Another part, which records this call.
    Another(CallKey),
    /// Whatever comes.
    Any,
}

impl Open {
    /// A transaction that has just begun, or was returned.
    pub(super) fn new(transaction: Box<dyn Transaction>) -> Self {
        Self { transaction, has_next: false }
    }

    /// Begins a part, unless it was begun already.
    pub(super) async fn savepoint(&mut self) -> Result<(), StoreError> {
        failpoint("writer.savepoint").await?;
        if std::mem::take(&mut self.has_next) {
            return Ok(());
        }
        self.transaction.savepoint().await
    }

    /// The same for a part that records this call.
    pub(super) async fn savepoint_for(&mut self, call: Option<CallKey>) -> Result<(), StoreError> {
        if let Some(call) = call.filter(|_| !self.has_next) {
            self.transaction.prefetch(call);
        }
        self.savepoint().await
    }

    /// Commits all parts that were kept.
    pub(super) async fn commit(mut self) -> Result<(), StoreError> {
        if self.has_next {
            self.transaction.keep().await?;
        }
        self.transaction.commit().await
    }
}

/// Writes into the innermost savepoint and ends it: kept, or undone where the store refuses something.
pub(super) async fn conclude(mut open: Open, writes: &[Write], then: Then) -> Concluded {
    failpoint("writer.write").await?;
    let transaction = &mut open.transaction;
    let (written, has_next) = match then {
        Then::Another(call) => {
            transaction.prefetch(call);
            (transaction.advance_savepoint(writes).await, true)
        }
        Then::Any => (transaction.write_all(writes).await, false),
    };
    match written {
        Ok(()) => {}
        Err(
            refusal @ (StoreError::Illegal(_)
            | StoreError::Refused { .. }
            | StoreError::TooMuchStored),
        ) => {
            transaction.undo().await?;
            return Ok((open, Err(refusal)));
        }
        Err(
            failure @ (StoreError::Unavailable { .. }
            | StoreError::Unknown { .. }
            | StoreError::Overloaded
            | StoreError::Withdrawn
            | StoreError::Silent),
        ) => return Err(failure),
    }
    failpoint("writer.keep").await?;
    open.has_next = has_next;
    if !has_next {
        open.transaction.keep().await?;
    }
    Ok((open, Ok(())))
}

/// Writes in a savepoint of its own.
pub(super) async fn in_savepoint(mut open: Open, writes: &[Write]) -> Concluded {
    open.savepoint().await?;
    conclude(open, writes, Then::Any).await
}
