//! Implements the writer's transaction.

use std::{any::Any, time::Duration};

use madang_actors::{
    failpoint::failpoint,
    port::{BoxFuture, StoreError, Transaction, Write, poll_before_park},
    protocol::{CallId, SessionId},
};
use tokio::sync::{OwnedMutexGuard, watch};

use super::{call_head::CallHead, error, own::Own, step, write, writer::Writer};

/// The open transaction. Unless it commits, its connection is closed, which rolls back, and the
/// next transaction opens a fresh one.
pub(super) struct SqliteTransaction {
    slot: OwnedMutexGuard<Option<Writer>>,
    depth: usize,
    /// A kept part that SQLite learns of with the next statement, which saves a trip to its thread.
    kept: Option<usize>,
    /// Lent, with nothing written since: a statement of the borrower may still run and end the
    /// transaction.
    is_lent: bool,
    /// The time that a borrower has.
    deadline: Option<Duration>,
    /// The state of a call, so that its next step need not read it. If a borrower has changed it
    /// since, the tables refuse the step.
    known: Option<CallHead>,
    /// Counts the commit.
    commits: watch::Sender<u64>,
    is_committed: bool,
}

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
            is_lent: false,
            deadline: None,
            known: None,
            commits,
            is_committed: false,
        };
        failpoint("sqlite.begin").await?;
        begun.writer().begin().await?;
        Ok(begun)
    }

    /// Returns the connection for the store's own statements.
    pub(super) fn own(&mut self) -> Own<'_> {
        self.writer().own()
    }

    fn writer(&mut self) -> &mut Writer {
        self.slot.as_mut().expect("the slot is emptied on drop only")
    }

    /// Returns the SQL that begins a part, and releases the part kept before it.
    async fn enter(&mut self) -> Result<String, StoreError> {
        self.depth += 1;
        let kept = self.kept.take();
        let depth = self.depth;
        failpoint("sqlite.savepoint").await?;
        let writer = self.writer();
        writer.must_be_open()?;
        Ok(writer.savepoint(kept, depth))
    }

    /// Leaves the innermost part and returns its depth.
    fn leave(&mut self) -> Result<usize, StoreError> {
        self.known = None;
        let depth = self.depth;
        let outer = depth.checked_sub(1);
        self.depth = outer.ok_or_else(|| StoreError::unavailable("there is no savepoint"))?;
        Ok(depth)
    }
}

impl Transaction for SqliteTransaction {
    fn savepoint<'a>(
        &'a mut self,
        call: Option<(&'a SessionId, CallId)>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let begins = self.enter().await?;
            let Some((session, call)) = call else {
                let begun = poll_before_park(self.writer().run(begins)).await;
                return begun.map_err(error::unavailable);
            };
            let own = &mut self.own();
            let found = step::look_up_behind(own, &begins, session, call).await?;
            // An unreadable row is read again, and refused, when a step of the call is written.
            self.known = found.and_then(|found| step::head(&found, session, call).ok());
            Ok(())
        })
    }

    fn keep(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async {
            // A borrower's rollback refuses the part, which stays open to be undone.
            self.writer().must_be_wanted().await?;
            let depth = self.leave()?;
            failpoint("sqlite.keep").await?;
            if !self.is_lent {
                // No caller is answered before the commit, so SQLite may learn of it with the next
                // statement.
                self.writer().must_be_open()?;
                self.kept = Some(depth);
                return Ok(());
            }
            // A kept inner part ends with this one.
            self.kept = None;
            self.writer().release(depth).await
        })
    }

    fn undo(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async {
            let depth = self.leave()?;
            self.kept = None;
            failpoint("sqlite.undo").await?;
            if self.is_lent {
                self.writer().cut_off().await.map_err(StoreError::unavailable)?;
            }
            failpoint("sqlite.roll_back").await?;
            self.writer().roll_back(depth).await
        })
    }

    fn write<'a>(&'a mut self, writes: &'a [Write]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async {
            let Self { slot, known, is_lent, .. } = self;
            let writer = slot.as_mut().expect("the slot is emptied on drop only");
            // Checked here, because the hooks would refuse with a worse message.
            writer.must_be_open()?;
            writer.must_be_wanted().await?;
            failpoint("sqlite.write").await?;
            write::write(writer.own(), writes, known).await?;
            failpoint("sqlite.written").await?;
            if !writes.is_empty() {
                *is_lent = false;
            }
            Ok(())
        })
    }

    fn lend_for(&mut self, deadline: Duration) {
        self.deadline = Some(deadline);
    }

    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.is_lent = true;
        let deadline = self.deadline;
        self.writer().lend(deadline)
    }

    fn commit(mut self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async move {
            failpoint("sqlite.commit").await?;
            self.writer().commit().await?;
            self.is_committed = true;
            self.commits.send_modify(|count| *count += 1);
            failpoint("sqlite.committed").await.map_err(StoreError::unknown)
        })
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        if !self.is_committed {
            self.slot.take();
        }
    }
}
