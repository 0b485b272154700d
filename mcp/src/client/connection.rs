//! A connection to a server, which is started or reached, greeted in a revision that both know, and
//! asked for its tools.

#![expect(deprecated, reason = "a server may still ask for what the newest revision has given up")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use rmcp::{
    ClientHandler, ErrorData, RoleClient, ServiceError,
    model::{
        CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
        ElicitRequestParams, ElicitResult, ElicitationCreateRequestMethod, Implementation,
        ListRootsRequestMethod, ListRootsResult, ListToolsRequest, PaginatedRequestParams,
        ProgressNotificationParam, ProtocolVersion, Request, RequestMetaObject, ServerResult,
        SubscriptionFilter,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, NotificationContext,
        Peer, PeerRequestOptions, RequestContext, RequestHandle, RunningService,
    },
};
use serde_json::{Map, Value};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};
use tracing::debug;

use super::{
    entry::{Entry, Reach},
    guard::Guard,
    http,
    limits::{LIST_TIMEOUT, MAX_MESSAGE_BYTES},
    message::UNREADABLE,
    output::Output,
    pending::Pending,
    process::ServerProcess,
    progress::Reports,
    text::{cut, visible},
    tool_list::{ListParts, ToolList},
};
use crate::pipe::Pipe;

/// The newest revision, without a handshake.
const NEWEST: ProtocolVersion = ProtocolVersion::V_2026_07_28;
/// The newest revision with a handshake.
const NEWEST_WITH_HANDSHAKE: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// A server that has been greeted.
pub(super) struct Connection {
    pub(super) service: RunningService<RoleClient, Client>,
    /// The process. `None` if the server is reached over HTTP.
    pub(super) process: Option<ServerProcess>,
}

/// Our side of a connection. It declares no capability, and refuses what a server asks for
/// nevertheless.
#[derive(Debug, Clone, Default)]
pub(super) struct Client {
    /// Notified when the server says that its list of tools has changed.
    pub(super) list_changed: Arc<Notify>,
    /// The calls on whose progress the server may report.
    pub(super) reports: Arc<Reports>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("madang", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(NEWEST_WITH_HANDSHAKE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.list_changed.notify_one();
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.reports.report(told).await;
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(ErrorData::method_not_found::<ElicitationCreateRequestMethod>())
    }
}

impl Connection {
    /// Starts or reaches a server, greets it and asks for its tools. Returns in a few words why
    /// that failed.
    pub(super) async fn open(entry: &Entry) -> Result<(Self, ToolList), String> {
        let deadline = Instant::now() + entry.start_timeout;
        let late = Arc::new(AtomicBool::new(false));
        let newest = vec![NEWEST];
        // After ten seconds, a silent server is taken for one that needs a handshake.
        let either = ClientLifecycleMode::Auto {
            preferred_versions: newest.clone(),
            legacy_version: Some(NEWEST_WITH_HANDSHAKE),
        };
        let greeted = match Self::greet(entry, either, deadline, &late).await {
            Err(_) if late.load(Relaxed) => {
                let newest = ClientLifecycleMode::Discover { preferred_versions: newest };
                Self::greet(entry, newest, deadline, &late).await?
            }
            greeted => greeted?,
        };
        let list = Self::list(greeted.service.peer()).await?;
        Ok((greeted, list))
    }

    async fn greet(
        entry: &Entry,
        lifecycle: ClientLifecycleMode,
        deadline: Instant,
        late: &Arc<AtomicBool>,
    ) -> Result<Self, String> {
        let client = Client::default();
        let pending = Pending::default();
        let (greeted, mut process) = match &entry.reach {
            Reach::Command { program, arguments, variables, folder } => {
                let started = ServerProcess::start(
                    &entry.name,
                    program,
                    arguments,
                    variables,
                    folder.as_deref(),
                );
                let (process, pipes) = started
                    .map_err(|error| format!("its command {program:?} does not start: {error}"))?;
                let reader = Output::new(&entry.name, &pending, MAX_MESSAGE_BYTES);
                let transport = Pipe::new(pipes.output, pipes.input, reader, MAX_MESSAGE_BYTES);
                let transport = Guard::new(transport, &entry.name, pending, late);
                let greeted =
                    timeout_at(deadline, client.serve_with_lifecycle(transport, lifecycle));
                (greeted.await, Some(process))
            }
            Reach::Http { url, headers } => {
                let transport = http::transport(url, headers, &pending);
                let transport = transport.map_err(|error| error.to_string())?;
                let transport = Guard::new(transport, &entry.name, pending, late);
                let greeted =
                    timeout_at(deadline, client.serve_with_lifecycle(transport, lifecycle));
                (greeted.await, None)
            }
        };
        let service = match greeted {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => {
                debug!(server = %entry.name, ?error, "failed to greet an MCP server");
                // After another failure, a process ends because its input was closed.
                let has_closed = is_closed(&error);
                let process = process.as_mut().filter(|_| has_closed);
                return Err(process.and_then(ServerProcess::ended).map_or_else(
                    || refusal(&error),
                    |status| format!("it ended while it was greeted ({status})"),
                ));
            }
            Err(_) => {
                let seconds = entry.start_timeout.as_secs_f64();
                return Err(format!("it did not answer within {seconds} s"));
            }
        };
        let version = service.peer().peer_info().map(|info| info.protocol_version.clone());
        match version {
            Some(version) if ProtocolVersion::KNOWN_VERSIONS.contains(&version) => {
                debug!(server = %entry.name, %version, "greeted an MCP server");
                Ok(Self { service, process })
            }
            version => {
                let version = version.map(|version| version.to_string()).unwrap_or_default();
                Err(format!(
                    "it speaks the revision {:?} of the protocol, which is not known",
                    cut(&visible(&version), 64)
                ))
            }
        }
    }

    /// Asks for all tools.
    pub(super) async fn list(peer: &Peer<RoleClient>) -> Result<ToolList, String> {
        let deadline = Instant::now() + LIST_TIMEOUT;
        let mut parts = ListParts::default();
        let mut cursor = None;
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let left = deadline.saturating_duration_since(Instant::now());
            let options = PeerRequestOptions::with_timeout(left.max(Duration::from_millis(1)));
            let asked = match peer.send_request_with_option(request, options).await {
                Ok(asked) => asked.await_response().await,
                Err(error) => Err(error),
            };
            let page = asked.map_err(|error| unlisted(&error))?;
            let page = as_value(page)
                .ok_or("it answers the question for its tools with something else")?;
            let Some(entries) = page.get("tools").and_then(Value::as_array) else {
                return Err("it answers the question for its tools without any list".to_owned());
            };
            cursor = parts.take(entries, page.get("nextCursor").and_then(Value::as_str));
            if cursor.is_none() {
                return Ok(parts.into_list());
            }
        }
    }

    /// Sends a call. After this returned a handle, the call has left us. If it returns an error,
    /// nothing was sent.
    pub(super) async fn send_call(
        peer: &Peer<RoleClient>,
        tool: &str,
        arguments: Map<String, Value>,
        call: &str,
    ) -> Result<RequestHandle<RoleClient>, ServiceError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let mut meta = RequestMetaObject::new();
        meta.insert("io.madang/call".to_owned(), Value::from(call));
        let options = PeerRequestOptions::no_options().with_meta(meta);
        peer.send_request_with_option(ClientRequest::CallToolRequest(Request::new(params)), options)
            .await
    }

    /// Listens for changes of the list, if the server's revision wants to be asked for them.
    pub(super) async fn listen(peer: Peer<RoleClient>, list_changed: Arc<Notify>) {
        let wants_to_be_asked = peer.peer_info().is_some_and(|info| {
            let tools = info.capabilities.tools.as_ref();
            !info.protocol_version.has_initialize()
                && tools.and_then(|tools| tools.list_changed) == Some(true)
        });
        if !wants_to_be_asked {
            return;
        }
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        match peer.listen(filter).await {
            Ok(mut subscription) => {
                while let Ok(Some(_)) = subscription.next().await {
                    list_changed.notify_one();
                }
            }
            Err(error) => debug!(?error, "an MCP server does not report changes of its tools"),
        }
    }
}

/// Returns a result as the JSON in which it came. Results that the protocol's library does not know
/// stay as they are.
pub(super) fn as_value(result: ServerResult) -> Option<Value> {
    if let ServerResult::CustomResult(custom) = result {
        return Some(custom.0);
    }
    serde_json::to_value(result).ok()
}

fn unlisted(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) if error.code == UNREADABLE => {
            "its answer to the question for its tools cannot be read".to_owned()
        }
        ServiceError::McpError(error) => {
            format!("it refuses the question for its tools (code {})", error.code.0)
        }
        ServiceError::Timeout { .. } => {
            format!("it did not tell its tools within {} s", LIST_TIMEOUT.as_secs())
        }
        _ => "its connection was lost before it told its tools".to_owned(),
    }
}

/// Returns whether the greeting failed because the server had ended.
fn is_closed(error: &ClientInitializeError) -> bool {
    if let ClientInitializeError::LegacyFallbackFailed { fallback, .. } = error {
        return is_closed(fallback);
    }
    matches!(
        error,
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
    )
}

/// Describes why the greeting of a server failed, without the server's own texts, which are
/// untrusted.
fn refusal(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return "it wants another authorization: look at its headers".to_owned();
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => {
            "it closed the connection while it was greeted".to_owned()
        }
        ClientInitializeError::JsonRpcError(error) if error.code == UNREADABLE => {
            "its answer to the greeting cannot be read".to_owned()
        }
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refuses to be greeted (code {})", error.code.0)
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no revision of the protocol that is known here".to_owned()
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => refusal(fallback),
        ClientInitializeError::TransportError { .. } => "it cannot be reached".to_owned(),
        _ => "its answer to the greeting is none".to_owned(),
    }
}
