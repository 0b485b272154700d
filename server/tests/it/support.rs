//! A server on a free port of loopback, with a runtime behind it and tokens of some users.

use std::{net::SocketAddr, time::Duration};

use madang::{Builder, Runtime, UserId, model::ChatModel, store::Store, tool::Tool};
use madang_server::{
    Listener, ServeError, Server, ServerLimits, ServerOptions, SqliteMemory, TokenEntry,
    TokenHolder, TokenScopes, TokenSecret,
};
use madang_testing::{FakeTool, MemoryStore, ScriptedCompletion, ScriptedModel};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle, time::timeout};

use crate::http::{Answer, EventReader, PATIENCE, Request};

/// A server that serves.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) kim: TokenSecret,
    pub(crate) lee: TokenSecret,
    stop: Option<oneshot::Sender<()>>,
    serves: JoinHandle<Result<(), ServeError>>,
}

/// What a test server is made of.
pub(crate) struct Setup {
    builder: Builder,
    options: ServerOptions,
    limits: ServerLimits,
    /// Whether clients that name no chat are remembered in the store.
    remembers: bool,
}

impl Setup {
    /// Sets up a server with this model and a store in memory.
    pub(crate) fn new(model: impl ChatModel) -> Self {
        Self::over(model, MemoryStore::new())
    }

    pub(crate) fn over(model: impl ChatModel, store: impl Store) -> Self {
        Self {
            builder: Runtime::builder().model(model).store(store),
            options: ServerOptions::default(),
            limits: ServerLimits::default(),
            remembers: false,
        }
    }

    /// Remembers clients that name no chat in the store, which has the tables of the server.
    pub(crate) fn remembering(mut self) -> Self {
        self.remembers = true;
        self
    }

    pub(crate) fn tool(mut self, tool: impl Tool) -> Self {
        self.builder = self.builder.tool(tool);
        self
    }

    pub(crate) fn build(mut self, change: impl FnOnce(Builder) -> Builder) -> Self {
        self.builder = change(self.builder);
        self
    }

    pub(crate) fn options(mut self, change: impl FnOnce(ServerOptions) -> ServerOptions) -> Self {
        self.options = change(self.options);
        self
    }

    pub(crate) fn limits(mut self, change: impl FnOnce(&mut ServerLimits)) -> Self {
        change(&mut self.limits);
        self
    }

    pub(crate) async fn start(self) -> TestServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        self.start_on(listener).await
    }

    pub(crate) async fn start_on(self, listener: TcpListener) -> TestServer {
        let kim = TokenSecret::random().unwrap();
        let lee = TokenSecret::random().unwrap();
        let token = |user: &str, scopes, secret: &TokenSecret| {
            let holder = TokenHolder::User(UserId::new(user).unwrap());
            TokenEntry::new(user, holder, scopes, secret)
        };
        let runtime = self.builder.start().await.unwrap();
        let options = match self.remembers {
            true => self.options.client_memory(SqliteMemory::open(runtime.clone()).await.unwrap()),
            false => self.options,
        };
        let options = options
            .limits(self.limits)
            .token(token("kim", TokenScopes::ALL, &kim))
            .token(token("lee", TokenScopes::OF_PERSON, &lee));
        let server = Server::new(runtime.clone(), options).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serves = server.clone().serve(vec![Listener::from(listener)], async move {
            drop(stopped.await);
        });
        let serves = tokio::spawn(serves);
        TestServer { address, kim, lee, stop: Some(stop), serves }
    }
}

impl TestServer {
    /// Sends a request of Kim's.
    pub(crate) async fn send(&self, request: Request) -> Answer {
        request.bearer(self.kim.reveal()).send(self.address).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Request::post(path, &body)).await
    }

    /// Opens a stream of Kim's.
    pub(crate) async fn stream(&self, path: &str) -> EventReader {
        Request::get(path).bearer(self.kim.reveal()).stream(self.address).await
    }

    /// Opens a session of Kim's under this id.
    /// Logs in by a token, and gives the headers with both halves: the cookie and its proof.
    pub(crate) async fn login(&self, token: &TokenSecret) -> [(&'static str, String); 2] {
        let login = Request::post("/v1/login", &json!({ "token": token.reveal() }));
        let answer = login.send(self.address).await;
        let proof = answer.ok(200)["proof"].as_str().unwrap().to_owned();
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        [("cookie", cookie), ("madang-proof", proof)]
    }

    pub(crate) async fn open(&self, id: &str) {
        self.post("/v1/sessions", json!({ "id": id })).await.ok(201);
    }

    /// Sends a text of Kim's, and gives the answer once the turn has ended.
    pub(crate) async fn say(&self, session: &str, text: &str) -> Value {
        let path = format!("/v1/sessions/{session}/turns");
        let request = Request::post(&path, &json!({ "text": text })).header("prefer", "wait=30");
        self.send(request).await.ok(200)
    }

    /// Begins the end.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until the server has ended.
    pub(crate) async fn ended(&mut self) -> Result<(), ServeError> {
        timeout(PATIENCE, &mut self.serves).await.expect("the server ends in time").unwrap()
    }

    /// Ends the server in order.
    pub(crate) async fn shutdown(mut self) {
        self.stop();
        self.ended().await.unwrap();
    }
}

/// A model that answers each session in the same way again and again.
pub(crate) fn says(text: &str) -> ScriptedModel {
    ScriptedModel::repeating([ScriptedCompletion::text(text)])
}

/// The destructive tool whose one argument has a type.
pub(crate) fn delete() -> FakeTool {
    FakeTool::destructive("delete").parameters(json!({
        "type": "object",
        "properties": { "id": { "type": "integer" } },
        "required": ["id"],
        "additionalProperties": false,
    }))
}

/// Waits until this holds, and fails where it takes too long.
pub(crate) async fn until<F: Future<Output = bool>>(is_true: impl Fn() -> F) {
    let holds = async {
        while !is_true().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, holds).await.expect("it holds in time");
}
