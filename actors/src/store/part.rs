//! One part of a group's transaction: a savepoint, what is written in it, and its end.

use crate::{
    failpoint::failpoint,
    port::{StoreError, Transaction, Write},
};

/// The group's transaction.
pub(super) type Open = Box<dyn Transaction>;

/// The open transaction and whether the job was refused; or why there is no transaction any more.
pub(super) type Concluded = Result<(Open, Result<(), StoreError>), StoreError>;

/// Writes into the innermost savepoint and ends it: kept, or undone where the store refuses something.
pub(super) async fn conclude(mut transaction: Open, writes: &[Write]) -> Concluded {
    failpoint("writer.write").await?;
    match transaction.write_all(writes).await {
        Ok(()) => {}
        Err(refusal @ (StoreError::Illegal(_) | StoreError::Refused { .. })) => {
            transaction.undo().await?;
            return Ok((transaction, Err(refusal)));
        }
        Err(
            failure @ (StoreError::Unavailable { .. }
            | StoreError::Unknown { .. }
            | StoreError::Overloaded
            | StoreError::Silent),
        ) => return Err(failure),
    }
    failpoint("writer.keep").await?;
    transaction.keep().await?;
    Ok((transaction, Ok(())))
}

/// Writes in a savepoint of its own.
pub(super) async fn in_savepoint(mut transaction: Open, writes: &[Write]) -> Concluded {
    savepoint(&mut transaction).await?;
    conclude(transaction, writes).await
}

/// Begins a part.
pub(super) async fn savepoint(transaction: &mut Open) -> Result<(), StoreError> {
    failpoint("writer.savepoint").await?;
    transaction.savepoint().await
}
