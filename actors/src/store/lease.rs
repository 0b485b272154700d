//! The loan of the open transaction. However the borrower ends, it is returned.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use tokio::sync::oneshot;
use tracing::error;

use super::{ReplySender, reply::reply, stage::Stage};
use crate::port::{StoreError, Transaction, Write};

/// The open transaction of the store's writer, lent to one borrower. Dropping it without
/// [`end`](Self::end) undoes its writes and records nothing.
///
/// Other jobs wait for it, so the borrower keeps to `Limits::transaction_deadline` from the moment
/// at which it received the lease.
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

/// The fate of the borrower's writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The store commits them together with the record, or neither.
    Keep,
    /// The store undoes them before it writes the record.
    Undo,
}

/// The returned transaction.
pub(super) struct LeaseReturn {
    pub(super) transaction: Box<dyn Transaction>,
    /// The end that the borrower asks for; `None` after a panic, a kill, or a dropped lease.
    pub(super) end: Option<End>,
}

/// The end of a lease, as its borrower asks for it.
pub(super) struct End {
    pub(super) keep: Keep,
    pub(super) record: Vec<Write>,
    pub(super) committed: ReplySender<()>,
}

impl Lease {
    /// Lends the transaction. The receiver receives its return.
    pub(super) fn lend(
        transaction: Box<dyn Transaction>,
        label: Arc<str>,
        patience: Duration,
    ) -> (Self, oneshot::Receiver<LeaseReturn>) {
        let (returned, back) = oneshot::channel();
        (Self { loan: Some(Loan { transaction, returned }), label, patience }, back)
    }

    /// Returns the driver's own connection, e.g. `SqliteConnection`, inside of the open
    /// transaction. The borrower may use savepoints of its own. A borrower that ends the
    /// transaction itself loses all its writes.
    pub fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.loan
            .as_mut()
            .expect("lent until it ends, which takes the lease")
            .transaction
            .connection()
    }

    /// Returns the transaction to the writer with the record of the call. The future waits for the
    /// commit. The transaction is on its way back even if the future is never polled.
    ///
    /// # Errors
    /// The future returns the error of the commit. A refused record undoes the borrower's writes
    /// too.
    pub fn end(
        mut self,
        keep: Keep,
        record: Vec<Write>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        let (committed, answer) = reply(Stage::Taken { is_late: false }, self.patience);
        self.give_back(Some(End { keep, record, committed }));
        answer.wait()
    }

    fn give_back(&mut self, end: Option<End>) {
        let Some(Loan { transaction, returned }) = self.loan.take() else { return };
        if returned.send(LeaseReturn { transaction, end }).is_err() {
            // The transaction is dropped with its message, which rolls it back. A caller that waits
            // for the commit receives that no answer comes.
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
