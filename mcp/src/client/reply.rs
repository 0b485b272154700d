//! Reads what a server answers over HTTP: a message, a stream of events, or a status that refuses.
//!
//! The answer to a request is its body. So the request ends with it, whatever it is, unless it is a
//! stream.

use std::collections::VecDeque;

use futures_util::stream::unfold;
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_TYPE, WWW_AUTHENTICATE},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId},
    transport::{
        common::client_side_sse::BoxedSseResponse,
        streamable_http_client::{
            AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError,
            StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use serde_json::Value;
use sse_stream::Sse;

use super::{
    answer::messages,
    events::Events,
    limits::{MAX_MESSAGE_BYTES, MAX_REFUSAL_BYTES},
    message::{Message, error_data, unreadable},
    pending::Pending,
};

pub(super) type Answered<T> = Result<T, StreamableHttpError<reqwest::Error>>;

/// Reads the answer to one of the client's messages.
pub(super) async fn posted(
    mut response: Response,
    message: &ClientJsonRpcMessage,
    has_session: bool,
    pending: &Pending,
) -> Answered<StreamableHttpPostResponse> {
    let status = response.status();
    refused(&response)?;
    if status == StatusCode::NOT_FOUND && has_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    let ClientJsonRpcMessage::Request(asked) = message else {
        return match status.is_success() {
            true => Ok(StreamableHttpPostResponse::Accepted),
            false => Err(HttpStatusError::new(status.as_u16(), None).into()),
        };
    };
    let id = asked.id.clone();
    if !status.is_success() {
        // If the body breaks off, the status alone says enough.
        let body = body(&mut response, MAX_REFUSAL_BYTES).await.ok().flatten().unwrap_or_default();
        let error = refusal(status, &asked.request, &body)?;
        return Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::error(error, Some(id)), None));
    }
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    let session = response.headers().get("mcp-session-id");
    let session = session.and_then(|session| session.to_str().ok()).map(str::to_owned);
    if is_stream(&response) {
        let events = events(response, Some(id), pending.clone());
        return Ok(StreamableHttpPostResponse::Sse(events, session));
    }
    let message = match body(&mut response, MAX_MESSAGE_BYTES).await? {
        Some(body) => answer_to(id, &body, pending),
        None => unreadable(id),
    };
    Ok(StreamableHttpPostResponse::Json(message, session))
}

/// Reads the stream that a server opens for its own messages, or for the rest of an answer.
pub(super) fn opened(response: Response, pending: &Pending) -> Answered<BoxedSseResponse> {
    refused(&response)?;
    match response.status() {
        StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
        status if !status.is_success() => Err(HttpStatusError::new(status.as_u16(), None).into()),
        _ if is_stream(&response) => Ok(events(response, None, pending.clone())),
        _ => Err(StreamableHttpError::UnexpectedContentType(None)),
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case("text/event-stream"))
}

/// Returns an error if a server wants another authorization, or fewer requests.
fn refused(response: &Response) -> Answered<()> {
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    let challenge = challenge.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    match (response.status(), challenge) {
        (StatusCode::UNAUTHORIZED, Some(challenge)) => {
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
        }
        (StatusCode::FORBIDDEN, Some(challenge)) => {
            let refusal = InsufficientScopeError::new(challenge, None);
            Err(StreamableHttpError::InsufficientScope(refusal))
        }
        (
            status @ (StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::TOO_MANY_REQUESTS),
            _,
        ) => Err(HttpStatusError::new(status.as_u16(), None).into()),
        _ => Ok(()),
    }
}

/// Reads the error that comes with a status, whichever request it says it is for.
fn refusal(status: StatusCode, asked: &ClientRequest, body: &[u8]) -> Answered<ErrorData> {
    let error = serde_json::from_slice::<Value>(body).ok();
    let error = error.and_then(|body| error_data(body.get("error")?));
    match (asked, error) {
        // The status says that the call was not taken, whatever the code means to this server.
        (ClientRequest::CallToolRequest(_), Some(error)) if status.is_client_error() => {
            Ok(ErrorData { code: ErrorCode::INVALID_REQUEST, ..error })
        }
        (_, Some(error)) => Ok(error),
        // A server of an older revision. It is greeted by a handshake next.
        (ClientRequest::DiscoverRequest(_), None) if status.is_client_error() => {
            Ok(ErrorData::invalid_request(format!("HTTP {status}"), None))
        }
        (_, None) => Err(HttpStatusError::new(status.as_u16(), None).into()),
    }
}

/// Reads a body that answers this request. An error may say that it is for another one, or for
/// none.
fn answer_to(id: RequestId, body: &[u8], pending: &Pending) -> Message {
    let answers = messages(body, pending).into_iter().find(|message| match message {
        JsonRpcMessage::Response(answer) => answer.id == id,
        JsonRpcMessage::Error(error) => error.id.as_ref().is_none_or(|of| *of == id),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => false,
    });
    match answers {
        Some(JsonRpcMessage::Error(error)) => JsonRpcMessage::error(error.error, Some(id)),
        Some(answer) => answer,
        None => {
            let body = serde_json::from_slice::<Value>(body).ok();
            let error = body.and_then(|body| error_data(body.get("error")?));
            error.map_or_else(
                || unreadable(id.clone()),
                |error| JsonRpcMessage::error(error, Some(id.clone())),
            )
        }
    }
}

/// Reads a body of at most this many bytes. Returns `None` if it has more.
async fn body(response: &mut Response, max_bytes: usize) -> Answered<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(StreamableHttpError::Client)? {
        if body.len() + bytes.len() > max_bytes {
            return Ok(None);
        }
        body.extend_from_slice(&bytes);
    }
    Ok(Some(body))
}

/// A stream whose events each have one message, as the library writes it, or none.
struct Stream {
    response: Response,
    events: Events,
    ready: VecDeque<Sse>,
    /// The request that the stream answers. `None` if it answers none.
    id: Option<RequestId>,
    pending: Pending,
    end: Option<Option<SseError>>,
}

fn events(response: Response, id: Option<RequestId>, pending: Pending) -> BoxedSseResponse {
    let events = Events::new(MAX_MESSAGE_BYTES);
    let ready = VecDeque::new();
    let stream = Stream { response, events, ready, id, pending, end: None };
    Box::pin(unfold(stream, |mut stream| async move {
        let next = stream.next().await?;
        Some((next, stream))
    }))
}

impl Stream {
    async fn next(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if let Some(end) = &mut self.end {
                return end.take().map(Err);
            }
            let mut read = VecDeque::new();
            match self.response.chunk().await {
                Ok(Some(bytes)) => {
                    if let Err(too_long) = self.events.take(&bytes, &mut read) {
                        self.end = Some(match self.id.take() {
                            Some(id) => {
                                read.push_back(Sse::default().data(in_words(&unreadable(id))));
                                None
                            }
                            None => Some(SseError::Body(Box::new(too_long))),
                        });
                    }
                }
                Ok(None) => {
                    self.events.end(&mut read);
                    self.end = Some(None);
                }
                Err(error) => self.end = Some(Some(SseError::Body(Box::new(error)))),
            }
            self.ready.extend(read.into_iter().flat_map(|event| told(event, &self.pending)));
        }
    }
}

/// Returns an event with the message that its data is, and one more event for each other message in
/// it.
fn told(mut event: Sse, pending: &Pending) -> Vec<Sse> {
    let data = event.data.take().unwrap_or_default();
    let mut told: Vec<_> = match event.event.as_deref() {
        None | Some("" | "message") => messages(data.as_bytes(), pending)
            .iter()
            .map(|message| Sse::default().data(in_words(message)))
            .collect(),
        Some(_) => Vec::new(),
    };
    match told.first_mut() {
        Some(first) => *first = Sse { data: first.data.take(), ..event },
        None => told.push(event),
    }
    told
}

fn in_words(message: &Message) -> String {
    serde_json::to_string(message).expect("a message has no key that is no text")
}
