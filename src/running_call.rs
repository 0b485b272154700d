//! A call without a model that runs or has ended: its requests, its dismissal, its end.

use std::sync::Arc;

use madang_actors::{
    dispatcher::{CallEnd, DispatcherEvent},
    protocol::{ApprovalRequest, CallId, Locale, SessionId, WantedCall, call_envelope},
};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{CallReport, keyed_calls::KeyedCall, runtime::SharedRuntime};

/// A call that began, given by [`Runtime::begin`](crate::Runtime::begin). Dropping it cancels nothing: the call runs to
/// its end, and the ledger has that. Handles of the same key share one call.
#[derive(Debug)]
pub struct RunningCall {
    call: Arc<DirectCall>,
    runtime: Arc<SharedRuntime>,
    locale: Locale,
    /// How many times the call had asked when this handle last gave a request.
    given: u64,
}

impl RunningCall {
    pub(crate) const fn new(
        call: Arc<DirectCall>,
        runtime: Arc<SharedRuntime>,
        locale: Locale,
    ) -> Self {
        Self { call, runtime, locale, given: 0 }
    }

    /// Gives the id under which the ledger names this call.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.call.id
    }

    /// Gives the session under which the ledger has it.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.call.session
    }

    /// Waits until a person is asked about the call, and gives the request; `None` once the call has ended. A request
    /// that is open already is given at once. It is given once, and once more where a decision on its way may have been
    /// lost: deciding again is harmless.
    ///
    /// Dropping the future loses nothing.
    pub async fn request(&mut self) -> Option<Arc<ApprovalRequest>> {
        let mut progress = self.call.progress.subscribe();
        loop {
            {
                let now = progress.borrow_and_update();
                if now.end.is_some() {
                    return None;
                }
                if let Some(request) = now.open.as_ref().filter(|_| now.asked > self.given) {
                    self.given = now.asked;
                    return Some(request.clone());
                }
            }
            progress.changed().await.expect("the handle keeps the sender");
        }
    }

    /// Dismisses the call for every holder of it. An open request ends as `dismissed`, and a call that has not begun
    /// does not run. A handler that has begun commits, as does a call whose approval counts, and only the result is
    /// discarded. After the end it changes nothing.
    pub fn dismiss(&self) {
        self.call.dismissal.cancel();
    }

    /// Waits for the end of the call. Dropping the future cancels nothing.
    pub async fn ended(&self) -> CallReport {
        let mut progress = self.call.progress.subscribe();
        let ended = progress.wait_for(|progress| progress.end.is_some()).await;
        let ended = ended.expect("the handle keeps the sender");
        let CallEnd { record, is_recorded, .. } =
            ended.end.clone().expect("it was waited for until it was there");
        drop(ended);
        let registry = &self.runtime.handles.calls.registry;
        let tool = registry.get(&self.call.wanted.name).ok().map(|tool| tool.spec());
        let max_bytes = self.runtime.limits.max_envelope_bytes;
        let envelope = call_envelope(&record, tool, self.locale, max_bytes);
        CallReport { session: self.call.session.clone(), record: *record, envelope, is_recorded }
    }
}

/// A call, as all its handles share it. Its pipeline holds it until the end.
#[derive(Debug)]
pub(crate) struct DirectCall {
    id: CallId,
    session: SessionId,
    /// The tool and the arguments, as the ledger has them.
    wanted: WantedCall,
    dismissal: CancellationToken,
    progress: watch::Sender<Progress>,
    /// Kept as long as the call: a later caller with the key finds it.
    _entry: Option<Arc<KeyedCall<Self>>>,
}

/// How far a call has come.
#[derive(Debug, Default)]
struct Progress {
    /// How many times a person was asked: a request that is asked again counts again.
    asked: u64,
    /// The request that is open.
    open: Option<Arc<ApprovalRequest>>,
    end: Option<CallEnd>,
}

impl DirectCall {
    pub(crate) fn new(
        id: CallId,
        session: SessionId,
        wanted: WantedCall,
        dismissal: CancellationToken,
        entry: Option<Arc<KeyedCall<Self>>>,
    ) -> Self {
        let progress = watch::Sender::new(Progress::default());
        Self { id, session, wanted, dismissal, progress, _entry: entry }
    }

    /// Tells whether it is of this tool and these arguments, and in this session. Arguments are compared as JSON, where
    /// both are that.
    pub(crate) fn is(&self, wanted: &WantedCall, session: &SessionId) -> bool {
        self.session == *session
            && self.wanted.name == wanted.name
            && are_same(&self.wanted.arguments, &wanted.arguments)
    }

    /// Tells whether its end is known here and the ledger does not have it. A later caller asks the ledger then.
    pub(crate) fn has_unrecorded_end(&self) -> bool {
        self.progress.borrow().end.as_ref().is_some_and(|end| !end.is_recorded)
    }

    /// Notes an event of its pipeline. Gives back whether the end must be read from the ledger.
    pub(crate) fn on(&self, event: DispatcherEvent) -> EndKnown {
        match event {
            DispatcherEvent::ApprovalRequested { request } => {
                self.progress.send_modify(|progress| {
                    progress.asked += 1;
                    progress.open = Some(Arc::new(*request));
                });
            }
            DispatcherEvent::ApprovalEnded { .. } => {
                self.progress.send_modify(|progress| progress.open = None);
            }
            DispatcherEvent::Ended(end) => self.ended(end),
            DispatcherEvent::Left { .. } | DispatcherEvent::Lost { .. } => return EndKnown::No,
        }
        EndKnown::Yes
    }

    /// Notes its end; the first one stays.
    pub(crate) fn ended(&self, end: CallEnd) {
        self.progress.send_modify(|progress| {
            progress.open = None;
            progress.end.get_or_insert(end);
        });
    }
}

/// Whether an event leaves the end to its pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndKnown {
    /// The pipeline has told the end, or will.
    Yes,
    /// The pipeline is gone: the ledger knows.
    No,
}

fn are_same(one: &str, other: &str) -> bool {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || json(one).zip(json(other)).is_some_and(|(one, other)| one == other)
}
