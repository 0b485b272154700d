//! The one cancellation of a turn and its calls: a signal with its causes, and what each of them
//! means for a call.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    port::{Cancelled, CancelledBy},
    protocol::{CancelReason, OnDismiss},
};

/// The cancellation that a turn shares with its calls. Clones share one signal.
#[derive(Debug, Clone)]
pub struct Cancellation {
    signal: Arc<Signal>,
    /// Cancelled by the next cause. Handlers of calls that are dispatched before it see it.
    handler: Cancelled,
    is_behind: bool,
}

/// A cause that cancels a turn or a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelCause {
    /// The user left: open questions end, and results of handlers that run are discarded. With
    /// [`OnDismiss::Stop`] no other call begins.
    Dismissed(OnDismiss),
    /// The turn lost its actor, or the runtime ends. A call that has not begun stays as it is in
    /// the ledger, and goes on with its turn. A running handler continues to its end.
    Suspended,
}

/// What happens to a call that is cancelled before its handler begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    /// It ends with this reason.
    Ends(CancelReason),
    /// It stays as it is in the ledger.
    Stays,
}

/// The causes that have come so far. Pure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Causes(u8);

#[derive(Debug)]
struct Signal {
    causes: AtomicU8,
    changed: Notify,
    /// Cancelled when the runtime ends, which is then this cause.
    closing: CancellationToken,
    on_closing: Causes,
    /// Cancelled when the runtime ends: the same as `closing`, but for a call without a turn.
    runtime_closes: CancellationToken,
}

impl Default for Cancellation {
    fn default() -> Self {
        Self::new(CancellationToken::new())
    }
}

impl Cancellation {
    /// Makes the cancellation of a turn. The end of the runtime, which cancels this token, suspends
    /// the turn. The token is asked often and has a lock, so each session needs its own.
    #[must_use]
    pub fn new(closing: CancellationToken) -> Self {
        let handler = Cancelled::new(closing.child_token(), closing.clone());
        Self::with(closing.clone(), CancelCause::Suspended, handler, closing)
    }

    /// Makes the cancellation of a call without a turn. Its caller leaves with the first token. The
    /// second is the runtime's end, of which the first may be a child.
    #[must_use]
    pub fn of_caller(leaves: CancellationToken, runtime_closes: CancellationToken) -> Self {
        let handler = Cancelled::new(leaves.clone(), runtime_closes.clone());
        Self::with(leaves, CancelCause::Dismissed(OnDismiss::Stop), handler, runtime_closes)
    }

    fn with(
        closing: CancellationToken,
        cause: CancelCause,
        handler: Cancelled,
        runtime_closes: CancellationToken,
    ) -> Self {
        let causes = AtomicU8::default();
        let changed = Notify::new();
        let on_closing = Causes::of(cause);
        let signal = Signal { causes, changed, closing, on_closing, runtime_closes };
        Self { signal: Arc::new(signal), handler, is_behind: false }
    }

    /// Cancels the turn, its calls and the handlers that run for it. The handlers of calls that are
    /// dispatched from now on are cancelled only by the next cause.
    pub fn cancel(&mut self, cause: CancelCause) {
        self.signal.causes.fetch_or(Causes::of(cause).0, Ordering::AcqRel);
        self.signal.changed.notify_waiters();
        let CancelCause::Dismissed(on_dismiss) = cause else { return };
        let Signal { closing, runtime_closes, .. } = &*self.signal;
        let of_later = Cancelled::new(closing.child_token(), runtime_closes.clone());
        std::mem::replace(&mut self.handler, of_later).cancel(match on_dismiss {
            OnDismiss::Finish => CancelledBy::Finish,
            OnDismiss::Stop => CancelledBy::Dismissal,
        });
    }

    /// Copies it for a call that is dispatched now. The result of a call that begins after a
    /// dismissal counts, because it belongs to a turn that was to continue.
    #[must_use]
    pub fn from_here(&self) -> Self {
        Self { is_behind: self.causes().is_dismissed(), ..self.clone() }
    }

    /// Forbids every decision about the approval request that is open. Returns false if a decision
    /// has come: the call then continues with it, and nothing is forbidden.
    #[must_use]
    pub fn forbid_decision(&self) -> bool {
        let forbidden = |come| Causes(come).forbid_decision().map(|Causes(causes)| causes);
        let causes = &self.signal.causes;
        causes.fetch_update(Ordering::AcqRel, Ordering::Acquire, forbidden).is_ok()
    }

    /// Marks that a call of the turn begins to wait for a decision.
    pub(super) fn awaits_decision(&self) {
        self.signal.causes.fetch_and(!Causes::DECIDED, Ordering::AcqRel);
    }

    /// Marks that a call of the turn no longer waits. Returns whether the decision that it received
    /// counts.
    pub(super) fn decided(&self) -> bool {
        let come = self.signal.causes.fetch_or(Causes::DECIDED, Ordering::AcqRel);
        come & Causes::UNDECIDED == 0
    }

    #[cfg(test)]
    pub(super) fn is_decided(&self) -> bool {
        self.signal.causes.load(Ordering::Acquire) & Causes::DECIDED != 0
    }

    /// Returns the signal that a handler sees.
    pub(super) fn handler(&self) -> Cancelled {
        self.handler.clone()
    }

    /// Returns why no person is asked about a call from now on, if that is so.
    pub(super) fn before_approval(&self) -> Option<CancelReason> {
        self.causes().before_approval()
    }

    /// Waits until an open approval request ends without a decision.
    pub(super) async fn approval_interrupted(&self) -> Interruption {
        self.until(Causes::of_approval).await
    }

    /// Returns what happens to a call whose handler may no longer begin, or `None` if it may. An
    /// approval that was said to count does count.
    pub(super) fn before_handler(&self, is_approved: bool) -> Option<Interruption> {
        self.causes().before_handler(is_approved)
    }

    /// Waits until a handler can no longer begin.
    pub(super) async fn handler_interrupted(&self, is_approved: bool) -> Interruption {
        self.until(|causes| causes.before_handler(is_approved)).await
    }

    /// Returns whether the result of a handler that ends now is discarded.
    pub(super) fn discards(&self) -> bool {
        !self.is_behind && self.causes().discard()
    }

    fn causes(&self) -> Causes {
        let Signal { causes, closing, on_closing, .. } = &*self.signal;
        let come = Causes(causes.load(Ordering::Acquire));
        if closing.is_cancelled() { come.and(*on_closing) } else { come }
    }

    async fn until<T>(&self, holds: impl Fn(Causes) -> Option<T>) -> T {
        let Signal { changed, closing, .. } = &*self.signal;
        loop {
            let mut change = pin!(changed.notified());
            // A cause that comes from here on is not missed.
            change.as_mut().enable();
            let is_closing = closing.is_cancelled();
            if let Some(held) = holds(self.causes()) {
                return held;
            }
            tokio::select! {
                () = change => {}
                () = closing.cancelled(), if !is_closing => {}
            }
        }
    }
}

impl Causes {
    const DISMISSED: u8 = 1;
    const STOPS: u8 = 2;
    const STAYS: u8 = 4;
    /// No cause: a person has decided, or no person can any more.
    const DECIDED: u8 = 8;
    /// No cause: no decision counts, because the turn is dismissed before one came.
    const UNDECIDED: u8 = 16;

    const fn of(cause: CancelCause) -> Self {
        Self(match cause {
            CancelCause::Dismissed(OnDismiss::Finish) => Self::DISMISSED,
            CancelCause::Dismissed(OnDismiss::Stop) => Self::DISMISSED | Self::STOPS,
            CancelCause::Suspended => Self::STAYS,
        })
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn forbid_decision(self) -> Option<Self> {
        (self.0 & Self::DECIDED == 0).then_some(Self(self.0 | Self::UNDECIDED))
    }

    const fn is_dismissed(self) -> bool {
        self.0 & Self::DISMISSED != 0
    }

    const fn stops(self) -> bool {
        self.0 & Self::STOPS != 0
    }

    fn before_approval(self) -> Option<CancelReason> {
        if self.stops() {
            return Some(CancelReason::Withdrawn);
        }
        self.is_dismissed().then_some(CancelReason::Dismissed)
    }

    fn of_approval(self) -> Option<Interruption> {
        if self.is_dismissed() {
            return Some(Interruption::Ends(CancelReason::Dismissed));
        }
        self.before_handler(false)
    }

    fn before_handler(self, is_approved: bool) -> Option<Interruption> {
        if self.stops() && !is_approved {
            return Some(Interruption::Ends(CancelReason::Withdrawn));
        }
        (self.0 & Self::STAYS != 0).then_some(Interruption::Stays)
    }

    const fn discard(self) -> bool {
        self.is_dismissed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::in_time;

    use CancelCause::{Dismissed, Suspended};
    use CancelReason::{Dismissed as WasDismissed, Withdrawn};
    use Interruption::{Ends, Stays};
    use OnDismiss::{Finish, Stop};

    /// The causes; then what becomes of four calls; then whether a result is discarded. The calls:
    /// one without a question, one with an open question, one that waits for its handler, and an
    /// approved one that waits.
    type Row = (
        &'static [CancelCause],
        Option<CancelReason>,
        Option<Interruption>,
        Option<Interruption>,
        Option<Interruption>,
        bool,
    );

    const TABLE: [Row; 6] = [
        (&[], None, None, None, None, false),
        (&[Dismissed(Finish)], Some(WasDismissed), Some(Ends(WasDismissed)), None, None, true),
        (
            &[Dismissed(Stop)],
            Some(Withdrawn),
            Some(Ends(WasDismissed)),
            Some(Ends(Withdrawn)),
            None,
            true,
        ),
        (&[Suspended], None, Some(Stays), Some(Stays), Some(Stays), false),
        (
            &[Dismissed(Finish), Suspended],
            Some(WasDismissed),
            Some(Ends(WasDismissed)),
            Some(Stays),
            Some(Stays),
            true,
        ),
        (
            &[Dismissed(Stop), Suspended],
            Some(Withdrawn),
            Some(Ends(WasDismissed)),
            Some(Ends(Withdrawn)),
            Some(Stays),
            true,
        ),
    ];

    #[tokio::test]
    async fn each_cause_ends_what_it_is_to_end_in_whichever_order_they_come() {
        for (causes, unasked, asked, waiting, approved, discards) in TABLE {
            let in_order = causes.to_vec();
            let reversed = causes.iter().rev().copied().collect();
            for causes in [in_order, reversed] {
                let mut cancellation = Cancellation::default();
                let of_call = cancellation.from_here();
                causes.iter().for_each(|cause| cancellation.cancel(*cause));
                assert_eq!(of_call.before_approval(), unasked, "{causes:?}");
                assert_eq!(of_call.causes().of_approval(), asked, "{causes:?}");
                assert_eq!(of_call.before_handler(false), waiting, "{causes:?}");
                assert_eq!(of_call.before_handler(true), approved, "{causes:?}");
                assert_eq!(of_call.discards(), discards, "{causes:?}");
                if let Some(asked) = asked {
                    assert_eq!(in_time(of_call.approval_interrupted()).await, asked);
                }
            }
        }
    }

    #[tokio::test]
    async fn the_end_of_the_runtime_counts_as_its_cause_and_a_later_cause_is_still_heard() {
        let closing = CancellationToken::new();
        let mut cancellation = Cancellation::new(closing.clone());
        let of_call = cancellation.from_here();
        closing.cancel();
        assert_eq!(in_time(of_call.approval_interrupted()).await, Stays);
        cancellation.cancel(Dismissed(Stop));
        assert_eq!(in_time(of_call.handler_interrupted(false)).await, Ends(Withdrawn));
    }

    #[test]
    fn of_a_decision_and_a_dismissal_of_what_is_undecided_the_first_counts() {
        let waiting = || {
            let cancellation = Cancellation::default();
            cancellation.awaits_decision();
            (cancellation.from_here(), cancellation)
        };
        let (call, turn) = waiting();
        assert!(call.decided(), "no dismissal came");
        assert!(!turn.forbid_decision(), "it is decided");
        assert!(call.decided(), "what was not forbidden counts");
        call.awaits_decision();
        assert!(turn.forbid_decision(), "the next request is another");

        let (call, turn) = waiting();
        assert!(turn.forbid_decision());
        assert!(!call.decided(), "the dismissal came first");
        assert_eq!(call.causes().of_approval(), None, "that alone dismisses nothing");
        call.awaits_decision();
        assert!(!call.decided(), "nor does a request that is asked again take a decision");
    }

    #[test]
    fn the_handler_of_a_call_behind_a_dismissal_is_cancelled_by_the_next_cause() {
        let mut cancellation = Cancellation::default();
        let before = cancellation.from_here();
        cancellation.cancel(Dismissed(Finish));
        let behind = cancellation.from_here();
        let seen = || [&before, &behind].map(|call| call.handler().is_cancelled());
        assert_eq!(seen(), [true, false]);
        assert_eq!([&before, &behind].map(Cancellation::discards), [true, false]);
        cancellation.cancel(Dismissed(Stop));
        assert_eq!(seen(), [true, true]);
    }

    #[test]
    fn a_handler_is_given_the_cause_for_which_it_is_to_end() {
        for (cause, given) in [
            (Dismissed(Stop), Some(CancelledBy::Dismissal)),
            (Dismissed(Finish), Some(CancelledBy::Finish)),
            (Suspended, None),
        ] {
            let mut cancellation = Cancellation::default();
            let handler = cancellation.handler();
            cancellation.cancel(cause);
            assert_eq!(handler.by(), given, "{cause:?}");
        }
        let closing = CancellationToken::new();
        let of_turn = Cancellation::new(closing.clone());
        let [leaves, stays] = [closing.child_token(), closing.child_token()];
        let left = Cancellation::of_caller(leaves.clone(), closing.clone());
        let stayed = Cancellation::of_caller(stays, closing.clone());
        leaves.cancel();
        assert_eq!(left.handler().by(), Some(CancelledBy::Dismissal));
        assert_eq!(stayed.handler().by(), None);
        closing.cancel();
        assert_eq!(stayed.handler().by(), Some(CancelledBy::Shutdown));
        assert_eq!(of_turn.handler().by(), Some(CancelledBy::Shutdown));
    }
}
