//! The application's own writes, in the writer's transaction.
//!
//! [`Runtime::transaction`](crate::Runtime::transaction) lends the writer's connection to a
//! [`TransactionFn`] and commits all that it wrote, or nothing. A [`TransactionError`] says why
//! nothing was written, or that only the tables show whether it was.

use std::{any::Any, future::Future, panic::Location, time::Duration};

use madang_actors::{
    port::{BoxFuture, ConnectionType, StoreError},
    registry::{Panicked, unwind},
    store::{Keep, Lease},
};
use tokio::time::timeout;
use tracing::error;

use crate::Runtime;

/// A function for [`Runtime::transaction`]: `async move |db: &mut C| -> Result<T, E> { .. }`, or an
/// `async fn` of that form. `X` is the `&mut C`.
///
/// It is implemented for functions and closures only. It states what `AsyncFnOnce` cannot express
/// yet: that the future may move from thread to thread.
pub trait TransactionFn<X>: Send + 'static {
    /// The value of a success.
    type Value;
    /// The error of a failure.
    type Error;
    /// The future that the function returns.
    type Future: Future<Output = Result<Self::Value, Self::Error>> + Send;
    /// Calls the function.
    fn run(self, db: X) -> Self::Future;
}

impl<F, X, Fut, T, E> TransactionFn<X> for F
where
    F: FnOnce(X) -> Fut + Send + 'static,
    Fut: Future<Output = Result<T, E>> + Send,
{
    type Value = T;
    type Error = E;
    type Future = Fut;
    fn run(self, db: X) -> Fut {
        self(db)
    }
}

/// A reason why an application's transaction has no result. None of it was written, except perhaps
/// with [`Unknown`](Self::Unknown).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError<E> {
    /// The function returned this error. Its writes were undone, and no others.
    #[error("the function of the transaction failed")]
    Failed(#[source] E),
    /// The function passed `Limits::transaction_deadline`; it was dropped and its writes were
    /// undone.
    #[error("the transaction passed its deadline of {0:?} and was undone")]
    Deadline(Duration),
    /// The function panicked; its writes were undone.
    #[error("the transaction panicked and was undone")]
    Panicked,
    /// The store could not be used, is overloaded, or refused the commit.
    #[error("nothing of the transaction was written")]
    NotWritten(#[source] StoreError),
    /// The result of the commit is unknown. Only the tables show whether it happened.
    #[error("whether the transaction was written is not known")]
    Unknown(#[source] StoreError),
    /// The store lends another kind of connection.
    #[error("the transaction needs a {needed}, but the store lends a {lent}")]
    OtherConnection {
        /// The connection that the function needs.
        needed: ConnectionType,
        /// The connection that the store lends.
        lent: ConnectionType,
    },
    /// The runtime has shut down.
    #[error("the runtime has shut down")]
    Closed,
}

impl Runtime {
    /// Writes the application's own tables, in the store's file, through the store's one writer.
    /// The writes have a savepoint of their own, and are committed together with the other jobs
    /// that wait. So the write never meets `SQLITE_BUSY` from this process, and shares the cost of
    /// a commit with others. It waits in the same queue as the writes of tools and chats, and has
    /// their deadline: `Limits::transaction_deadline`, about 250 ms from the time at which the
    /// connection is lent.
    ///
    /// The function does database work only, with plain sqlx on the connection; slow work comes
    /// before. SQLite refuses `BEGIN` and `COMMIT` on this connection. A `ROLLBACK` undoes all
    /// writes of the function, and the transaction fails. Parts that may fail on their own are
    /// [`savepoint`](crate::store::savepoint)s. The function's result is returned only after the
    /// commit.
    ///
    /// Dropping the future after it was polled cancels nothing: the transaction runs to its end,
    /// and shutdown waits for it.
    ///
    /// ```no_run
    /// # use sqlx::SqliteConnection;
    /// # async fn example(runtime: madang::Runtime, title: String) -> Result<(), Box<dyn std::error::Error>> {
    /// let id = runtime
    ///     .transaction(async move |db: &mut SqliteConnection| -> sqlx::Result<i64> {
    ///         let insert = sqlx::query("INSERT INTO songs (title) VALUES ($1)").bind(title);
    ///         Ok(insert.execute(db).await?.last_insert_rowid())
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`TransactionError`]. Nothing was written, except perhaps with
    /// [`Unknown`](TransactionError::Unknown).
    #[track_caller]
    pub fn transaction<C, T, E, F>(
        &self,
        run: F,
    ) -> BoxFuture<'static, Result<T, TransactionError<E>>>
    where
        C: Any + Send,
        T: Send + 'static,
        E: Send + 'static,
        F: for<'c> TransactionFn<&'c mut C, Value = T, Error = E>,
    {
        let shared = self.shared().clone();
        let caller = Location::caller();
        Box::pin(async move {
            if shared.is_closing() {
                return Err(TransactionError::Closed);
            }
            let store = &shared.handles.store;
            let needed = ConnectionType::of::<C>();
            let lent = store.store().connection_type();
            if needed != lent {
                return Err(TransactionError::OtherConnection { needed, lent });
            }
            let lease = store.lease(format!("transaction at {caller}").into());
            let deadline = shared.limits().transaction_deadline;
            // In a task of its own: a future that is not polled would keep the transaction from all
            // others.
            let done = shared.tasks().spawn(unwind(async move {
                let lease = lease.await.map_err(TransactionError::NotWritten)?;
                in_lease(lease, run, deadline).await
            }));
            match done.await {
                Ok(Ok(result)) => result,
                Ok(Err(Panicked)) => {
                    error!(%caller, "a transaction panicked");
                    Err(TransactionError::Panicked)
                }
                Err(_) => Err(TransactionError::Unknown(StoreError::Silent)),
            }
        })
    }
}

async fn in_lease<C, T, E, F>(
    mut lease: Lease,
    run: F,
    deadline: Duration,
) -> Result<T, TransactionError<E>>
where
    C: Any + Send,
    F: for<'c> TransactionFn<&'c mut C, Value = T, Error = E>,
{
    let db = lease.connection().downcast_mut::<C>().expect("the type was compared above");
    // Dropped without an end, the lease is returned and is undone alone.
    let value = match timeout(deadline, run.run(db)).await {
        Ok(Ok(value)) => value,
        Ok(Err(own)) => return Err(TransactionError::Failed(own)),
        Err(_) => return Err(TransactionError::Deadline(deadline)),
    };
    match lease.end(Keep::Keep, Vec::new()).await {
        Ok(()) => Ok(value),
        Err(cause) if cause.may_have_happened() => Err(TransactionError::Unknown(cause)),
        Err(cause) => Err(TransactionError::NotWritten(cause)),
    }
}
