//! One part of a group's transaction: a savepoint, the writes in it, and its end.

use crate::{
    failpoint::failpoint,
    port::{StoreError, Transaction, Write},
    protocol::{CallId, SessionId},
};

/// The open transaction of a group.
pub(super) type Open = Box<dyn Transaction>;

/// The open transaction and whether the job was refused; or why the transaction is lost.
pub(super) type Concluded = Result<(Open, Result<(), StoreError>), StoreError>;

/// Begins a part, which will record this call.
pub(super) async fn savepoint(
    open: &mut Open,
    call: Option<&(SessionId, CallId)>,
) -> Result<(), StoreError> {
    failpoint("writer.savepoint").await?;
    match call {
        Some((session, call)) => open.savepoint_for(session, *call).await,
        None => open.savepoint().await,
    }
}

/// Writes into the innermost savepoint and ends it: kept, or undone where the store refuses a write.
pub(super) async fn conclude(mut open: Open, writes: &[Write]) -> Concluded {
    failpoint("writer.write").await?;
    match open.write(writes).await {
        Ok(()) => {}
        Err(refusal) if refusal.is_refusal() => {
            open.undo().await?;
            return Ok((open, Err(refusal)));
        }
        Err(failure) => return Err(failure),
    }
    failpoint("writer.keep").await?;
    open.keep().await?;
    Ok((open, Ok(())))
}

/// Writes in a savepoint of its own.
pub(super) async fn in_savepoint(mut open: Open, writes: &[Write]) -> Concluded {
    savepoint(&mut open, None).await?;
    conclude(open, writes).await
}
