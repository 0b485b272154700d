//! Lists the tools and calls them, for one user and one client.

use std::{borrow::Cow, io, sync::Arc};

use madang::{
    Call, IdempotencyKey, LanguageTag, RunningCall, Runtime, UserId,
    approval::{ApprovalRequest, Decision, Digest},
    error::{DecisionError, SessionError},
    tool::{CancelReason, ToolOutcome},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientResult,
        ElicitResult, ElicitationCapability, FormElicitationCapability, Implementation,
        InputRequest, InputRequests, InputRequiredResult, ListToolsResult, PaginatedRequestParams,
        ProtocolVersion, Request, RequestMetaObject, ServerCapabilities, ServerConfig,
        ServerRequest,
    },
    service::{Peer, PeerRequestOptions, RequestContext, ServerInitializeError},
    transport::async_rw::AsyncRwTransport,
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{
    error::McpServeError,
    offer,
    question::{self, Answer},
    result,
    state::{Seal, Shown, bound_to, fresh_key},
    watched::Watched,
};

/// The key of a request's metadata that makes it harmless to repeat.
const KEY: &str = "io.madang/idempotencyKey";
/// The name of the only form that a result asks for.
const QUESTION: &str = "question";
/// How long a client may keep the list of tools, in milliseconds: it changes with a restart alone.
const LIST_TTL_MS: u64 = 300_000;
/// Bytes of one message of a client: more than the arguments of any call may have.
const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
const INSTRUCTIONS: &str = "A tool that is destructive asks the person first, by elicitation. \
    To make a call harmless to repeat, give it a key of your own in _meta[\"io.madang/idempotencyKey\"]: \
    the same key is the same call, and a repetition gets its recorded result. \
    A call without a key that is sent again is a new call.";

/// The tools of a runtime, offered to an MCP client for one user.
#[derive(Debug)]
pub struct ToolServer {
    runtime: Runtime,
    user: UserId,
    language: Option<LanguageTag>,
    time_zone: Option<Arc<str>>,
    seal: Seal,
    /// Cancelled once the client has left: from then on it answers no question.
    left: CancellationToken,
}

impl ToolServer {
    /// Offers the tools of this runtime to a client that acts for this user.
    ///
    /// # Errors
    /// [`McpServeError::NoRandomness`].
    pub fn new(runtime: Runtime, user: UserId) -> Result<Self, McpServeError> {
        let (seal, left) = (Seal::new()?, CancellationToken::new());
        Ok(Self { runtime, user, language: None, time_zone: None, seal, left })
    }

    /// Sets the language of questions and reasons. By default that of the runtime.
    #[must_use]
    pub fn language(mut self, tag: LanguageTag) -> Self {
        self.language = Some(tag);
        self
    }

    /// Sets the user's time zone, an IANA name. By default that of the runtime.
    #[must_use]
    pub fn time_zone(mut self, time_zone: impl Into<Arc<str>>) -> Self {
        self.time_zone = Some(time_zone.into());
        self
    }

    /// Serves a client over these streams, a message on each line, until its input ends. The end, and dropping the future,
    /// dismiss the calls whose questions are open. A handler that has begun commits, and its result is still written within
    /// five seconds.
    ///
    /// # Errors
    /// [`McpServeError`]. A client that leaves is none.
    pub async fn serve(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), McpServeError> {
        let _left = self.left.clone().drop_guard();
        let input = Watched::new(input, self.left.clone());
        let transport =
            AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_MESSAGE_BYTES);
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

/// How a client's person can be asked.
enum Ask<'a> {
    /// Not at all. Clients of the newest revision are told by an error what they lack.
    Nobody { is_told_by_error: bool },
    /// By a request of ours, while the call waits.
    Now(&'a Peer<RoleServer>),
    /// By the result, which the client answers with the same call again.
    Again(Again),
}

/// What a call of a revision without a handshake brings, and needs to be answered.
struct Again {
    key: IdempotencyKey,
    bound: Vec<u8>,
    /// The answer to the request that was shown.
    answered: Option<(Digest, Answer)>,
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
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.runtime.registry().has(&params.name) {
            return Err(invalid("there is no such tool"));
        }
        let given_key = key_of(&context.meta)?;
        let arguments = Value::Object(params.arguments.unwrap_or_default()).to_string();
        let ask = if !can_show_a_form(&context) {
            Ask::Nobody { is_told_by_error: is_without_handshake(&context) }
        } else if is_without_handshake(&context) {
            let bound = bound_to(&self.user, &params.name, &arguments);
            let responses = params.input_responses.unwrap_or_default();
            let state = params.request_state.as_deref();
            Ask::Again(self.again(given_key.clone(), bound, state, &responses)?)
        } else {
            Ask::Now(&context.peer)
        };
        let key = match &ask {
            Ask::Again(again) => Some(again.key.clone()),
            Ask::Nobody { .. } | Ask::Now(_) => given_key,
        };
        let mut call = Call::new(self.user.clone(), &*params.name, arguments);
        if !matches!(ask, Ask::Nobody { .. }) {
            call = call.can_ask();
        }
        if let Some(key) = key {
            call = call.key(key);
        }
        if let Some(language) = self.language {
            call = call.language(language);
        }
        if let Some(zone) = &self.time_zone {
            call = call.time_zone(zone.clone());
        }
        let mut running = match self.runtime.begin(call).await {
            Ok(running) => running,
            Err(SessionError::OtherCall(_)) => {
                return Err(invalid("the idempotency key belongs to another call"));
            }
            Err(error) => {
                warn!(%error, "failed to begin a call of an MCP client");
                return Ok(result::failed(&format!("This call did not begin: {error}.")).into());
            }
        };
        let carried = tokio::select! {
            biased;
            () = context.ct.cancelled() => None,
            carried = self.carry_out(&mut running, &ask) => Some(carried),
        };
        carried.unwrap_or_else(|| {
            running.dismiss();
            Ok(result::failed("The call was cancelled.").into())
        })
    }
}

impl ToolServer {
    /// Reads what a call brings back. An answer counts with the state of its question alone.
    fn again(
        &self,
        given_key: Option<IdempotencyKey>,
        bound: Vec<u8>,
        state: Option<&str>,
        responses: &rmcp::model::InputResponses,
    ) -> Result<Again, ErrorData> {
        let Some(state) = state else {
            let key = match given_key {
                Some(key) => key,
                None => fresh_key().map_err(|error| internal(error.to_string()))?,
            };
            return Ok(Again { key, bound, answered: None });
        };
        let forged = || invalid("the request state is not that of this call");
        let shown = self.seal.open(state, &bound).ok_or_else(forged)?;
        let key = IdempotencyKey::new(shown.key).map_err(|_| forged())?;
        let answered = match responses.get(QUESTION) {
            Some(response) => {
                let read: ElicitResult = serde_json::from_value(response.clone())
                    .map_err(|_| invalid("the answer to the question is no answer to a form"))?;
                Some((shown.digest, question::answer(&read)))
            }
            None => None,
        };
        Ok(Again { key, bound, answered })
    }

    /// Brings a call to its end, or to a question for the client.
    async fn carry_out(
        &self,
        running: &mut RunningCall,
        ask: &Ask<'_>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut answered = match ask {
            Ask::Again(again) => again.answered.clone(),
            Ask::Nobody { .. } | Ask::Now(_) => None,
        };
        while let Some(request) = running.request().await {
            // A request comes again where the decision may have been lost. The person is not asked again.
            let known = answered.as_ref().filter(|(digest, _)| *digest == request.digest);
            let answer = match (known, ask) {
                (Some((_, answer)), _) => Some(answer.clone()),
                (None, Ask::Nobody { .. }) => None,
                (None, Ask::Now(peer)) => self.asked(peer, &request, running).await,
                (None, Ask::Again(again)) => return self.input_required(again, &request),
            };
            let Some(answer) = answer else { break };
            match &answer {
                Answer::Decided(decision) => self.decide(&request, decision.clone()).await,
                Answer::Dismissed => running.dismiss(),
            }
            answered = Some((request.digest, answer));
        }
        let report = running.ended().await;
        match (report.outcome(), ask) {
            (Some(ToolOutcome::Cancelled(cancelled)), Ask::Nobody { is_told_by_error: true })
                if cancelled.reason == CancelReason::Unreachable =>
            {
                Err(ErrorData::missing_required_client_capability(forms()))
            }
            _ => Ok(result::of(&report).into()),
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
        let form = InputRequest::Elicitation(Request::new(question::form(request)));
        let requests = InputRequests::from([(QUESTION.to_owned(), form)]);
        Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
    }

    /// Asks the client's person while the call waits. `None` where the call ended meanwhile, as by a decision elsewhere.
    async fn asked(
        &self,
        peer: &Peer<RoleServer>,
        request: &ApprovalRequest,
        running: &RunningCall,
    ) -> Option<Answer> {
        let form = ServerRequest::ElicitRequest(Request::new(question::form(request)));
        let sent = peer.send_request_with_option(form, PeerRequestOptions::no_options()).await;
        let Ok(mut handle) = sent else { return Some(Answer::Dismissed) };
        tokio::select! {
            given = &mut handle.rx => Some(match given {
                Ok(Ok(ClientResult::ElicitResult(given))) => question::answer(&given),
                // A client that refuses or leaves has not said yes.
                _ => Answer::Dismissed,
            }),
            // Else a person elsewhere could approve what the client has given up.
            () = self.left.cancelled() => Some(Answer::Dismissed),
            _ = running.ended() => {
                let reason = "the question is no longer open".to_owned();
                drop(handle.cancel(Some(reason)).await);
                None
            }
        }
    }

    async fn decide(&self, request: &ApprovalRequest, decision: Decision) {
        let decide =
            |decision| self.runtime.decide(&self.user, request.call, request.digest, decision);
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

/// Tells whether the request is of a revision in which a server cannot ask by itself.
fn is_without_handshake(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Tells whether the client shows forms. Older ones say only that they can ask.
fn can_show_a_form(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    capabilities
        .and_then(|capabilities| capabilities.elicitation)
        .is_some_and(|asks| asks.form.is_some() || asks.url.is_none())
}

/// What a client must be able to do so that its person can be asked.
fn forms() -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    let form = FormElicitationCapability::default();
    capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
    capabilities
}

fn key_of(meta: &RequestMetaObject) -> Result<Option<IdempotencyKey>, ErrorData> {
    let Some(key) = meta.get(KEY) else { return Ok(None) };
    let key = key.as_str().ok_or_else(|| invalid("the idempotency key is no text"))?;
    IdempotencyKey::new(key).map(Some).map_err(|error| invalid(error.to_string()))
}

fn invalid(sentence: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::invalid_params(sentence, None)
}

fn internal(sentence: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::internal_error(sentence, None)
}
