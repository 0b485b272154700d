//! All actors of a runtime over the memory store: what the tests of calls and of sessions share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::testing::{FakeTool, MemoryStore, ScriptedModel};
use crate::{
    approval,
    dispatcher::{
        CallEnd, CancelCause, Cancellation, DispatchRequest, DispatcherEvent, DispatcherMsg,
    },
    ledger::{self, CallState},
    llm::NamedModel,
    mailbox::{Recipient, Reply},
    port::{ChatModel, LedgerFilter, LedgerRow, Store, SystemClock, Tool, UserWeights, Write},
    protocol::{
        ApprovalRequest, Asks, Bound, CallId, Decision, DecisionError, Languages, Limits, Locale,
        SessionId, Timestamp, ToolCall, ToolOutcome, TurnId, TurnOptions, UserId,
    },
    registry::ToolRegistry,
    session::{
        self, Error, RuntimeContext, SessionRegistry, SessionRequest, SessionSlot, SessionView,
        TurnEnd, TurnRequest, ViewPage,
    },
    supervisor::{RuntimeConfig, RuntimeHandles, Supervisor},
};

/// How long a test waits for anything before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A runtime's actors, with their store.
pub(crate) struct TestRuntime {
    pub(crate) store: MemoryStore,
    pub(crate) handles: RuntimeHandles,
    pub(crate) context: Arc<RuntimeContext>,
    pub(crate) sessions: SessionRegistry,
    calls: AtomicUsize,
}

impl TestRuntime {
    /// Starts with these tools, and a model that is never asked.
    pub(crate) async fn new(tools: impl IntoIterator<Item = FakeTool>) -> Self {
        Self::with(Limits::default(), ScriptedModel::new([]), tools).await
    }

    /// Starts with this tool of any kind.
    pub(crate) async fn of(tool: impl Tool) -> Self {
        let model = ScriptedModel::new([]);
        Self::with_tools(Limits::default(), model, [tool]).await
    }

    pub(crate) async fn with(
        limits: Limits,
        model: impl ChatModel,
        tools: impl IntoIterator<Item = FakeTool>,
    ) -> Self {
        Self::with_tools(limits, model, tools).await
    }

    /// Starts with tools of any kind.
    pub(crate) async fn with_tools(
        limits: Limits,
        model: impl ChatModel,
        tools: impl IntoIterator<Item = impl Tool>,
    ) -> Self {
        Self::on(MemoryStore::new(), limits, model, tools).await
    }

    /// Starts on a store that another runtime may have written.
    pub(crate) async fn on(
        store: MemoryStore,
        limits: Limits,
        model: impl ChatModel,
        tools: impl IntoIterator<Item = impl Tool>,
    ) -> Self {
        let model = Arc::new(model) as Arc<dyn ChatModel>;
        Self::of_models(store, limits, vec![model.into()], tools).await
    }

    /// Starts without a model.
    pub(crate) async fn without_model() -> Self {
        let tools: [FakeTool; 0] = [];
        Self::of_models(MemoryStore::new(), Limits::default(), Vec::new(), tools).await
    }

    async fn of_models(
        store: MemoryStore,
        limits: Limits,
        models: Vec<NamedModel>,
        tools: impl IntoIterator<Item = impl Tool>,
    ) -> Self {
        let mut registry = ToolRegistry::new();
        for tool in tools {
            registry.register(tool).unwrap();
        }
        let config = RuntimeConfig {
            models,
            weights: UserWeights::default(),
            occupied: None,
            store: Arc::new(store.clone()),
            registry: Arc::new(registry),
            limits: Arc::new(limits),
            languages: Languages::default(),
            clock: Arc::new(SystemClock),
            extensions: Default::default(),
        };
        let handles = Supervisor::start(config).await.unwrap().claim();
        let specs: Vec<_> = handles.calls.registry.iter().map(|tool| tool.spec().clone()).collect();
        let context = RuntimeContext::start(|lost| RuntimeContext {
            lost,
            has_temporary_chats: false,
            store: handles.store.clone(),
            models: handles.models.clone(),
            dispatcher: handles.dispatcher.clone(),
            calls: handles.calls.clone(),
            specs: specs.into(),
            system: None,
            supervisor: handles.supervisor.clone(),
            tasks: handles.calls.tasks.clone(),
            closing: handles.calls.closing.clone(),
            closed: Arc::default(),
        });
        Self {
            store,
            handles,
            context,
            sessions: SessionRegistry::default(),
            calls: AtomicUsize::new(0),
        }
    }

    /// Kim's session of this name.
    pub(crate) async fn slot(&self, name: &str) -> Arc<SessionSlot> {
        let session = session(name);
        let user = kim();
        let at = Timestamp::from_millis(0);
        let opened = Write::Session { session: session.clone(), user: user.clone(), at };
        self.handles.store.write(vec![opened]).await.unwrap();
        self.sessions.slot(&session, &user, &self.handles.calls.limits).unwrap()
    }

    /// Makes another slot of the same session, as after a restart. The first must not be used any
    /// more.
    pub(crate) fn fresh_slot(&self, slot: &SessionSlot) -> Arc<SessionSlot> {
        let session = slot.session();
        let user = slot.user();
        SessionRegistry::default().slot(session, user, &self.handles.calls.limits).unwrap()
    }

    pub(crate) fn send(&self, slot: &Arc<SessionSlot>, msg: SessionRequest) {
        session::send(slot, &self.context, msg).expect("the slot has room");
    }

    /// Begins a turn in which a person can be asked.
    pub(crate) async fn ask(
        &self,
        slot: &Arc<SessionSlot>,
        text: &str,
    ) -> Result<oneshot::Receiver<TurnEnd>, Error> {
        let ((began, beginning), (ended, end)) = (oneshot::channel(), oneshot::channel());
        let options = TurnOptions::default();
        let admission = &self.handles.calls.admission;
        let bytes = admission.admit(Bound::QueuedBytes, slot.user(), text.len());
        let bytes = bytes.map_err(Error::Overloaded)?;
        self.send(
            slot,
            SessionRequest::Submit(TurnRequest { text: text.into(), options, bytes, began, ended }),
        );
        in_time(beginning).await.map_err(|_| Error::Closed)??;
        Ok(end)
    }

    pub(crate) async fn state(&self, slot: &Arc<SessionSlot>) -> SessionView {
        let (reply, state) = oneshot::channel();
        self.send(slot, SessionRequest::State { page: ViewPage::ALL, reply });
        in_time(state).await.unwrap().unwrap()
    }

    /// Begins one call without a session's actor; a person can be asked.
    pub(crate) async fn begin(&self, tool: &str, arguments: &str) -> OneCall {
        self.begin_with(tool, arguments, |_| {}).await
    }

    pub(crate) async fn begin_with(
        &self,
        tool: &str,
        arguments: &str,
        change: impl FnOnce(&mut DispatchRequest),
    ) -> OneCall {
        let mut call = self.not_begun(tool, arguments).await;
        change(Arc::make_mut(&mut call.request));
        self.dispatch(&call);
        call
    }

    /// Begins a call that was not begun.
    pub(crate) fn dispatch(&self, call: &OneCall) {
        let request = call.request.clone();
        let lost = DispatcherEvent::Lost { call: request.call.id, seq: request.seq };
        let reply = Reply::new(request.news.clone(), lost);
        let _ = self.handles.dispatcher.send(DispatcherMsg::Dispatch { request, reply });
    }

    /// Makes a call that is not dispatched yet; a person can be asked.
    pub(crate) async fn not_begun(&self, tool: &str, arguments: &str) -> OneCall {
        let name = format!("call-{}", self.calls.fetch_add(1, Relaxed));
        let session = session(&name);
        let turn = TurnId::new(Uuid::now_v7());
        let at = Timestamp::from_millis(0);
        let opened = vec![
            Write::Session { session: session.clone(), user: kim(), at },
            Write::TurnStarted {
                session: session.clone(),
                turn,
                at,
                options: TurnOptions::default(),
                text: ledger::text_digest(""),
                max_stored_bytes: u64::MAX,
            },
        ];
        self.handles.store.write(opened).await.unwrap();
        let (news, heard) = mpsc::unbounded_channel();
        let request = DispatchRequest {
            session,
            user: kim(),
            turn,
            seq: 1,
            call: ToolCall {
                model: None,
                opaque: None,
                id: CallId::new(Uuid::now_v7()),
                name: tool.into(),
                arguments: arguments.into(),
            },
            locale: Locale::EN,
            time_zone: "UTC".into(),
            asks: Asks::User,
            cancellation: Cancellation::default(),
            proposed_at: Timestamp::from_millis(0),
            beyond: None,
            preamble: Vec::new(),
            ledger_row: None,
            span: tracing::Span::none(),
            news: Recipient::channel(news),
            progress: Recipient::discard(),
            late: Recipient::discard(),
        };
        OneCall { request: Arc::new(request), heard }
    }

    /// Runs one call without a question to its end, before which no event comes.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> CallEnd {
        let event = self.begin(tool, arguments).await.next().await;
        let DispatcherEvent::Ended(end) = event else { panic!("its end was expected: {event:?}") };
        end
    }

    pub(crate) async fn decide(
        &self,
        request: &ApprovalRequest,
        decision: Decision,
    ) -> Result<(), DecisionError> {
        let ApprovalRequest { call, digest, user, .. } = request;
        approval::decide(
            &self.handles.confirm,
            user,
            *call,
            *digest,
            decision,
            &self.handles.calls.limits,
        )
        .await
    }

    pub(crate) async fn ledger(&self) -> Vec<LedgerRow> {
        self.store.calls(&LedgerFilter::default()).await.unwrap()
    }

    /// Waits until nothing runs any more, then checks what must be true of every ledger: each call
    /// has its end, and no chain is broken.
    pub(crate) async fn at_rest(&self) -> Vec<LedgerRow> {
        self.context.tasks.close();
        in_time(self.context.tasks.wait()).await;
        let rows = self.ledger().await;
        for row in &rows {
            assert_eq!(row.state, CallState::Ended, "{row:?}");
            let (links, end) = self.store.links(&row.session).await.unwrap();
            ledger::verify(&row.session, &links, &end).unwrap();
        }
        rows
    }
}

/// A call that was begun.
pub(crate) struct OneCall {
    pub(crate) request: Arc<DispatchRequest>,
    heard: mpsc::UnboundedReceiver<DispatcherEvent>,
}

impl OneCall {
    pub(crate) fn cancel(&self, cause: CancelCause) {
        self.request.cancellation.clone().cancel(cause);
    }

    pub(crate) async fn next(&mut self) -> DispatcherEvent {
        in_time(self.heard.recv()).await.expect("the request holds the sender")
    }

    pub(crate) async fn approval_request(&mut self) -> ApprovalRequest {
        let DispatcherEvent::ApprovalRequested { request } = self.next().await else {
            panic!("a question was expected");
        };
        *request
    }

    /// Waits for the end, whatever was asked before.
    pub(crate) async fn end(&mut self) -> CallEnd {
        loop {
            match self.next().await {
                DispatcherEvent::ApprovalRequested { .. }
                | DispatcherEvent::ApprovalEnded { .. } => {}
                DispatcherEvent::Ended(end) => return end,
                DispatcherEvent::Left { call } => panic!("{call} was left"),
                DispatcherEvent::Lost { call, .. } => panic!("the reply about {call} was lost"),
            }
        }
    }
}

/// Fails the test if this takes too long.
pub(crate) async fn in_time<T>(future: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it comes in time")
}

/// Returns how a call ended, in one word and its effect.
pub(crate) fn kind(end: &CallEnd) -> String {
    let word = match &end.record.outcome {
        Some(ToolOutcome::Ok(_)) => "ok",
        Some(ToolOutcome::Err(error)) => &*error.code,
        Some(ToolOutcome::Cancelled(cancelled)) => cancelled.reason.name(),
        None => "discarded",
    };
    format!("{word}, {:?}", end.record.effect)
}

pub(crate) fn kim() -> UserId {
    UserId::new("kim").unwrap()
}

pub(crate) fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}
