//! The open transaction of the writer.

use std::{any::Any, time::Duration};

use madang_actors::{
    failpoint::failpoint,
    port::{BoxFuture, StoreError, Transaction, Write, poll_before_park},
    protocol::{CallId, SessionId},
};
use tokio::sync::{OwnedMutexGuard, watch};

use super::{
    error,
    own::Own,
    step::{self, CallHead},
    write,
    writer::{ControlError, Writer},
};

/// The open transaction. Unless it was committed, its connection goes with it: closing that rolls back, and the next
/// transaction gets a fresh one.
pub(super) struct SqliteTransaction {
    slot: OwnedMutexGuard<Option<Writer>>,
    depth: usize,
    /// A kept part that SQLite is told of with the next statement: one trip to its thread less for each job.
    kept: Option<usize>,
    /// The connection was lent and nothing was written since: a statement of the borrower's may still run, and end the
    /// transaction.
    lent: Lent,
    /// For how long a borrower may have the connection.
    deadline: Option<Duration>,
    /// What is known of a call, so that its next step need not read it. A borrower cannot make it untrue: a step that does
    /// not follow from where the call and its chain stand is refused by the tables.
    known: Option<CallHead>,
    /// The receiver that a commit is told to.
    commits: watch::Sender<u64>,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lent {
    No,
    Yes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Committed,
}

/// There is no part to end.
#[derive(Debug, thiserror::Error)]
#[error("there is no savepoint")]
struct NoSavepoint;

impl SqliteTransaction {
    /// Begins on the connection in this slot.
    pub(super) async fn begin(
        slot: OwnedMutexGuard<Option<Writer>>,
        commits: watch::Sender<u64>,
    ) -> Result<Self, StoreError> {
        let mut begun = Self {
            slot,
            depth: 0,
            kept: None,
            lent: Lent::No,
            deadline: None,
            known: None,
            commits,
            end: End::Open,
        };
        failpoint("sqlite.begin").await?;
        begun.writer().begin().await.map_err(error::unavailable)?;
        Ok(begun)
    }

    /// The connection, for what only the store says.
    pub(super) fn own(&mut self) -> Own<'_> {
        self.writer().own()
    }

    fn writer(&mut self) -> &mut Writer {
        self.slot.as_mut().expect("the slot is emptied on drop only")
    }

    /// Gives what begins a part, once the one that was kept before it is released.
    async fn enter(&mut self) -> Result<String, StoreError> {
        self.depth += 1;
        let (kept, depth) = (self.kept.take(), self.depth);
        failpoint("sqlite.savepoint").await?;
        let writer = self.writer();
        writer.must_be_open().map_err(StoreError::unavailable)?;
        Ok(writer.savepoint(kept, depth))
    }

    /// The depth of the innermost part, which is about to end.
    fn leave(&mut self) -> Result<usize, StoreError> {
        self.known = None;
        let depth = self.depth;
        self.depth = depth.checked_sub(1).ok_or_else(|| StoreError::unavailable(NoSavepoint))?;
        Ok(depth)
    }
}

impl Transaction for SqliteTransaction {
    fn savepoint(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async {
            let begins = self.enter().await?;
            poll_before_park(self.writer().run(begins)).await.map_err(error::unavailable)
        })
    }

    fn savepoint_for<'a>(
        &'a mut self,
        session: &'a SessionId,
        call: CallId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let begins = self.enter().await?;
            let own = &mut self.own();
            let found = step::look_up_behind(own, &begins, session, call).await;
            let found = found.map_err(error::unavailable)?;
            // What cannot be read is read again when it is written about, and refused then.
            self.known = found.and_then(|found| step::head(&found, session, call).ok());
            Ok(())
        })
    }

    fn keep(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async {
            // What a borrower wants undone is not kept; the part is still open, to be undone.
            self.writer().must_be_wanted().await?;
            let depth = self.leave()?;
            failpoint("sqlite.keep").await?;
            if self.lent == Lent::No {
                // No writer is answered before the commit, so it is early enough to tell SQLite with the next statement.
                self.writer().must_be_open().map_err(StoreError::unavailable)?;
                self.kept = Some(depth);
                return Ok(());
            }
            // A part that was kept inside of this one goes with it.
            self.kept = None;
            self.writer().release(depth).await.map_err(error::unavailable)
        })
    }

    fn undo(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async {
            let depth = self.leave()?;
            self.kept = None;
            failpoint("sqlite.undo").await?;
            if self.lent == Lent::Yes {
                self.writer().cut_off().await.map_err(StoreError::unavailable)?;
            }
            failpoint("sqlite.roll_back").await?;
            self.writer().roll_back(depth).await.map_err(error::unavailable)
        })
    }

    fn write<'a>(&'a mut self, writes: &'a [Write]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async {
            let Self { slot, known, lent, .. } = self;
            let writer = slot.as_mut().expect("the slot is emptied on drop only");
            // Nothing may be written behind the end of the transaction; the hooks would refuse it, with a worse
            // message.
            writer.must_be_open().map_err(StoreError::unavailable)?;
            writer.must_be_wanted().await?;
            failpoint("sqlite.write").await?;
            write::write(writer.own(), writes, known).await?;
            failpoint("sqlite.written").await?;
            if !writes.is_empty() {
                *lent = Lent::No;
            }
            Ok(())
        })
    }

    fn lend_for(&mut self, deadline: Duration) {
        self.deadline = Some(deadline);
    }

    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.lent = Lent::Yes;
        let deadline = self.deadline;
        self.writer().lend(deadline)
    }

    fn commit(mut self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async move {
            failpoint("sqlite.commit").await?;
            self.writer().commit().await.map_err(|error| match error {
                ControlError::Sql(error) => error::of_commit(error),
                ControlError::Ended(error) => StoreError::unavailable(error),
            })?;
            self.end = End::Committed;
            self.commits.send_modify(|count| *count += 1);
            failpoint("sqlite.committed").await.map_err(StoreError::unknown)
        })
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        if self.end == End::Open {
            self.slot.take();
        }
    }
}
