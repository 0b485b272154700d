//! A handle to one chat of one user.

use std::sync::Arc;

use madang_actors::{
    port::{LedgerFilter, LedgerRow, SessionSummary, SessionTitle, Store, StoreError, Write},
    protocol::{
        ApprovalRequest, Bound, CallId, Decision, DecisionError, EffectResolution, EventKind,
        FeedCursor, SessionId, StandingApproval, TurnId, TurnOptions, UserId,
    },
    session::{
        self, SessionRequest, SessionSlot, SessionView, StreamItem, Subscription, TurnRequest,
        ViewPage, check_lengths,
    },
};
use tokio::sync::oneshot;

use crate::{
    error::Error,
    runtime::shared::SharedRuntime,
    turn::handle::{Dismissed, Turn},
};

/// A handle to one chat of one user. It is cheap to clone, and dropping it cancels nothing.
///
/// [`send`](Self::send) begins a [`Turn`]. Its events show what its tools did, and ask for
/// approvals:
///
/// ```
/// # use madang_testing::{FakeTool, MemoryStore, ScriptedCompletion, ScriptedModel};
/// use madang::{approval::Decision, event::{EventKind, StreamItem}};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let asks = ScriptedCompletion::call("delete_note", &serde_json::json!({}));
/// # let model = ScriptedModel::new([asks, ScriptedCompletion::text("It is gone.")]);
/// # let builder = madang::Runtime::builder().model(model).store(MemoryStore::new());
/// # let runtime = builder.tool(FakeTool::destructive("delete_note")).start().await?;
///
/// let session = runtime.user("kim")?.session("chat-1").await?;
/// let mut events = session.send("Delete my note").await?.events();
/// let mut answer = String::new();
/// while let Some(item) = events.next().await {
///     let StreamItem::Event(event) = item else { continue };
///     match &event.kind {
///         EventKind::ApprovalRequested { request } => {
///             println!("{}", request.text);
///             session.decide(request, Decision::Approve).await?;
///         }
///         EventKind::ModelMessage { text, .. } => answer = text.to_string(),
///         _ => {}
///     }
/// }
/// assert_eq!(answer, "It is gone.");
/// # Ok(runtime.shutdown().await?)
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Session {
    slot: Arc<SessionSlot>,
    runtime: Arc<SharedRuntime>,
}

impl Session {
    pub(crate) const fn new(slot: Arc<SessionSlot>, runtime: Arc<SharedRuntime>) -> Self {
        Self { slot, runtime }
    }

    /// Returns the id of the session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        self.slot.session()
    }

    /// Returns the user of the session.
    #[must_use]
    pub fn user(&self) -> &UserId {
        self.slot.user()
    }

    /// Sends the user's text, and returns the turn that it begins after the text is stored. If a
    /// tool needs an approval, the user is asked. Dropping the [`Turn`] cancels nothing.
    ///
    /// # Errors
    /// [`Error`] says why no turn began.
    pub async fn send(&self, text: impl Into<Arc<str>>) -> Result<Turn, Error> {
        self.send_with(text, TurnOptions::default()).await
    }

    /// Sends the user's text with options of its own. If the options have an idempotency key, a
    /// repeated text begins nothing. It returns the turn that the text began the first time,
    /// whether that turn still runs or has ended.
    ///
    /// # Errors
    /// [`Error`] says why no turn began.
    pub async fn send_with(
        &self,
        text: impl Into<Arc<str>>,
        mut options: TurnOptions,
    ) -> Result<Turn, Error> {
        let zone = self.runtime.time_zones.choose(self.user(), options.time_zone.take())?;
        options.time_zone = Some(zone);
        let whose = (self.user(), self.id());
        let models = &self.runtime.context.models;
        options.model = self.runtime.model_choice.choose(whose, options.model.take(), models)?;
        let text = text.into();
        let bytes = check_lengths(&text, &options, self.runtime.limits())?;
        let admission = &self.runtime.handles.calls.admission;
        let bytes = admission.admit(Bound::QueuedBytes, self.user(), bytes);
        let bytes = bytes.map_err(Error::Overloaded)?;
        let (ended, end) = oneshot::channel();
        let may_be_there = options.key.is_some();
        // Before the text is submitted: the reader of the turn misses nothing.
        let mut live = Some(self.slot.watch(&self.runtime.context.calls));
        let submit =
            |began| SessionRequest::Submit(TurnRequest { text, options, bytes, began, ended });
        let id = self.request(submit).await?;
        if may_be_there && live.as_ref().is_some_and(|live| !begins_in(live, id)) {
            live = None;
        }
        Ok(Turn::new(id, self.slot.clone(), self.runtime.clone(), end, live))
    }

    /// Returns the running turn, if there is one. Another handle may have begun it, or it may go on
    /// after a crash.
    ///
    /// # Errors
    /// [`Error::Overloaded`] or [`Error::Closed`] if the session cannot be reached.
    pub async fn turn(&self) -> Result<Option<Turn>, Error> {
        let (ended, end) = oneshot::channel();
        let id = self.request(|reply| SessionRequest::Attach { ended, reply }).await?;
        Ok(id.map(|id| Turn::new(id, self.slot.clone(), self.runtime.clone(), end, None)))
    }

    /// Dismisses the running turn, whichever it is. [`dismiss_turn`](Self::dismiss_turn) dismisses
    /// one by its id. No bound refuses a dismissal.
    ///
    /// By default ([`OnDismiss::Stop`](crate::OnDismiss::Stop)) the model and open questions end at
    /// once, and nothing more begins. With [`OnDismiss::Finish`](crate::OnDismiss::Finish) only
    /// open questions end, and the turn runs to its end. In both cases a handler that runs is not
    /// cancelled.
    ///
    /// The dismissal is stored after the writes of that handler, and [`Dismissed::stored`] waits
    /// for it. Dropping the future or the [`Dismissed`] does not take the dismissal back.
    ///
    /// In a runtime without a model, an open turn is dismissed too, and the next start with a model
    /// ends it.
    ///
    /// # Errors
    /// [`Error::NoTurn`] if no turn runs, [`Error::Closed`] if the session cannot be reached.
    pub async fn dismiss(&self) -> Result<Dismissed, Error> {
        self.request(|reply| SessionRequest::Dismiss { only: None, reply })
            .await
            .map(Dismissed::new)
    }

    /// Clears the chat: the person's view and the model's prompt are empty again, and standing
    /// approvals end. Stored messages and the ledger are kept.
    ///
    /// # Errors
    /// [`Error`] says why the chat was not cleared.
    pub async fn clear(&self) -> Result<(), Error> {
        self.request(|reply| SessionRequest::Clear { reply }).await
    }

    /// Gives the chat this title, with which it is listed from now on. `None` takes it back, and the
    /// title is made of a text again. It changes nothing else: the chat keeps its place in the list,
    /// no event is published, and a running turn goes on.
    ///
    /// ```
    /// # use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
    /// use madang::store::SessionTitle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([ScriptedCompletion::text("Sleep.")]);
    /// # let runtime = madang::Runtime::builder().model(model).store(MemoryStore::new()).start().await?;
    ///
    /// let session = runtime.user("kim")?.session("chat-1").await?;
    /// session.send("What helps me sleep?").await?.text().await?;
    /// session.rename(SessionTitle::new("Sleep")?).await?;
    /// assert_eq!(session.summary().await?.unwrap().title, "Sleep");
    /// # Ok(runtime.shutdown().await?)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Store`] if the title could not be written, and [`Error::Deleted`] if the session was
    /// deleted.
    pub async fn rename(&self, title: impl Into<Option<SessionTitle>>) -> Result<(), Error> {
        let session = self.id().clone();
        let user = self.user().clone();
        let titled = Write::Titled { session, user, title: title.into() };
        self.must_exist()?;
        match self.runtime.context.store.write(vec![titled]).await {
            Err(StoreError::Refused { .. }) => Err(Error::Deleted),
            written => Ok(written?),
        }
    }

    /// Reads the summary with which the chat is listed, and does not wake it. Returns `None` if it
    /// is not listed, because it has no message of the user.
    ///
    /// # Errors
    /// [`Error::Store`] if the store cannot be read.
    pub async fn summary(&self) -> Result<Option<SessionSummary>, Error> {
        let summary = self.store().summary(self.user(), self.id()).await?;
        self.must_exist()?;
        Ok(summary)
    }

    /// Deletes the session, with its texts, its calls, its approvals and its name. What its tools
    /// did is not undone, and the tables of the application are not changed. The hashes of its
    /// ledger stay, so an audit distinguishes a deletion from rows that were removed
    /// ([`ErasedChain`](crate::ledger::ErasedChain)).
    ///
    /// It cannot be taken back. The subscriptions of the session end, and every handle of it
    /// answers [`Error::Deleted`] from then on. A session that is opened under its id later is
    /// another one, and any user may open it. Dropping the future cancels nothing.
    ///
    /// Text may remain in the free pages of a database file and in the caches of a model in the
    /// process. [`Forget`](crate::ledger::Forget) erases a user's bytes as well.
    ///
    /// ```
    /// # use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
    /// use madang::Error;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([ScriptedCompletion::text("Hello.")]);
    /// # let runtime = madang::Runtime::builder().model(model).store(MemoryStore::new()).start().await?;
    ///
    /// let session = runtime.user("kim")?.session("chat-1").await?;
    /// session.send("Hello").await?.text().await?;
    /// session.delete().await?;
    /// assert!(matches!(session.state().await, Err(Error::Deleted)));
    /// # Ok(runtime.shutdown().await?)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Busy`] if a turn or a call of the session has not ended: dismiss the turn and wait
    /// for its end. [`Error::Store`] if the store cannot be read or written. [`Error::Closed`] if the
    /// runtime shuts down.
    pub async fn delete(&self) -> Result<(), Error> {
        let slot = self.slot.clone();
        let context = self.runtime.context.clone();
        // In a task: once the rows are gone, the slot must learn of it.
        let tasks = self.runtime.tasks();
        let deleting = tasks.spawn(async move { session::delete(&slot, &context).await });
        deleting.await.unwrap_or(Err(Error::Store(StoreError::Silent)))
    }

    /// Returns the view that a screen shows, with all entries of the chat. [`view`](Self::view)
    /// returns a page of them.
    ///
    /// # Errors
    /// [`Error::Overloaded`] or [`Error::Closed`] if the session cannot be reached.
    pub async fn state(&self) -> Result<SessionView, Error> {
        self.view(ViewPage::ALL).await
    }

    /// Returns the view with one page of its entries: the last ones, or those before an earlier
    /// page. A long chat is read in pages, from its end.
    ///
    /// # Errors
    /// [`Error::Overloaded`] or [`Error::Closed`] if the session cannot be reached.
    pub async fn view(&self, page: ViewPage) -> Result<SessionView, Error> {
        self.request(|reply| SessionRequest::State { page, reply }).await
    }

    /// Subscribes to the events from now on. If a turn went on after a crash and nobody has
    /// subscribed since, the events begin with its resumption, so that the first subscriber sees
    /// the whole resumed turn.
    ///
    /// Each subscriber reads at its own pace. A slow one receives [`StreamItem::Lagged`], and then
    /// the missed events from the store.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        self.slot.subscribe(&self.runtime.context.calls)
    }

    /// Subscribes to the events after the cursor of the last event read
    /// ([`SessionEvent::cursor`](crate::event::SessionEvent::cursor)), even if the session has
    /// slept or the process has ended since. The stored events come first, then the new ones.
    /// [`EventCursor::START`](crate::event::EventCursor::START) reads from the beginning. Each
    /// entry of the chat and each end of a turn is returned once and in order.
    ///
    /// Events of progress are repeated if they are still in memory. A [`FeedCursor`] also says
    /// which of them the reader knows, so they come only once while anything of the session is in
    /// memory.
    ///
    /// # Errors
    /// [`Error::Overloaded`] or [`Error::Closed`] if the session cannot be woken.
    pub async fn subscribe_after(
        &self,
        cursor: impl Into<FeedCursor>,
    ) -> Result<Subscription, Error> {
        let cursor = cursor.into();
        let _ = self.turn().await?; // awake, the session has what the store has
        Ok(self.slot.subscribe_after(cursor, &self.runtime.context.calls))
    }

    /// Decides about an approval request of this session. Exactly one decision wins, and it is
    /// valid after it is recorded. Edited arguments that do not fit the tool are refused with their
    /// problems, and the request stays open.
    ///
    /// # Errors
    /// [`DecisionError`] says why the decision was not accepted.
    pub async fn decide(
        &self,
        request: &ApprovalRequest,
        decision: Decision,
    ) -> Result<(), DecisionError> {
        self.runtime.decide(self.user(), request.call, request.digest, decision).await
    }

    /// Reads the standing approvals of this session in the order in which they were given. Their
    /// tools run without a question. They survive sleep and restarts, and end when they are revoked
    /// or the chat is cleared.
    ///
    /// # Errors
    /// [`Error::Store`] if the store cannot be read.
    pub async fn standing_approvals(&self) -> Result<Vec<StandingApproval>, Error> {
        let rows = self.calls(LedgerFilter::standing_approvals()).await?;
        Ok(rows.iter().filter_map(LedgerRow::standing_approval).collect())
    }

    /// Revokes the standing approvals of this tool in this session, so that its next call asks
    /// again. A call that has begun continues. Without such an approval nothing changes.
    ///
    /// # Errors
    /// [`Error::Store`] if the end could not be recorded.
    pub async fn revoke(&self, tool: &str) -> Result<(), Error> {
        self.must_exist()?;
        let revoke = Write::Revoke {
            session: self.id().clone(),
            tool: Some(tool.into()),
            by: self.user().clone(),
            at: self.runtime.clock().now(),
        };
        match self.runtime.context.store.write(vec![revoke]).await {
            Ok(()) => Ok(()),
            // If only the reply was lost, the approval has ended.
            Err(cause) if cause.may_have_happened() => {
                let stands =
                    self.standing_approvals().await?.iter().any(|standing| *standing.tool == *tool);
                if stands { Err(cause.into()) } else { Ok(()) }
            }
            Err(cause) => Err(cause.into()),
        }
    }

    /// Reads the calls of this session whose effect is unknown, in the order in which they were
    /// proposed. Their tools work outside of the store and passed their deadline, failed
    /// unexpectedly, or were cut off by the end of the process. Some of them may still run, and
    /// report their effect themselves when they end.
    ///
    /// # Errors
    /// [`Error::Store`] if the store cannot be read.
    pub async fn unresolved(&self) -> Result<Vec<LedgerRow>, Error> {
        self.calls(LedgerFilter::unresolved()).await
    }

    /// Records what the user has found out about a call whose effect was unknown. From then on the
    /// model reads the resolution with the call, subscribers receive
    /// [`EventKind::ToolCallResolved`](crate::event::EventKind), and the ledger names the user.
    ///
    /// A resolution cannot be taken back, and exactly one wins. After a person or the late end of
    /// the handler has resolved the call, each later caller receives [`Error::NotUnknown`].
    /// Dropping the future cancels nothing.
    ///
    /// # Errors
    /// [`Error`] says why the resolution was not accepted.
    pub async fn resolve(&self, call: CallId, resolution: EffectResolution) -> Result<(), Error> {
        let slot = self.slot.clone();
        let context = self.runtime.context.clone();
        // In a task: after it is written, the session must learn of it.
        let resolving = self
            .runtime
            .tasks()
            .spawn(async move { session::resolve(&slot, &context, call, resolution).await });
        resolving.await.unwrap_or(Err(Error::Store(StoreError::Silent)))
    }

    async fn calls(&self, filter: LedgerFilter) -> Result<Vec<LedgerRow>, Error> {
        let rows = self.store().calls(&filter.in_session(self.id())).await?;
        self.must_exist()?;
        Ok(rows)
    }

    /// Refuses what was read if the session was deleted by then: it may be of a later session with
    /// the same id, and of another user.
    pub(super) fn must_exist(&self) -> Result<(), Error> {
        if self.slot.is_deleted() { Err(Error::Deleted) } else { Ok(()) }
    }

    pub(crate) const fn runtime(&self) -> &Arc<SharedRuntime> {
        &self.runtime
    }

    /// Sends a request to the session, which wakes for it, and waits for the answer.
    pub(crate) async fn request<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> SessionRequest,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        session::send(&self.slot, &self.runtime.context, request(reply))?;
        answer.await.unwrap_or(Err(Error::Closed))
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.runtime.context.store.store()
    }
}

#[cfg(any(test, feature = "testing"))]
impl madang_actors::supervisor::InspectSession for Session {
    fn inspect_slot(&self) -> &Arc<SessionSlot> {
        &self.slot
    }
}

/// Returns whether this turn began after the subscription did. A turn's first event is published
/// before `send` returns.
fn begins_in(live: &Subscription, turn: TurnId) -> bool {
    let mut probe = live.clone();
    std::iter::from_fn(|| probe.try_next()).any(|item| match item {
        StreamItem::Event(event) => {
            event.turn == turn && matches!(event.kind, EventKind::UserMessage { .. })
        }
        StreamItem::Text { .. }
        | StreamItem::Thinking { .. }
        | StreamItem::Lagged { .. }
        | StreamItem::ReplayFailed
        | _ => false,
    })
}
