//! Lists the tools and calls them, for one user and one client.

use std::{borrow::Cow, io, sync::Arc};

use madang::{
    Asks, Call, CallReport, Error, IdempotencyKey, LanguageTag, RunningCall, Runtime, UserId,
    approval::{ApprovalRequest, Decision},
    error::DecisionError,
    tool::{CancelReason, ToolOutcome},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CancelledNotificationParam,
        ClientResult, ElicitResult, Implementation, InputRequest, InputRequests,
        InputRequiredResult, InputResponses, ListToolsResult, NumberOrString,
        PaginatedRequestParams, ProgressToken, Request, RequestId, RequestMetaObject,
        ServerCapabilities, ServerConfig, ServerRequest,
    },
    service::{Peer, PeerRequestOptions, RequestContext, RequestHandle, ServerInitializeError},
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    runtime::Handle,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{
    asking::{Again, Ask, Way, forms, is_without_handshake, way},
    bounded::Bounded,
    caller::ToolCaller,
    error::McpServeError,
    offer,
    progress::Progress,
    question::{self, Answer, Shape},
    request::{MAX_MESSAGE_BYTES, Requests},
    result,
    state::{Seal, Shown, bound_to, fresh_key},
};
use crate::{looked_at::LookedAt, pipe::Pipe};

/// The key of a request's metadata by which it may be repeated without harm.
const KEY: &str = "io.madang/idempotencyKey";
/// The name of the only form for which a result asks.
const QUESTION: &str = "question";
/// How long a client may keep the list of tools, in milliseconds. The list changes only with a
/// restart.
const LIST_TTL_MS: u64 = 300_000;
/// The most bytes of a request's id and of its progress token.
const MAX_NAME_BYTES: usize = 256;
const INSTRUCTIONS: &str = "A tool that is destructive asks the person first, by elicitation. \
    To make a call safe to repeat, give it a key of your own in _meta[\"io.madang/idempotencyKey\"]: \
    the same key is the same call, and a repetition gets its recorded result. \
    A call without a key that is sent again is a new call.";

/// Offers the tools of a runtime to an MCP client, for one user.
#[derive(Debug)]
pub struct ToolServer {
    pub(super) runtime: Runtime,
    /// The caller of a request that does not name one.
    pub(super) caller: ToolCaller,
    pub(super) seal: Seal,
    /// Cancelled after the client has left. From then on it answers no question.
    pub(super) left: CancellationToken,
}

impl ToolServer {
    /// Creates a server that offers the tools of this runtime to a client that acts for this user.
    ///
    /// # Errors
    /// Returns [`McpServeError::NoRandomness`] if the system provides no random numbers.
    pub fn new(runtime: Runtime, user: UserId) -> Result<Self, McpServeError> {
        let caller = ToolCaller::new(user);
        let left = CancellationToken::new();
        Ok(Self { runtime, caller, seal: Seal::random()?, left })
    }

    /// Sets the language of questions and reasons. By default it is that of the runtime, or else
    /// that of a call's arguments.
    #[must_use]
    pub fn language(mut self, tag: LanguageTag) -> Self {
        self.caller = self.caller.language(tag);
        self
    }

    /// Sets the user's time zone, an IANA name. By default it is that of the runtime.
    #[must_use]
    pub fn time_zone(mut self, time_zone: impl Into<Arc<str>>) -> Self {
        self.caller = self.caller.time_zone(time_zone);
        self
    }

    /// Serves a client over these streams, with a message on each line, until its input ends. A
    /// line that is not a message is answered with an error. While 64 requests are open, another
    /// one is refused.
    ///
    /// The end of the input dismisses the calls whose questions are open, and so does dropping the
    /// future. A handler that has begun commits. After the end of the input, its result is still
    /// written within five seconds.
    ///
    /// # Errors
    /// Returns [`McpServeError`] if the client does not begin as the protocol says, or if the
    /// connection fails. It is not an error if the client leaves.
    pub async fn serve(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), McpServeError> {
        let _left = self.left.clone().drop_guard();
        let left = self.left.clone();
        // The protocol's library waits some seconds for answers before it reports the end.
        let input = LookedAt::new(input, move |read: io::Result<&[u8]>| match read {
            Ok([_, ..]) => Ok(()),
            ended => {
                left.cancel();
                ended.map(drop)
            }
        });
        let transport = Bounded::new(Pipe::new(input, output, Requests, MAX_MESSAGE_BYTES));
        let service = match Box::pin(self.serve_with_ct(transport, Default::default())).await {
            Ok(service) => service,
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return Ok(());
            }
            Err(error) => return Err(McpServeError::Greeting(io::Error::other(error))),
        };
        let ended = service.waiting().await;
        ended.map(drop).map_err(|error| McpServeError::Failed(io::Error::other(error)))
    }
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let us = Implementation::new("madang", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(us)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let list = ListToolsResult::with_all_items(offer::all(self.runtime.registry()));
        Ok(if is_without_handshake(&context) {
            list.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Private)
        } else {
            list
        })
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.runtime.registry().has(&params.name) {
            return Err(invalid("there is no such tool"));
        }
        let token = context.meta.get_progress_token();
        if is_long(&context.id) || token.as_ref().is_some_and(|ProgressToken(token)| is_long(token))
        {
            return Err(invalid("the id or the progress token is too long"));
        }
        let caller = self.caller(&context).clone();
        let arguments = Value::Object(params.arguments.unwrap_or_default()).to_string();
        let shown = Brought {
            key: key_of(&context.meta)?,
            bound: bound_to(&caller.user, &params.name, &arguments),
            state: params.request_state,
            responses: params.input_responses.unwrap_or_default(),
        };
        let (key, ask) = self.way_to_ask(&caller, &context, shown)?;
        // Without this, a client's words that nothing reads any more would be kept until the call
        // ends.
        context.meta = RequestMetaObject::default();
        let call = Call::new(caller.user.clone(), &*params.name, arguments);
        let call = call.key(key).language(caller.language);
        let mut call = caller.time_zone.iter().cloned().fold(call, Call::time_zone);
        if !matches!(ask, Ask::NoPerson { .. }) {
            call = call.asks(Asks::User);
        }
        let mut running = match self.runtime.begin(call).await {
            Ok(running) => running,
            Err(Error::OtherCall(_)) => {
                return Err(invalid("the idempotency key belongs to another call"));
            }
            Err(error) => {
                warn!(%error, "failed to begin a call of an MCP client");
                return Ok(result::failed(&format!("This call did not begin: {error}.")).into());
            }
        };
        let progress = Progress::new(context.peer.clone(), token, &running);
        let carried = tokio::select! {
            biased;
            () = context.ct.cancelled() => None,
            carried = self.carry_out(&mut running, &ask, &caller, progress) => Some(carried),
        };
        carried.unwrap_or_else(|| {
            running.dismiss();
            Ok(result::failed("The call was cancelled.").into())
        })
    }
}

/// What a client brings back with a call, and what it must have been sealed for.
struct Brought {
    key: Option<IdempotencyKey>,
    bound: Vec<u8>,
    state: Option<String>,
    responses: InputResponses,
}

impl ToolServer {
    /// Returns the caller of a request. Over HTTP its credential names the caller.
    #[cfg(feature = "http")]
    fn caller<'a>(&'a self, context: &'a RequestContext<RoleServer>) -> &'a ToolCaller {
        let head = context.extensions.get::<http::request::Parts>();
        head.and_then(|head| head.extensions.get()).unwrap_or(&self.caller)
    }

    #[cfg(not(feature = "http"))]
    const fn caller<'a>(&'a self, _: &'a RequestContext<RoleServer>) -> &'a ToolCaller {
        &self.caller
    }

    /// Returns the key of a call, and how its person is asked. An answer counts only with the state
    /// of its question.
    fn way_to_ask(
        &self,
        caller: &ToolCaller,
        context: &RequestContext<RoleServer>,
        brought: Brought,
    ) -> Result<(Option<IdempotencyKey>, Ask), ErrorData> {
        let is_asked_by_results = is_without_handshake(context);
        let Brought { key, bound, state, responses } = brought;
        let forged = || invalid("the request state is not that of this call");
        let (key, shown) = match state.filter(|_| is_asked_by_results) {
            Some(state) => {
                let shown = self.seal.open(&state, &bound).ok_or_else(forged)?;
                let key = IdempotencyKey::new(shown.key).map_err(|_| forged())?;
                (Some(key), Some(shown.digest))
            }
            None => (key, None),
        };
        let shape = match way(caller, context.client_capabilities().as_ref()) {
            Way::NoPerson { lacks_a_capability } => {
                let is_told_by_error = is_asked_by_results && lacks_a_capability;
                return Ok((key, Ask::NoPerson { is_told_by_error }));
            }
            Way::Elsewhere => return Ok((key, Ask::Elsewhere)),
            Way::Client(shape) if is_asked_by_results => shape,
            Way::Client(shape) => return Ok((key, Ask::Now(context.peer.clone(), shape))),
        };
        let answered = match (shown, responses.get(QUESTION)) {
            (Some(digest), Some(response)) => {
                let read: ElicitResult =
                    serde_json::from_value(response.clone()).map_err(|_| {
                        invalid("the answer to the question is not an answer to a form")
                    })?;
                Some((digest, question::answer(&read, &shape)))
            }
            (Some(_) | None, _) => None,
        };
        let key = match key {
            Some(key) => key,
            None => fresh_key().map_err(|error| internal(error.to_string()))?,
        };
        Ok((Some(key.clone()), Ask::Again(Again { key, bound, shape, answered })))
    }

    /// Brings a call to its end, or to a question for the client.
    async fn carry_out(
        &self,
        running: &mut RunningCall,
        ask: &Ask,
        caller: &ToolCaller,
        mut progress: Progress,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut answered = match ask {
            Ask::Again(again) => again.answered.clone(),
            Ask::NoPerson { .. } | Ask::Elsewhere | Ask::Now(..) => None,
        };
        while let Some(request) = progress.during(running.request()).await {
            // A request comes again if the decision may have been lost. The person is not asked
            // again.
            let known = answered.as_ref().filter(|(digest, _)| *digest == request.digest);
            let answer = match (known, ask) {
                (Some((_, answer)), _) => answer.clone(),
                (None, Ask::NoPerson { .. }) => break,
                (None, Ask::Elsewhere) => Answer::Elsewhere,
                (None, Ask::Now(peer, shape)) => {
                    match self.asked(peer, &request, shape, running).await {
                        Some(answer) => answer,
                        None => break,
                    }
                }
                (None, Ask::Again(again)) => return self.input_required(again, &request),
            };
            match &answer {
                Answer::Decided(decision) => self.decide(caller, &request, decision.clone()).await,
                Answer::Elsewhere => progress.waits_elsewhere().await,
                Answer::Dismissed => running.dismiss(),
            }
            answered = Some((request.digest, answer));
        }
        let report: CallReport = progress.during(running.ended()).await;
        match (report.outcome(), ask) {
            (Some(ToolOutcome::Cancelled(cancelled)), Ask::NoPerson { is_told_by_error: true })
                if cancelled.reason == CancelReason::Unreachable =>
            {
                Err(ErrorData::missing_required_client_capability(forms()))
            }
            _ => Ok(result::tool_result(&report).into()),
        }
    }

    /// Asks by the result.
    fn input_required(
        &self,
        again: &Again,
        request: &ApprovalRequest,
    ) -> Result<CallToolResponse, ErrorData> {
        let shown = Shown { key: again.key.as_str().to_owned(), digest: request.digest };
        let state = self.seal.close(&shown, &again.bound);
        let state = state.ok_or_else(|| internal("the request state cannot be sealed"))?;
        let asking = Request::new(question::asking(request, &again.shape));
        let requests =
            InputRequests::from([(QUESTION.to_owned(), InputRequest::Elicitation(asking))]);
        Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
    }

    /// Asks the client's person while the call waits. Returns `None` if the call ended meanwhile,
    /// for example by a decision elsewhere.
    async fn asked(
        &self,
        peer: &Peer<RoleServer>,
        request: &ApprovalRequest,
        shape: &Shape,
        running: &RunningCall,
    ) -> Option<Answer> {
        let asking = ServerRequest::ElicitRequest(Request::new(question::asking(request, shape)));
        let sent = peer.send_request_with_option(asking, PeerRequestOptions::no_options()).await;
        let Ok(RequestHandle { rx, peer, id, .. }) = sent else { return Some(Answer::Dismissed) };
        let mut open = OpenQuestion { peer, id: Some(id) };
        tokio::select! {
            given = rx => {
                open.id = None;
                Some(match given {
                    Ok(Ok(ClientResult::ElicitResult(given))) => question::answer(&given, shape),
                    // A client that refuses or leaves has not said yes.
                    _ => Answer::Dismissed,
                })
            }
            // Without this, a person elsewhere could approve what the client has given up.
            () = self.left.cancelled() => Some(Answer::Dismissed),
            _ = running.ended() => None,
        }
    }

    async fn decide(&self, caller: &ToolCaller, request: &ApprovalRequest, decision: Decision) {
        let user = self.runtime.user_with_id(&caller.user);
        let decide = |decision| user.decide(request.call, request.digest, decision);
        let mut decided = decide(decision).await;
        if let Err(DecisionError::MessageTooLong { .. }) = decided {
            // The no counts more than its words.
            decided = decide(Decision::Deny).await;
        }
        if let Err(error) = decided {
            debug!(%error, "an answer of an MCP client does not count");
        }
    }
}

/// A question to a client. It is taken back if this is dropped before the answer, as happens when a
/// call is cancelled.
struct OpenQuestion {
    peer: Peer<RoleServer>,
    id: Option<RequestId>,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        let (Some(id), Ok(tokio)) = (self.id.take(), Handle::try_current()) else { return };
        let reason = Some("the question is no longer open".to_owned());
        let taken_back = CancelledNotificationParam::new(Some(id), reason);
        let peer = self.peer.clone();
        tokio.spawn(async move { peer.notify_cancelled(taken_back).await });
    }
}

/// Returns whether a name that a client gives its request is longer than it needs to be. Names are
/// kept until the answer.
fn is_long(name: &NumberOrString) -> bool {
    matches!(name, NumberOrString::String(text) if text.len() > MAX_NAME_BYTES)
}

fn key_of(meta: &RequestMetaObject) -> Result<Option<IdempotencyKey>, ErrorData> {
    let Some(key) = meta.get(KEY) else { return Ok(None) };
    let key = key.as_str().ok_or_else(|| invalid("the idempotency key is not a string"))?;
    IdempotencyKey::new(key).map(Some).map_err(|error| invalid(error.to_string()))
}

fn invalid(sentence: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::invalid_params(sentence, None)
}

fn internal(sentence: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::internal_error(sentence, None)
}
