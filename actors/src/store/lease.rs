//! The loan of the open transaction. However the borrower ends, it is returned.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use tokio::sync::oneshot;
use tracing::error;

use super::{ReplySender, reply::reply, stage::Stage};
use crate::port::{StoreError, Transaction, Write};

/// The open transaction of the store's writer, lent to one borrower. Dropped without [`end`](Self::end), all that was
/// written through it is undone and nothing is recorded.
///
/// Others wait behind it, so the borrower keeps to `Limits::transaction_deadline` from the moment it got the lease.
pub struct Lease {
    loan: Option<Loan>,
    label: Arc<str>,
    /// How long after its end the record may still be written a second time.
    patience: Duration,
}

struct Loan {
    transaction: Box<dyn Transaction>,
    returned: oneshot::Sender<LeaseReturn>,
}

/// What becomes of the borrower's writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// They are committed together with the record, or neither is.
    Keep,
    /// They are undone before the record is written.
    Undo,
}

/// The returned transaction.
pub(super) struct LeaseReturn {
    pub(super) transaction: Box<dyn Transaction>,
    /// The borrower's wish; absent after a panic, a kill, a change of mind.
    pub(super) end: Option<End>,
}

/// How the borrower wishes the lease to end.
pub(super) struct End {
    pub(super) keep: Keep,
    pub(super) record: Vec<Write>,
    pub(super) committed: ReplySender<()>,
}

impl Lease {
    /// Lends the transaction; the receiver hears of its return.
    pub(super) fn lend(
        transaction: Box<dyn Transaction>,
        label: Arc<str>,
        patience: Duration,
    ) -> (Self, oneshot::Receiver<LeaseReturn>) {
        let (returned, back) = oneshot::channel();
        (Self { loan: Some(Loan { transaction, returned }), label, patience }, back)
    }

    /// The driver's own connection, e.g. `SqliteConnection`, inside the open transaction. Savepoints of the borrower's
    /// own are welcome; whoever ends the transaction itself loses all that was written through the lease.
    pub fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.loan
            .as_mut()
            .expect("lent until it ends, which takes the lease")
            .transaction
            .connection()
    }

    /// Gives the transaction back with the record of what was done. The future hears of the commit; the transaction is
    /// on its way back even if that is never polled.
    ///
    /// # Errors
    /// The future gives what the commit gave. A refused record undoes the borrower's writes too.
    pub fn end(
        mut self,
        keep: Keep,
        record: Vec<Write>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        let (committed, answer) = reply(Stage::Taken { is_late: false }, self.patience);
        self.give_back(Some(End { keep, record, committed }));
        answer.heard()
    }

    fn give_back(&mut self, end: Option<End>) {
        let Some(Loan { transaction, returned }) = self.loan.take() else { return };
        if returned.send(LeaseReturn { transaction, end }).is_err() {
            // Dropped there, the transaction is rolled back; whoever waits for the commit hears that nobody answers.
            error!(tool = %self.label, "a lease found no writer to return to");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.give_back(None);
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("label", &self.label).finish_non_exhaustive()
    }
}
