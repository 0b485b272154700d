//! The running turn, as an awake session holds it.

use std::{collections::BTreeMap, sync::Arc};

use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use super::machine::TurnMachine;
use crate::session::error::Error;
use crate::{
    admission::Permit,
    dispatcher::{CancelCause, Cancellation, DispatchRequest},
    port::StoreError,
    protocol::{ApprovalRequest, CallId, CompletionId, Digest, TurnId, TurnOptions},
    telemetry::TurnSpan,
};

/// The running turn.
#[derive(Debug)]
pub(in crate::session) struct ActiveTurn {
    pub(in crate::session) id: TurnId,
    pub(in crate::session) core: TurnMachine,
    pub(in crate::session) span: TurnSpan,
    pub(in crate::session) options: TurnOptions,
    /// The index of the model that each of its completions is asked of first.
    pub(in crate::session) first_model: usize,
    /// The index of the model that is asked now, or was last. It changes if a model was overloaded
    /// or unreachable.
    pub(in crate::session) model: usize,
    /// The hash of what the user typed.
    pub(in crate::session) text: Digest,
    /// Cancels its calls.
    pub(in crate::session) cancellation: Cancellation,
    /// Its permit among the running turns; `None` while it waits for room after a crash.
    pub(in crate::session) permit: Option<Permit>,
    /// Ends its wait for room when it is dropped, so at the latest with the turn.
    pub(in crate::session) waits_for_room: Option<DropGuard>,
    /// The permit for the bytes of the user's message, until it is stored.
    pub(in crate::session) bytes: Option<Permit>,
    /// The callers that wait until the user's message is stored. `None` after they are answered.
    pub(in crate::session) began: Option<Vec<oneshot::Sender<Result<TurnId, Error>>>>,
    /// The calls of the round that are not dispatched yet.
    pub(in crate::session) proposed: Vec<Option<Arc<DispatchRequest>>>,
    /// The callers that dismissed it, until that is on its way to the store.
    pub(in crate::session) dismissed: Vec<oneshot::Sender<Result<(), StoreError>>>,
    pub(in crate::session) completion: Option<AskedCompletion>,
    pub(in crate::session) calls: BTreeMap<CallId, ActiveCall>,
    pub(in crate::session) approval_requests: Vec<ApprovalRequest>,
    /// The calls of a round that is on its way to the store. They are dispatched after it is there.
    pub(in crate::session) unrecorded: Option<Vec<usize>>,
}

/// The completion that a turn waits for.
#[derive(Debug, Clone)]
pub(in crate::session) struct AskedCompletion {
    pub(in crate::session) id: CompletionId,
    pub(in crate::session) cancel: CancellationToken,
    /// The moment at which the first model was asked for it.
    pub(in crate::session) since: Instant,
}

#[derive(Debug)]
pub(in crate::session) struct ActiveCall {
    pub(in crate::session) index: usize,
    pub(in crate::session) request: Arc<DispatchRequest>,
    /// Whether its end is known, and waits for the entries before it to be published.
    pub(in crate::session) has_ended: bool,
}

impl AskedCompletion {
    /// Makes a completion that is not asked for yet.
    pub(in crate::session) fn new(since: Instant) -> Self {
        Self { id: CompletionId::new(Uuid::now_v7()), cancel: CancellationToken::new(), since }
    }
}

impl ActiveTurn {
    /// Makes a turn of which nothing runs yet.
    pub(in crate::session) fn new(
        (id, core, span): (TurnId, TurnMachine, TurnSpan),
        (options, text): (TurnOptions, Digest),
        model: usize,
        cancellation: Cancellation,
        permit: Option<Permit>,
    ) -> Self {
        Self {
            id,
            core,
            span,
            options,
            first_model: model,
            model,
            text,
            cancellation,
            permit,
            waits_for_room: None,
            bytes: None,
            began: None,
            proposed: Vec::new(),
            dismissed: Vec::new(),
            completion: None,
            calls: BTreeMap::new(),
            approval_requests: Vec::new(),
            unrecorded: None,
        }
    }

    pub(in crate::session) fn cancel_completion(&mut self) {
        if let Some(asked) = self.completion.take() {
            asked.cancel.cancel();
        }
    }

    /// Returns whether no part of it runs, so that it can be left as it is.
    pub(in crate::session) fn is_quiet(&self) -> bool {
        self.began.is_none() && self.calls.values().all(|call| call.has_ended)
    }

    /// Leaves the work that it began. The model stops, running handlers end, and calls that have
    /// not begun stay as they are in the ledger.
    pub(in crate::session) fn leave(&mut self) {
        self.cancel_completion();
        self.cancellation.cancel(CancelCause::Suspended);
    }

    /// Returns the approval request that waits for the user.
    pub(in crate::session) fn approval_request(&self) -> Option<&ApprovalRequest> {
        self.approval_requests.first()
    }

    /// Cancels its calls, because its user leaves.
    pub(in crate::session) fn dismiss(&mut self) {
        self.cancellation.cancel(CancelCause::Dismissed(self.options.on_dismiss));
    }
}
