//! Answers the requests of MCP clients over HTTP.

use std::{
    borrow::Cow,
    convert::Infallible,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use madang::Runtime;
use rmcp::{
    model::{ErrorCode, JsonRpcMessage, ServerJsonRpcMessage},
    transport::{StreamableHttpServerConfig, StreamableHttpService},
};
use serde::Deserialize;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    limits::{EndpointLimits, EndpointRefusal},
    sessions::{OwnSessions, Sessions},
};
use crate::{
    server::{caller::ToolCaller, request::read, serving::ToolServer, state::Seal},
    values::{MAX_VALUES, has_too_many_values},
};

/// The header that names the session of a client.
const SESSION: &str = "mcp-session-id";
/// How long a client that was cut off should wait before it reconnects.
const RETRY: Duration = Duration::from_secs(3);

/// The most bytes of a handshake. An icon of a client may be in it.
const MAX_HANDSHAKE_BYTES: usize = 64 * 1024;

/// The hosts and origins under which an endpoint is reached. The guard checks them, and the
/// protocol's library checks them once more.
#[derive(Debug, Clone)]
pub struct EndpointSite {
    /// The hosts, with their ports unless these are the usual ones.
    pub hosts: Vec<String>,
    /// The origins, each with its port.
    pub origins: Vec<String>,
}

/// Offers the tools of a runtime to MCP clients over HTTP. Clones share one endpoint and are cheap.
/// All sessions end when the last clone is dropped.
///
/// It checks no credential. A guard must do that before it.
#[derive(Debug, Clone)]
pub struct ToolEndpoint {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    runtime: Runtime,
    seal: Seal,
    limits: EndpointLimits,
    sessions: Arc<Sessions>,
    ended: CancellationToken,
    _ends: DropGuard,
}

impl ToolEndpoint {
    /// Offers the tools of this runtime. This must be called within a tokio runtime. The key seals
    /// what clients of revisions without a handshake bring back. If the key is kept over a restart,
    /// their calls are found again.
    #[must_use]
    pub fn new(runtime: Runtime, key: [u8; 32], limits: EndpointLimits) -> Self {
        let sessions = Arc::new(Sessions::new(limits.clone()));
        let ended = CancellationToken::new();
        let closing = close_idle(Arc::downgrade(&sessions), limits.session_idle);
        tokio::spawn(ended.clone().run_until_cancelled_owned(closing));
        let seal = Seal::of_key(key);
        let _ends = ended.clone().drop_guard();
        Self { shared: Arc::new(Shared { runtime, seal, limits, sessions, ended, _ends }) }
    }

    /// Answers a request of a client that the guard has let in for this user. If the future is
    /// dropped, or the body of the answer before its end, a call of a revision without a handshake
    /// is dismissed.
    ///
    /// # Errors
    /// Returns [`EndpointRefusal`] if a bound is reached, or if the session is not this caller's.
    pub async fn answer(
        &self,
        caller: ToolCaller,
        site: EndpointSite,
        mut request: Request<Bytes>,
    ) -> Result<Response<EndpointBody>, EndpointRefusal> {
        let Shared { runtime, seal, limits, sessions, ended, .. } = &*self.shared;
        let session = request.headers().get(SESSION).and_then(|id| id.to_str().ok());
        let session = session.map(ToOwned::to_owned);
        let owner = caller.clone();
        let is_gone = || session.as_ref().is_some_and(|id| !sessions.is_of(id, &owner));
        // The library would answer that any session has ended.
        if request.method() == Method::DELETE && is_gone() {
            return Err(EndpointRefusal::NoSession);
        }
        if has_too_many_values(request.body()) {
            return Err(EndpointRefusal::ManyValues { max: MAX_VALUES });
        }
        if request.method() == Method::POST
            && let Some(error) = read(request.body()).into_iter().find_map(Result::err)
        {
            return Ok(not_taken(&error));
        }
        let permit = match Peek::of(request.body()) {
            Some(peek) if peek.method == "initialize" => {
                if request.body().len() > MAX_HANDSHAKE_BYTES {
                    return Err(EndpointRefusal::LongHandshake { max: MAX_HANDSHAKE_BYTES });
                }
                Some(sessions.permit(&caller)?)
            }
            Some(_) | None => None,
        };
        request.extensions_mut().insert(caller.clone());
        let left = CancellationToken::new();
        let own = OwnSessions::new(sessions.clone(), caller.clone(), permit, left.clone());
        let runtime = runtime.clone();
        let seal = seal.clone();
        let server = move || {
            let runtime = runtime.clone();
            let caller = caller.clone();
            Ok(ToolServer { runtime, caller, seal: seal.clone(), left: left.clone() })
        };
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(site.hosts)
            .with_allowed_origins(site.origins)
            .enforce_origin_validation()
            .with_sse_keep_alive(Some(limits.keep_alive))
            .with_sse_retry(Some(RETRY))
            .with_max_request_body_bytes(limits.max_body_bytes)
            .with_cancellation_token(ended.child_token());
        let service = StreamableHttpService::new(server, Arc::new(own), config);
        let answer = service.handle(request.map(Full::new)).await;
        // The library takes a session that ended meanwhile for a fault of its own.
        if answer.status() == StatusCode::INTERNAL_SERVER_ERROR && is_gone() {
            return Err(EndpointRefusal::NoSession);
        }
        Ok(answer)
    }

    /// Ends all sessions and streams.
    pub fn close(&self) {
        self.shared.ended.cancel();
    }

    /// Returns how many sessions are open.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.shared.sessions.len()
    }
}

/// Answers a body that is not taken, as a line of a pipe is answered. The protocol refuses a
/// message whose parameters do not fit with the status of an answer, and only what is no message
/// with another one.
fn not_taken(error: &ServerJsonRpcMessage) -> Response<EndpointBody> {
    let status = match error {
        JsonRpcMessage::Error(refusal) if refusal.error.code == ErrorCode::INVALID_PARAMS => {
            StatusCode::OK
        }
        JsonRpcMessage::Error(_)
        | JsonRpcMessage::Request(_)
        | JsonRpcMessage::Response(_)
        | JsonRpcMessage::Notification(_) => StatusCode::BAD_REQUEST,
    };
    let error = serde_json::to_vec(error).expect("a message has no key that is no text");
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(error)).boxed())
        .expect("the status and the header are valid")
}

/// Ends sessions that are idle, for as long as there are sessions.
async fn close_idle(sessions: Weak<Sessions>, idle: Duration) {
    let mut ticks = interval((idle / 4).max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(sessions) = sessions.upgrade() else { return };
        sessions.close_idle().await;
    }
}

/// Returns whether a message of a client begins something. A server that is about to end does not
/// do that.
#[must_use]
pub fn begins(message: &[u8]) -> bool {
    Peek::of(message).is_some_and(|peek| matches!(&*peek.method, "initialize" | "tools/call"))
}

/// What is looked at before the protocol's library reads a message.
#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
}

impl<'a> Peek<'a> {
    fn of(message: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(message).ok()
    }
}

/// The body of an answer.
pub type EndpointBody = BoxBody<Bytes, Infallible>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_handshakes_begin_something() {
        let of = |method: &str| {
            format!(r#"{{"id":1,"jsonrpc":"2.0","method":"{method}","params":{{}}}}"#)
        };
        for (method, expected) in
            [("initialize", true), ("tools/call", true), ("tools/list", false), ("ping", false)]
        {
            assert_eq!(begins(of(method).as_bytes()), expected, "{method}");
        }
        assert!(!begins(br#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#));
        assert!(begins(br#"{"method":"tools\/call"}"#), "as it is read, not as it is written");
        assert!(!begins(b"") && !begins(b"[") && !begins(b"[1]"));
    }
}
