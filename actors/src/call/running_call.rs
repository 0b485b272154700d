//! A call without a model that runs or has ended: its requests, its dismissal, its end.

use std::sync::Arc;

use super::{
    report::CallReport,
    shared_call::{SharedCall, Stage},
};
use crate::{
    dispatcher::{CallContext, CallEnd},
    protocol::{ApprovalRequest, CallId, Locale, SessionId, ToolProgress, call_envelope},
};

/// A call without a model that has begun. Dropping it cancels nothing: the call runs to its end,
/// which the ledger has. Handles of the same key share one call. A clone reads requests and
/// progress on its own.
#[derive(Debug, Clone)]
pub struct RunningCall {
    call: Arc<SharedCall>,
    context: Arc<CallContext>,
    locale: Locale,
    /// How many times the call had asked when this handle last returned a request.
    given: u64,
    /// How many reports of progress the handler had made when this handle last returned one.
    read: u64,
}

impl RunningCall {
    pub(super) const fn new(
        call: Arc<SharedCall>,
        context: Arc<CallContext>,
        locale: Locale,
    ) -> Self {
        Self { call, context, locale, given: 0, read: 0 }
    }

    /// Returns the id under which the ledger names this call.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.call.id
    }

    /// Returns the session under which the ledger has it.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.call.session
    }

    /// Waits until a person is asked about the call, and returns the request, or `None` after the
    /// call has ended. A request that is already open is returned at once. Each request is returned
    /// once, and again if a decision that was sent may have been lost. Deciding again is safe.
    ///
    /// Dropping the future loses nothing.
    pub async fn request(&mut self) -> Option<Arc<ApprovalRequest>> {
        let given = self.given;
        let open = |now: &Stage| now.open.clone().map(|request| (now.asked, request));
        let (asked, request) =
            self.next(|now| open(now).filter(|(asked, _)| *asked > given)).await?;
        self.given = asked;
        Some(request)
    }

    /// Waits until the handler reports how far it has come, and returns the newest report, or
    /// `None` after the call has ended. No report is returned twice, and those that a newer one has
    /// replaced are not returned.
    ///
    /// Dropping the future loses nothing.
    pub async fn progress(&mut self) -> Option<ToolProgress> {
        let read = self.read;
        let newest = |now: &Stage| (now.reports > read).then(|| (now.reports, now.newest.clone()));
        let (reports, newest) = self.next(newest).await?;
        self.read = reports;
        newest
    }

    /// Waits until the call has what is looked for. Returns `None` after it has ended.
    async fn next<T>(&self, look: impl Fn(&Stage) -> Option<T>) -> Option<T> {
        let mut stage = self.call.stage.subscribe();
        let mut found = None;
        let has_news = |now: &Stage| {
            found = look(now).filter(|_| now.end.is_none());
            found.is_some() || now.end.is_some()
        };
        let _ = stage.wait_for(has_news).await.expect("the handle keeps the sender");
        found
    }

    /// Dismisses the call for all its holders. An open request ends as `dismissed`, and a call that
    /// has not begun does not run. A handler that has begun commits, and so does a call whose
    /// approval is valid; only the result is discarded. After the end this changes nothing.
    pub fn dismiss(&self) {
        self.call.dismissal.cancel();
    }

    /// Waits for the end of the call. Dropping the future cancels nothing.
    pub async fn ended(&self) -> CallReport {
        let mut stage = self.call.stage.subscribe();
        let ended = stage.wait_for(|stage| stage.end.is_some()).await;
        let ended = ended.expect("the handle keeps the sender");
        let CallEnd { record, is_recorded, .. } =
            ended.end.clone().expect("it was waited for until it was there");
        drop(ended);
        let registry = &self.context.registry;
        let tool = registry.get(&self.call.wanted.name).ok().map(|tool| tool.spec());
        let max_bytes = self.context.limits.max_envelope_bytes;
        let envelope = call_envelope(&record, tool, self.locale, max_bytes);
        CallReport { session: self.call.session.clone(), record: *record, envelope, is_recorded }
    }
}
