//! What the promises of our own server share: a runtime with three tools, and clients of both kinds
//! of revisions.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use madang::{
    LanguageTag, Limits, Runtime, UserId,
    ledger::{LedgerFilter, LedgerRow},
    tool::{self, EffectPolicy, ToolContext, ToolProgress, ToolResult},
};
use madang_mcp::ToolServer;
use madang_testing::{MemoryStore, ScriptedModel};
use rmcp::{
    ClientHandler, ErrorData, RoleClient, ServiceError,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig,
        ElicitRequestParams, ElicitResult, ElicitationCapability, Implementation,
        ProgressNotificationParam, ProtocolVersion, RequestMetaObject,
    },
    service::{
        ClientLifecycleMode, ClientServiceExt as _, NotificationContext, RequestContext,
        RunningService,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::JoinHandle};

use crate::support::PATIENCE;

/// The revisions that the tests speak: with a handshake and without one.
pub(crate) const BOTH: [ProtocolVersion; 2] =
    [ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

#[derive(Deserialize, JsonSchema)]
struct Text {
    #[expect(dead_code, reason = "the tools look at nothing")]
    text: Option<String>,
}

/// How often a handler ran, and what holds the slow one.
#[derive(Debug)]
pub(crate) struct Handlers {
    runs: AtomicUsize,
    pub(crate) begun: Semaphore,
    pub(crate) go_on: Semaphore,
}

async fn run(_: Text, ctx: &ToolContext) -> ToolResult<Value> {
    let handlers = ctx.extension::<Arc<Handlers>>().unwrap();
    Ok(json!({ "run": handlers.runs.fetch_add(1, SeqCst) + 1 }))
}

async fn slow(_: Text, ctx: &ToolContext) -> ToolResult<Value> {
    let handlers = ctx.extension::<Arc<Handlers>>().unwrap();
    ctx.progress.report(ToolProgress::new(1.0).out_of(2.0).saying("half"));
    handlers.begun.add_permits(1);
    handlers.go_on.acquire().await.unwrap().forget();
    handlers.runs.fetch_add(1, SeqCst);
    Ok(json!({}))
}

/// The runtime that is offered.
pub(crate) struct Offered {
    pub(crate) runtime: Runtime,
    pub(crate) handlers: Arc<Handlers>,
}

impl Offered {
    pub(crate) async fn new() -> Self {
        Self::with(Limits::default()).await
    }

    pub(crate) async fn with(limits: Limits) -> Self {
        let handlers = Arc::new(Handlers {
            runs: AtomicUsize::new(0),
            begun: Semaphore::new(0),
            go_on: Semaphore::new(0),
        });
        let runtime = Runtime::builder()
            .model(ScriptedModel::new([]))
            .store(MemoryStore::new())
            .limits(limits)
            .tool(tool::plain("write", "Writes.", run).effect(EffectPolicy::Write))
            .tool(tool::plain("slow", "Takes long.", slow).effect(EffectPolicy::Write))
            .tool(tool::plain("remove", "Removes.", run))
            .tool(tool::plain("look", "Looks.", run).effect(EffectPolicy::Read).idempotent())
            .extension(Arc::clone(&handlers))
            .start()
            .await
            .unwrap();
        Self { runtime, handlers }
    }

    pub(crate) fn runs(&self) -> usize {
        self.handlers.runs.load(SeqCst)
    }

    /// The calls of a user that the ledger has.
    pub(crate) async fn ledger(&self, user: &str) -> Vec<LedgerRow> {
        let filter = LedgerFilter::default().of_user(&UserId::new(user).unwrap());
        self.runtime.ledger(&filter).await.unwrap()
    }

    /// Connects a client whose person this is, in this revision.
    pub(crate) async fn client(
        &self,
        user: &str,
        person: Person,
        version: &ProtocolVersion,
    ) -> Client {
        self.connect(self.server(user), person, version).await
    }

    /// Connects a client that names this language.
    pub(crate) async fn client_in(
        &self,
        user: &str,
        person: Person,
        version: &ProtocolVersion,
        language: LanguageTag,
    ) -> Client {
        self.connect(self.server(user).language(language), person, version).await
    }

    fn server(&self, user: &str) -> ToolServer {
        ToolServer::new(self.runtime.clone(), UserId::new(user).unwrap()).unwrap()
    }

    async fn connect(
        &self,
        server: ToolServer,
        person: Person,
        version: &ProtocolVersion,
    ) -> Client {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (input, output) = tokio::io::split(ours);
        let serving = tokio::spawn(server.serve(input, output));
        let lifecycle = if version.has_initialize() {
            ClientLifecycleMode::Initialize
        } else {
            ClientLifecycleMode::Discover { preferred_versions: vec![version.clone()] }
        };
        let shown = Arc::clone(&person.shown);
        let heard = Arc::clone(&person.heard);
        let service = person.serve_with_lifecycle(theirs, lifecycle).await.unwrap();
        Client { service, serving, shown, heard }
    }
}

/// A client that is connected.
pub(crate) struct Client {
    pub(crate) service: RunningService<RoleClient, Person>,
    serving: JoinHandle<Result<(), madang_mcp::McpServeError>>,
    shown: Arc<Mutex<Vec<Value>>>,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Client {
    pub(crate) async fn call(&self, params: CallToolRequestParams) -> Result<Value, ServiceError> {
        let called = tokio::time::timeout(PATIENCE, self.service.call_tool(params)).await;
        called.unwrap().map(|result: CallToolResult| serde_json::to_value(result).unwrap())
    }

    /// The forms that the person was shown.
    pub(crate) fn shown(&self) -> Vec<Value> {
        self.shown.lock().unwrap().clone()
    }

    /// What the client was told of the progress of its calls, and of questions that were taken
    /// back.
    pub(crate) fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }

    /// Leaves, and waits until the server has seen it.
    pub(crate) async fn leave(self) {
        self.service.cancel().await.unwrap();
        tokio::time::timeout(PATIENCE, self.serving).await.unwrap().unwrap().unwrap();
    }
}

/// What a client hears of a question that it need not answer any more.
pub(crate) const TAKEN_BACK: &str = "the question was taken back";

/// The person behind a client, and what it answers.
pub(crate) struct Person {
    capabilities: ClientCapabilities,
    answers: Mutex<VecDeque<Value>>,
    shown: Arc<Mutex<Vec<Value>>>,
    heard: Arc<Mutex<Vec<Value>>>,
    is_mute: bool,
}

impl Person {
    /// A person that never answers, not even where the question is taken back or the client leaves.
    pub(crate) fn mute() -> Self {
        Self { is_mute: true, ..Self::answering([]) }
    }

    /// A person that answers so, and then not until the question is taken back.
    pub(crate) fn answering(answers: impl IntoIterator<Item = Value>) -> Self {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(Default::default()));
        let answers = Mutex::new(answers.into_iter().collect());
        Self { capabilities, answers, shown: Arc::default(), heard: Arc::default(), is_mute: false }
    }

    /// A person whose client cannot ask.
    pub(crate) fn out_of_reach() -> Self {
        Self { capabilities: ClientCapabilities::default(), ..Self::answering([yes()]) }
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(self.capabilities.clone(), Implementation::new("test", "1"))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.heard.lock().unwrap().push(serde_json::to_value(told).unwrap());
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.shown.lock().unwrap().push(serde_json::to_value(asked).unwrap());
        let answer = self.answers.lock().unwrap().pop_front();
        match answer {
            Some(answer) => Ok(serde_json::from_value(answer).unwrap()),
            None if self.is_mute => std::future::pending().await,
            None => {
                context.ct.cancelled().await;
                self.heard.lock().unwrap().push(json!(TAKEN_BACK));
                Err(ErrorData::internal_error(TAKEN_BACK, None))
            }
        }
    }
}

pub(crate) fn yes() -> Value {
    json!({ "action": "accept", "content": { "ok": true } })
}

/// A call of a tool.
pub(crate) fn of(tool: &str) -> CallToolRequestParams {
    saying(tool, "hi")
}

/// A call of a tool with this text.
pub(crate) fn saying(tool: &str, text: &str) -> CallToolRequestParams {
    let arguments = json!({ "text": text });
    CallToolRequestParams::new(tool.to_owned())
        .with_arguments(arguments.as_object().unwrap().clone())
}

/// The same under an idempotency key.
pub(crate) fn keyed(tool: &str, key: Value) -> CallToolRequestParams {
    let mut params = of(tool);
    let mut meta = RequestMetaObject::new();
    meta.insert("io.madang/idempotencyKey".to_owned(), key);
    params.meta = Some(meta);
    params
}

/// The text of a result that is an error.
pub(crate) fn failure(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

/// The code of a protocol error.
pub(crate) fn code(result: Result<Value, ServiceError>) -> i32 {
    match result {
        Err(ServiceError::McpError(error)) => error.code.0,
        other => panic!("an error of the protocol was expected: {other:?}"),
    }
}

/// A time in which a question expires for a test.
pub(crate) fn soon() -> Limits {
    Limits { decision_timeout: Duration::from_millis(50), ..Limits::default() }
}
