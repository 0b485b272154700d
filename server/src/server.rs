//! Serves a runtime over HTTP, on listeners of its own or inside another router, and shuts down
//! gracefully.

use std::{
    future::Future,
    io,
    sync::{Arc, Weak},
};

use axum::Router;
use madang::{Runtime, error::ShutdownError};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{info, warn};

#[cfg(feature = "jwt")]
use crate::auth::jwt::{JwtFileError, Jwts};
#[cfg(feature = "mcp")]
use crate::mcp;
use crate::{
    ForgetfulMemory, ServerOptions, TokenFileError,
    accept::{
        connection::{Acceptor, MAX_REFUSALS},
        drain::Drain,
        listener::Listener,
        open_connections::OpenConnections,
    },
    auth::{Auth, scope::TokenScopes, secret::CookieKey, tokens},
    byte_budget::ByteBudget,
    guard::site::{OwnPort, Site, WebOrigin},
    page::assets::Assets,
    routes, scrape,
    state::{CallerRates, Shared},
    stream::permits::StreamPermits,
};

/// How many connections of collectors one listener has at once. There are two or three collectors,
/// which ask a few times a minute.
const MAX_COLLECTORS: usize = 32;

/// Serves Madang over HTTP. Clones share one server and are cheap.
///
/// ```no_run
/// # use madang::{Runtime, UserId};
/// # async fn example(runtime: Runtime) -> Result<(), Box<dyn std::error::Error>> {
/// use madang_server::{Listener, Server, ServerOptions};
///
/// let options = ServerOptions::default().open(UserId::new("me")?);
/// let server = Server::new(runtime, options)?;
/// let listener = Listener::bind(&"127.0.0.1:8137".parse()?).await?;
/// println!("listening on {}", listener.address());
/// server.serve(vec![listener], std::future::pending()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

/// Why a server could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// No request could have a caller.
    #[error("a server needs tokens, an issuer of JWTs, or a user for whom it is open")]
    NoCallers,
    /// The tokens could not be read.
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    /// The keys of JWTs could not be read.
    #[cfg(feature = "jwt")]
    #[error(transparent)]
    Jwt(#[from] JwtFileError),
    /// The operating system has no randomness for the key of cookies.
    #[error("failed to make the key of cookies")]
    Randomness(#[source] io::Error),
}

/// Why a server did not serve, or did not shut down gracefully.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A server that asks for no token would be open to other machines.
    #[error(
        "{address} is open to other machines, and this server asks for no token; give it tokens, or listen on 127.0.0.1"
    )]
    OpenToOthers {
        /// The address of the listener.
        address: String,
    },
    /// Tokens would go in clear text to other machines.
    #[error(
        "{address} is open to other machines without TLS; give it a certificate, or put a proxy before it and name its address, such as https://chat.example.org"
    )]
    ClearText {
        /// The address of the listener.
        address: String,
    },
    /// Handlers or writes were still running after the time for the end.
    #[error("the runtime did not end in time")]
    Shutdown(#[source] ShutdownError),
}

impl Server {
    /// Makes a server of a runtime. This must be called within a tokio runtime.
    ///
    /// # Errors
    /// Returns [`ServerError`], which says what is missing or cannot be read.
    pub fn new(runtime: Runtime, options: ServerOptions) -> Result<Self, ServerError> {
        let has_tokens = !options.tokens.is_empty() || options.token_file.is_some();
        let has_callers = options.open.is_some() || has_tokens;
        #[cfg(feature = "jwt")]
        let has_callers = has_callers || options.jwt.is_some();
        if !has_callers {
            return Err(ServerError::NoCallers);
        }
        let auth = Auth {
            tokens: tokens::open(options.tokens, options.token_file)?,
            #[cfg(feature = "jwt")]
            jwts: options.jwt.map(Jwts::open).transpose()?,
            key: match options.cookie_key {
                Some(key) => key,
                None => CookieKey::random().map_err(ServerError::Randomness)?,
            },
            open: options
                .open
                .map(|user| (user, options.open_scopes.unwrap_or(TokenScopes::OF_PERSON))),
            changes: watch::Sender::new(()),
        };
        let limits = options.limits;
        let site = Site {
            public: options.public_url,
            allowed: options.allowed_origins,
            ..Site::default()
        };
        let shared = Arc::new(Shared {
            #[cfg(feature = "mcp")]
            mcp: mcp::endpoint(runtime.clone(), &auth.key, &limits),
            tools: Arc::new(runtime.registry().clone()),
            runtime,
            model: options.model.unwrap_or_else(|| "madang".into()),
            on_disconnect: options.on_disconnect,
            auth,
            site,
            drain: Drain::default(),
            streams: StreamPermits::new(&limits),
            outgoing: ByteBudget::new(
                limits.max_outgoing_bytes,
                limits.max_outgoing_bytes_per_user,
            ),
            incoming: ByteBudget::new(
                limits.max_incoming_bytes,
                limits.max_incoming_bytes_per_user,
            ),
            rates: CallerRates::new(&limits),
            memory: options.memory.unwrap_or_else(|| Arc::new(ForgetfulMemory::default())),
            assets: Assets::new(&options.extras.about_model),
            extras: options.extras,
            limits,
        });
        if shared.auth.may_change() {
            tokio::spawn(refresh_credentials(Arc::downgrade(&shared)));
        }
        Ok(Self { shared })
    }

    /// Returns the routes, for another application to merge with its own. The paths begin at the
    /// root, and each request is checked as if the server listened itself. Loopback names count
    /// with any port, and another host only by [`ServerOptions::public_url`].
    ///
    /// The application calls [`drain`](Self::drain) before it ends.
    pub fn router(&self) -> Router {
        routes::router(&self.shared)
    }

    /// Serves these listeners until `stop` completes, and then shuts down gracefully: no new work
    /// begins, the runtime shuts down, and streams send their remaining events and close. A reader
    /// that does not read is dropped after
    /// [`ServerLimits::goodbye_timeout`](crate::ServerLimits::goodbye_timeout). The listeners close
    /// last.
    ///
    /// If the future is dropped, the server ends at once and connections break off. The store keeps
    /// everything that was published.
    ///
    /// # Errors
    /// Returns [`ServeError`] if a listener is not safe, or if the runtime did not end in time.
    pub async fn serve(
        self,
        listeners: Vec<Listener>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        self.check(&listeners)?;
        let own =
            |listener: &Listener| OwnPort { port: listener.port(), is_https: listener.is_https() };
        self.shared.site.listens_on(listeners.iter().map(own).collect());
        let app = self.router().fallback_service(routes::fallback(&self.shared));
        let permits = self.shared.limits.connections_within(open_files());
        let acceptor = self.acceptor(app, permits);
        let _breaks_off = acceptor.abort.clone().drop_guard();
        let listeners: Vec<_> = listeners.into_iter().map(Arc::new).collect();
        let mut loops = JoinSet::new();
        for listener in &listeners {
            let acceptor = acceptor.clone();
            let listener = listener.clone();
            loops.spawn(async move { acceptor.accept(&listener).await });
        }
        stop.await;
        info!("the server ends: nothing begins any more");
        let ended = self.drain().await;
        acceptor.stop.cancel();
        acceptor.tasks.close();
        if timeout(self.shared.limits.goodbye_timeout, acceptor.tasks.wait()).await.is_err() {
            info!(open = acceptor.tasks.len(), "connections break off: their readers take nothing");
        }
        // The listeners are dropped last, because a client that comes back meanwhile waits in the
        // kernel's queue.
        drop((loops, listeners));
        ended.map_err(ServeError::Shutdown)
    }

    /// Serves only the metrics, under `/metrics`, to everyone who reaches these listeners, without
    /// a token. A loopback listener answers only requests for loopback names. This continues while
    /// the server drains, until the future is dropped.
    ///
    /// Without [`ServerOptions::metrics`] there are no metrics, and the future ends at once.
    pub async fn serve_metrics(&self, listeners: Vec<Listener>) {
        let Some(render) = &self.shared.extras.metrics else { return };
        let mut loops = JoinSet::new();
        let mut breaks_off = Vec::new();
        for listener in listeners {
            let app = scrape::router(&listener, render.clone());
            let acceptor = self.acceptor(app, MAX_COLLECTORS);
            breaks_off.push(acceptor.abort.clone().drop_guard());
            loops.spawn(async move { acceptor.accept(&listener).await });
        }
        while loops.join_next().await.is_some() {}
    }

    /// Makes what accepts at most this many connections for these routes.
    fn acceptor(&self, app: Router, permits: usize) -> Acceptor {
        Acceptor {
            app,
            permits: Arc::new(Semaphore::new(permits)),
            open: OpenConnections::new(&self.shared.limits),
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
            drain: self.shared.drain.clone(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            abort: CancellationToken::new(),
            limits: Arc::new(self.shared.limits.clone()),
        }
    }

    /// Shuts down gracefully: no new work begins, the runtime shuts down, and streams send their
    /// remaining events and close.
    ///
    /// # Errors
    /// Returns [`ShutdownError`] if handlers or writes were still running after the runtime's time
    /// for the end.
    pub async fn drain(&self) -> Result<(), ShutdownError> {
        self.shared.drain.draining.cancel();
        let ended = self.shared.runtime.shutdown().await;
        self.shared.drain.leaving.cancel();
        #[cfg(feature = "mcp")]
        tokio::spawn({
            let endpoint = self.shared.mcp.clone();
            async move {
                // Answers that came with the runtime's end are sent first.
                tokio::time::sleep(mcp::LAST_WORDS).await;
                endpoint.close();
            }
        });
        ended
    }

    fn check(&self, listeners: &[Listener]) -> Result<(), ServeError> {
        let site_is_https = self.shared.site.public.as_ref().is_some_and(WebOrigin::is_https);
        for listener in listeners.iter().filter(|listener| !listener.is_local()) {
            let address = listener.address();
            if self.shared.auth.open.is_some() {
                return Err(ServeError::OpenToOthers { address });
            }
            if !listener.is_https() && !site_is_https {
                return Err(ServeError::ClearText { address });
            }
        }
        Ok(())
    }
}

/// Checks the files of tokens and keys repeatedly, for as long as the server exists.
async fn refresh_credentials(shared: Weak<Shared>) {
    while let Some(shared) = shared.upgrade() {
        let poll = shared.limits.token_poll;
        let refreshed = tokio::task::spawn_blocking(move || shared.auth.refresh()).await;
        if let Err(error) = refreshed {
            warn!(%error, "failed to look at the files of credentials");
        }
        tokio::time::sleep(poll).await;
    }
}

/// Returns how many files the process may have open. Returns `None` if that is not known.
#[cfg(unix)]
fn open_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(not(unix))]
fn open_files() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use axum::{
        body::Body,
        http::{Request, StatusCode},
    };
    use madang::UserId;
    use madang_testing::{MemoryStore, ScriptedModel};
    use tower_service::Service as _;

    use super::*;

    #[tokio::test]
    async fn nothing_begins_once_the_end_is_ordered_though_the_runtime_still_runs() {
        let builder = Runtime::builder().model(ScriptedModel::new([])).store(MemoryStore::new());
        let runtime = builder.start().await.unwrap();
        let options = ServerOptions::default().open(UserId::new("me").unwrap());
        let server = Server::new(runtime, options).unwrap();
        let mut router = server.router();
        let mut status = async |method: &str, path: &str, body: &'static str| {
            let request = Request::builder().method(method).uri(path).header("host", "localhost");
            let request = request.header("content-type", "application/json").body(Body::from(body));
            router.call(request.unwrap()).await.unwrap().status()
        };
        assert_eq!(status("POST", "/v1/sessions", r#"{"id":"t"}"#).await, StatusCode::CREATED);
        server.shared.drain.draining.cancel();
        for (path, body) in [
            ("/v1/sessions", "{}"),
            ("/v1/chat/completions", r#"{"messages":[{"role":"user","content":"hi"}]}"#),
            (
                "/ag-ui",
                r#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}]}"#,
            ),
            (
                "/api/chat",
                r#"{"id":"t","message":{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}}"#,
            ),
        ] {
            assert_eq!(status("POST", path, body).await, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        }
        // A run that begins nothing goes on.
        let looks = r#"{"threadId":"t","runId":"r","messages":[]}"#;
        assert_eq!(status("POST", "/ag-ui", looks).await, StatusCode::OK);
        assert_eq!(status("POST", "/api/chat/t/stop", "{}").await, StatusCode::OK);
        assert_eq!(status("GET", "/v1/sessions", "").await, StatusCode::OK);
        server.drain().await.unwrap();
    }
}
