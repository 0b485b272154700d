//! The signal that asks a handler to end, with its cause.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Asks a handler to end, and says why. Clones share one signal, and the first cause stays.
///
/// A handler that has begun may always continue to its deadline. Its writes then commit, and the
/// ledger has its end.
#[derive(Debug, Clone)]
pub struct Cancelled(Arc<Signal>);

/// The cause of asking a handler to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CancelledBy {
    /// The user left and nobody reads the result. The handler should end as soon as it can say
    /// truthfully what it did.
    Dismissal,
    /// The user left, but what has begun is to be finished (`OnDismiss::Finish`). The handler
    /// should go on.
    Finish,
    /// The runtime ends, and waits some time for its handlers. A handler that is then cut off has
    /// an unknown effect.
    Shutdown,
}

#[derive(Debug)]
struct Signal {
    token: CancellationToken,
    /// The runtime's end, of which the token may be a child.
    closing: CancellationToken,
    by: OnceLock<CancelledBy>,
}

impl Default for Cancelled {
    fn default() -> Self {
        Self::new(CancellationToken::new(), CancellationToken::new())
    }
}

impl Cancelled {
    /// Makes a signal that this token triggers. Unless [`cancel`](Self::cancel) sets another cause,
    /// the cause is the runtime's end if `closing` is cancelled, and otherwise a dismissal.
    #[must_use]
    pub fn new(token: CancellationToken, closing: CancellationToken) -> Self {
        Self(Arc::new(Signal { token, closing, by: OnceLock::new() }))
    }

    /// Asks the handler to end for this cause. A later cause changes nothing.
    pub fn cancel(&self, by: CancelledBy) {
        if !self.is_cancelled() {
            self.0.by.get_or_init(|| by);
        }
        self.0.token.cancel();
    }

    /// Returns whether the handler is asked to end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.token.is_cancelled()
    }

    /// Returns the cause, or `None` as long as the handler should continue.
    #[must_use]
    pub fn by(&self) -> Option<CancelledBy> {
        self.is_cancelled().then(|| self.cause())
    }

    /// Waits until the handler is asked to end, and returns the cause. Dropping the future loses
    /// nothing.
    pub async fn cancelled(&self) -> CancelledBy {
        self.0.token.cancelled().await;
        self.cause()
    }

    fn cause(&self) -> CancelledBy {
        *self.0.by.get_or_init(|| match self.0.closing.is_cancelled() {
            true => CancelledBy::Shutdown,
            false => CancelledBy::Dismissal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cause_stays_whatever_comes_later() {
        let closing = CancellationToken::new();
        let of_runtime = || Cancelled::new(closing.child_token(), closing.clone());
        let finishing = of_runtime();
        let open = of_runtime();
        assert_eq!(finishing.by(), None);
        finishing.cancel(CancelledBy::Finish);
        closing.cancel();
        open.cancel(CancelledBy::Dismissal);
        finishing.cancel(CancelledBy::Dismissal);
        assert_eq!(finishing.by(), Some(CancelledBy::Finish));
        assert_eq!(open.by(), Some(CancelledBy::Shutdown));
        let caller = CancellationToken::new();
        let of_caller = Cancelled::new(caller.clone(), CancellationToken::new());
        caller.cancel();
        assert_eq!(of_caller.by(), Some(CancelledBy::Dismissal));
    }
}
