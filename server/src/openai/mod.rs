//! Chat Completions: the chats of this server, for clients that speak OpenAI's protocol.
//!
//! Flow of a request:
//! 1. `request` reads the body and refuses options whose loss would break the client's program.
//! 2. `placement` finds its chat: the one that it names, the one that an earlier try began, or the
//!    one whose texts are the client's history. If there is none, a new chat takes over the
//!    history.
//! 3. The try is stored, and then the turn begins under its key. A client that sends the request
//!    again gets the same turn.
//! 4. `chunk` writes the turn as it happens, or `plain` waits for its end.
//!
//! Invariants:
//! - A chat with other texts than the client's history is left as it is.
//! - A stream that ends in the middle of a turn never looks complete: its body breaks off.
//! - A destructive call runs only if a person can be asked elsewhere, because the protocol itself
//!   cannot ask.

mod body;
mod chunk;
mod client_memory;
mod conversation;
mod digests;
mod known_chat;
mod models;
mod newest;
mod placement;
mod plain;
mod request;
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite_memory;

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::Response,
};
use madang::{ModelName, Session, TurnId, TurnOptions};

use crate::{
    ask::Ask,
    auth::{caller::Caller, scope::TokenScope},
    extract::{Bytes, Wishes},
    forms::{AskHeader, KeyHeader, SessionHeader},
    heavy,
    problem::{Problem, ProblemName},
    route::{Access, ForeignObject, Route},
    state::Shared,
    stream::body::{Items, OpenStream},
    turns::{self, Supersede},
};
use chunk::{Chunks, Head};
use digests::RequestDigests;
use request::ChatRequest;

pub use client_memory::{ClientMemory, ForgetfulMemory, MemoryError, Recalled, Tried};
#[cfg(feature = "sqlite")]
pub use sqlite_memory::{FORGET, MIGRATIONS, SqliteMemory};

/// Returns the routes of this surface.
pub(crate) fn routes() -> Vec<Route> {
    let mut routes = models::routes();
    routes.push(
        Route::post("/v1/chat/completions", Access::Scope(TokenScope::Chat), complete)
            .id("createChatCompletion")
            .begins()
            .waits(|limits| limits.completion_wait)
            .takes_histories()
            .says("Answers the last message of the user, for clients of OpenAI's Chat Completions.")
            .header::<KeyHeader>("Idempotency-Key", "Makes the request safe to repeat.")
            .header::<AskHeader>("Madang-Ask", "Who is asked for approvals: `elsewhere` or `none`.")
            .header::<SessionHeader>("Madang-Session", "The chat to continue.")
            .takes::<schema::ChatCompletionRequest>(schema::example)
            .gives::<ForeignObject>(
                StatusCode::OK,
                "The completion, or a stream of chunks if the request asks for it.",
            )
            .gives_text("text/event-stream", "The chunks of the completion.")
            .refuses(&[
                ProblemName::UnsupportedParameter,
                ProblemName::Busy,
                ProblemName::Empty,
                ProblemName::KeyReused,
                ProblemName::Model,
                ProblemName::NoModel,
                ProblemName::PromptTooLong,
                ProblemName::StillWaiting,
            ]),
    );
    routes
}

const MADANG_SESSION: HeaderName = HeaderName::from_static("madang-session");
const MADANG_IGNORED: HeaderName = HeaderName::from_static("madang-ignored");

async fn complete(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    wishes: Wishes,
    headers: HeaderMap,
    Bytes(body): Bytes,
) -> Result<Response, Problem> {
    let user = caller.user.clone();
    let key = wishes.key.clone();
    let (request, digests) = heavy::run(body.len(), move || {
        let request = ChatRequest::read(&body)?;
        let digests = RequestDigests::of(&user, key.as_ref(), &body, &request);
        Ok::<_, Problem>((Arc::new(request), digests))
    })
    .await?;
    // This comes before anything begins, because a refusal must change nothing.
    let stream = request.streams.then(|| OpenStream::new(&shared, &caller, "chat_completions"));
    let stream = stream.transpose()?;
    let found =
        placement::find_chat(&shared, &caller, &wishes, &headers, digests, &request).await?;
    let options = TurnOptions {
        instructions: request.instructions.clone(),
        model: chosen(&shared, &request),
        key: Some(found.key.clone()),
        // This protocol has no question, so a person can only be asked on another device.
        ..caller.turn_options(caller.asks(wishes.ask, Ask::None))
    };
    let supersede = if found.is_named { Supersede::Waiting } else { Supersede::Never };
    let session = found.session.clone();
    let text = found.text.clone();
    let begins = {
        let shared = shared.clone();
        let session = session.clone();
        let caller = caller.clone();
        async move {
            let begun = turns::begin(&shared, &session, text, options, supersede).await?;
            found.remember(&shared, &caller, digests.ends).await;
            Ok::<_, Problem>(begun.turn)
        }
    };
    let turn = turns::unbroken(begins).await?;
    let model = request.model.clone().unwrap_or_else(|| shared.model.clone());
    let head = Head { turn: turn.id(), created: seconds_of(turn.id()), model };
    let mut response = match stream {
        Some(stream) => {
            let chunks = Chunks::new(head.clone(), request.includes_usage);
            stream.follow(&session, head.turn).write(Items::Turn(Box::new(turn.events())), chunks)
        }
        None => plain::wait(&shared, turn, head.clone()).await?,
    };
    name(&mut response, &session, &request);
    Ok(turns::named(response, head.turn))
}

/// Returns the model that a request names, if it is one of the runtime's. Clients send any name, so
/// any other name selects none.
fn chosen(shared: &Shared, request: &ChatRequest) -> Option<ModelName> {
    let wanted = request.model.as_deref()?;
    shared.runtime.models().find(|name| name.as_str() == wanted).cloned()
}

/// Adds the name of the chat and the names of ignored options.
fn name(response: &mut Response, session: &Session, request: &ChatRequest) {
    let headers = response.headers_mut();
    // A name with other characters than a header may have cannot be sent here. The native routes
    // send it.
    if let Ok(session) = HeaderValue::from_str(session.id().as_str()) {
        headers.insert(MADANG_SESSION, session);
    }
    if let Ok(ignored) = HeaderValue::from_str(&request.ignored.join(", "))
        && !request.ignored.is_empty()
    {
        headers.insert(MADANG_IGNORED, ignored);
    }
}

/// Returns the second at which a turn began, which its id contains.
fn seconds_of(turn: TurnId) -> u64 {
    turn.uuid().get_timestamp().map_or(0, |at| at.to_unix().0)
}
