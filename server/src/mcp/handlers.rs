//! The routes: requests of any revision and, for older revisions, the stream of a session and its
//! end.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use madang_mcp::{AskWhere, EndpointRefusal, ToolCaller, begins};
use tokio::time::sleep;

use super::{
    relay::{Relay, is_of_type},
    schema::{McpMessage, McpRevision, McpSession},
};
use crate::{
    ask::Ask,
    auth::{caller::Caller, scope::TokenScope},
    extract::{Bytes, Wishes, accepts},
    forms::AskHeader,
    guard::host,
    problem::{Problem, ProblemName},
    route::{Access, ForeignObject, Route},
    state::Shared,
    stream::body::OpenStream,
};

/// How long it takes until a permit may be free.
const RETRY: Duration = Duration::from_secs(30);

/// The media types of answers.
const BOTH_TYPES: &str = "application/json, text/event-stream";

pub(crate) fn routes() -> Vec<Route> {
    const PATH: &str = "/mcp";
    let tools = Access::Scope(TokenScope::Tools);
    let session = "The session, for revisions that have sessions.";
    let version = "The revision of the protocol.";
    let ask = "Who is asked for an approval: `here`, `elsewhere` or `none`.";
    vec![
        Route::post(PATH, tools, answer).id("postMcpMessage")
            .takes_mcp()
            .says("Receives a message of the Model Context Protocol. Revisions with and without sessions are supported.")
            .header::<McpRevision>("MCP-Protocol-Version", version)
            .header::<McpSession>("Mcp-Session-Id", session)
            .header::<AskHeader>("Madang-Ask", ask)
            .takes::<McpMessage>(|| {
                serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                    "protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": { "name": "client", "version": "1.0.0" },
                } })
            })
            .gives::<ForeignObject>(StatusCode::OK, "The answer.")
            .gives_text("text/event-stream", "The answer, after the messages that precede it.")
            .gives_nothing(StatusCode::ACCEPTED, "The message was accepted.")
            .gives::<ForeignObject>(StatusCode::BAD_REQUEST, "The error in the form of the protocol.")
            .gives::<ForeignObject>(StatusCode::NOT_FOUND, "The error in the form of the protocol.")
            .refuses(&[
                ProblemName::NotFound,
                ProblemName::NotAcceptable,
                ProblemName::Draining,
                ProblemName::Overloaded,
            ]),
        Route::get(PATH, tools, answer).id("streamMcpMessages")
            .says("Streams the messages of a session, for revisions that have sessions.")
            .needs_header::<McpSession>("Mcp-Session-Id", session)
            .gives_text("text/event-stream", "The messages.")
            .refuses(&[
                ProblemName::Malformed,
                ProblemName::NotFound,
                ProblemName::NotAcceptable,
                ProblemName::MethodNotAllowed,
                ProblemName::Overloaded,
            ]),
        Route::delete(PATH, tools, answer).id("endMcpSession")
            .says("Ends a session, for revisions that have sessions.")
            .needs_header::<McpSession>("Mcp-Session-Id", session)
            .gives_nothing(StatusCode::ACCEPTED, "The session has ended.")
            .refuses(&[
                ProblemName::Malformed,
                ProblemName::NotFound,
                ProblemName::MethodNotAllowed,
                ProblemName::Overloaded,
            ]),
    ]
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    wishes: Wishes,
    request: Request,
) -> Result<Response, Problem> {
    let (mut head, body) = request.into_parts();
    if accepts(&head.headers, "*/*") {
        // The protocol's library looks only for the names of its types.
        head.headers.insert(header::ACCEPT, HeaderValue::from_static(BOTH_TYPES));
    }
    let page = page(&shared, &head.uri, &head.headers);
    let request = Request::from_parts(head.clone(), body);
    let Bytes(message) = Bytes::with_any_numbers(request, &shared).await?;
    if shared.drain.is_draining() && begins(&message) {
        return Err(Problem::draining());
    }
    let is_stream_alone = head.method == Method::GET;
    let stream = OpenStream::new(&shared, &caller, "mcp")?;
    let relay = Relay { stream, is_stream_alone };
    let endpoint = shared.mcp.clone();
    let site = shared.site.names();
    let of_client = of_client(caller, wishes.ask, page);
    let answering = async move {
        let request = Request::from_parts(head, message);
        endpoint.answer(of_client, site, request).await
    };
    let mut answering = Box::pin(answering);
    let answer = tokio::select! {
        biased;
        answer = answering.as_mut() => answer.map_err(refused)?,
        () = sleep(shared.limits.mcp_head_patience) => return Ok(relay.pass_on_later(answering)),
    };
    if is_of_type(&answer, "text/event-stream") {
        return Ok(relay.pass_on(answer));
    }
    if !is_of_type(&answer, "application/json")
        && let Some(problem) = in_our_words(answer.status())
    {
        let allow = answer.headers().get(header::ALLOW).map(|allow| [(header::ALLOW, allow)]);
        return Ok((allow, problem).into_response());
    }
    Ok(([(header::CACHE_CONTROL, "no-store")], answer.map(Body::new)).into_response())
}

/// Returns a problem instead of the plain text with which the protocol's library refuses what it
/// cannot read.
fn in_our_words(status: StatusCode) -> Option<Problem> {
    match status {
        StatusCode::NOT_FOUND => Some(Problem::not_found()),
        StatusCode::METHOD_NOT_ALLOWED => Some(Problem::new(
            ProblemName::MethodNotAllowed,
            "This revision of the protocol has other methods.",
        )),
        StatusCode::NOT_ACCEPTABLE => Some(Problem::new(
            ProblemName::NotAcceptable,
            "The client must accept application/json and text/event-stream.",
        )),
        StatusCode::FORBIDDEN => Some(Problem::new(
            ProblemName::Origin,
            "The request comes from a site that is not allowed here.",
        )),
        StatusCode::BAD_REQUEST
        | StatusCode::UNSUPPORTED_MEDIA_TYPE
        | StatusCode::UNPROCESSABLE_ENTITY => Some(Problem::malformed(
            "The request is none of the protocol: its message, its revision or its session does not fit.",
        )),
        _ => None,
    }
}

/// Returns the user that the client calls for, and who may be asked.
fn of_client(caller: Caller, requested: Option<Ask>, page: Option<String>) -> ToolCaller {
    let may_decide = caller.has(TokenScope::Decide);
    let ask = match caller.asks(requested, Ask::Here) {
        Ask::Here => AskWhere::Here,
        Ask::Elsewhere => AskWhere::Elsewhere,
        Ask::None => AskWhere::Nowhere,
    };
    let language = caller.language();
    let of_client = ToolCaller::new(caller.user).ask(ask);
    let of_client = language.into_iter().fold(of_client, ToolCaller::language);
    let of_client = page.into_iter().fold(of_client, ToolCaller::page);
    if may_decide { of_client } else { of_client.without_decisions() }
}

/// Returns the address of the page's approval requests, as the client reaches this server.
fn page(shared: &Shared, uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let own = shared.site.public.clone().or_else(|| host::named(&shared.site, uri, headers))?;
    (!shared.extras.hides_page).then(|| format!("{own}/#/inbox"))
}

fn refused(refusal: EndpointRefusal) -> Problem {
    let (name, scope, max) = match refusal {
        EndpointRefusal::TooManyOfUser { max } => (ProblemName::TooMany, "user", max),
        EndpointRefusal::TooMany { max } => (ProblemName::Overloaded, "all", max),
        EndpointRefusal::LongHandshake { max } => return Problem::too_long(None, max),
        EndpointRefusal::ManyValues { max } => {
            return Problem::malformed(format!(
                "The message has too many values. At most {max} are allowed."
            ));
        }
        EndpointRefusal::NoSession | _ => return Problem::not_found(),
    };
    Problem::new(name, format!("Too many MCP sessions are open. At most {max} are allowed."))
        .reached("mcp_sessions", scope, max)
        .retry_after(RETRY)
}
