//! Begins turns, shows their state, and dismisses them.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderName, StatusCode, header::LOCATION},
    response::{IntoResponse as _, Response},
};
use madang::{
    IdempotencyKey, LanguageTag, ModelName, OnDismiss, Session, Turn, TurnId, TurnOptions,
    approval::ApprovalRequest,
    event::{EventCursor, TurnEnding},
    model::Usage,
    session::ViewPage,
    turn::{TurnEvents, TurnPhase, TurnStatus},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{mapper::NativeMapper, paths};
use crate::{
    answer::json,
    ask::Ask,
    auth::{caller::Caller, scope::TokenScope},
    ended::{Calls, EndedTurn, FailedTurn, ended_within},
    extract::{Ids, Json, OwnSession, Wishes, turn_id},
    forms::{AnyText, AskHeader, KeyHeader, UserText},
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
    stream::body::{Items, OpenStream},
    turns::{self, BegunTurn, Supersede},
};

pub(super) fn routes() -> Vec<Route> {
    let chat = Access::Scope(TokenScope::Chat);
    vec![
        Route::post("/v1/sessions/{session}/turns", chat, begin).id("beginTurn")
            .begins()
            .waits(|limits| limits.max_wait)
            .says("Begins a turn with the user's text, or returns the one that began under the same key.")
            .header::<KeyHeader>("Idempotency-Key", "Makes the request safe to repeat.")
            .header::<AskHeader>("Madang-Ask", "Who is asked for approvals: `here`, `elsewhere` or `none`.")
            .header::<AnyText>("Prefer", "`wait=N` waits up to N seconds for the end of the turn.")
            .takes::<TurnBody>(|| serde_json::json!({ "text": "What helps me sleep?" }))
            .gives::<AcceptedTurn>(StatusCode::ACCEPTED, "The turn has begun.")
            .gives::<EndedTurn>(StatusCode::OK, "The turn ended while the request waited.")
            .gives_text("text/event-stream", "The events of the turn, for a client that accepts such a stream.")
            .refuses(&[
                ProblemName::Busy,
                ProblemName::KeyReused,
                ProblemName::Empty,
                ProblemName::UnknownValue,
                ProblemName::NoModel,
            ]),
        Route::get("/v1/sessions/{session}/turns/{turn}", chat, status).id("getTurn")
            .says("Returns the status of a turn.")
            .gives::<TurnAnswer>(StatusCode::OK, "The status."),
        Route::post("/v1/sessions/{session}/turns/{turn}/dismiss", chat, dismiss).id("dismissTurn")
            .says("Dismisses a turn. A turn that has ended is not changed.")
            .gives::<DismissedTurn>(StatusCode::OK, "Whether this request dismissed the turn."),
    ]
}

/// A text for a new turn.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TurnBody {
    /// The user's text.
    #[schemars(with = "UserText")]
    text: Arc<str>,
    /// The language of questions and reasons.
    language: Option<LanguageTag>,
    /// The IANA name of the user's time zone.
    time_zone: Option<Arc<str>>,
    /// The name of the model to use, as the server lists it.
    model: Option<ModelName>,
    /// Who is asked for approvals. It takes precedence over the header.
    ask: Option<Ask>,
    /// The effect of a dismissal.
    on_dismiss: Option<OnDismiss>,
    /// A text that the model reads after the system text, in this turn only.
    instructions: Option<Arc<str>>,
    /// Whether the text replaces an open question.
    #[serde(default)]
    supersede: bool,
}

/// A turn that has begun.
#[derive(Debug, Serialize, JsonSchema)]
struct AcceptedTurn {
    turn: TurnId,
    session: String,
    key: Option<IdempotencyKey>,
    /// The path of its events.
    events: String,
    /// The turn whose open question it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded: Option<TurnId>,
}

async fn begin(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Ids(session): Ids<String>,
    wishes: Wishes,
    Json(body): Json<TurnBody>,
) -> Result<Response, Problem> {
    let session = caller.session(&shared.runtime, &session).await?;
    // This comes before anything begins, because a refusal must change nothing.
    let stream = wishes.wants_stream.then(|| OpenStream::new(&shared, &caller, "native"));
    let stream = stream.transpose()?;
    let ask = caller.asks(body.ask.or(wishes.ask), Ask::Here);
    let options = TurnOptions {
        asks: ask.asks(),
        on_dismiss: body.on_dismiss.unwrap_or_default(),
        language: body.language.or(caller.language()),
        time_zone: body.time_zone,
        instructions: body.instructions,
        model: body.model,
        key: wishes.key.clone(),
    };
    let supersede = if body.supersede { Supersede::Waiting } else { Supersede::Never };
    let begun = turns::begin(&shared, &session, body.text, options, supersede).await?;
    if let Some(stream) = stream {
        return Ok(streamed(&session, stream, &begun.turn));
    }
    let turn = begun.turn.id();
    let (accepted, events) = accepted(&session, wishes.key, begun).await;
    let Some(wait) = wishes.wait.map(|wait| wait.min(shared.limits.max_wait)) else {
        return Ok(accept(&session, &accepted));
    };
    let applied = [(PREFERENCE_APPLIED, format!("wait={}", wait.as_secs()))];
    let answer = match ended_within(&shared, turn, events, wait, Calls::Given).await {
        Ok(ended) => json(&ended),
        Err(_) => accept(&session, &accepted),
    };
    Ok((applied, answer).into_response())
}

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Streams a turn to its end.
fn streamed(session: &Session, stream: OpenStream, turn: &Turn) -> Response {
    let id = turn.id();
    let events = Items::Turn(Box::new(turn.events()));
    let response = stream.follow(session, id).write(events, NativeMapper::of_turn(id));
    located(response, session, id)
}

/// Describes a turn that has begun. From here on no problem may be answered. It would say that
/// nothing began, and a client without a key would begin the turn again.
async fn accepted(
    session: &Session,
    key: Option<IdempotencyKey>,
    BegunTurn { turn, superseded }: BegunTurn,
) -> (AcceptedTurn, TurnEvents) {
    let id = turn.id();
    // If the runtime ends meanwhile, the events are read from the beginning of the chat.
    let status = session.turn_status(id).await.ok().flatten();
    let before = status.map_or(EventCursor::START, |status| status.first.before());
    let events = format!("{}/events?after={before}", paths::of_session(session.id()));
    let name = session.id().as_str().to_owned();
    (AcceptedTurn { turn: id, session: name, key, events, superseded }, turn.events())
}

fn accept(session: &Session, accepted: &AcceptedTurn) -> Response {
    let response = (StatusCode::ACCEPTED, json(accepted)).into_response();
    located(response, session, accepted.turn)
}

/// Adds the address of the turn to an answer.
fn located(response: Response, session: &Session, turn: TurnId) -> Response {
    let location = [(LOCATION, paths::of_turn(session.id(), turn))];
    turns::named((location, response).into_response(), turn)
}

/// The most bytes of the last entries that are read. The user's texts among them show the language
/// of a failure.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// The status of a turn.
#[derive(Debug, Serialize, JsonSchema)]
struct TurnAnswer {
    turn: TurnId,
    /// `running`, `waiting` or `ended`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<TurnEnding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailedTurn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_request: Option<Box<ApprovalRequest>>,
    /// The cursor of its first event.
    first: EventCursor,
    /// The cursor of its last event so far.
    last: EventCursor,
}

async fn status(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    OwnSession(session): OwnSession,
    Ids((_, turn)): Ids<(String, String)>,
) -> Result<Response, Problem> {
    let found = session.turn_status(turn_id(&turn)?).await?.ok_or_else(Problem::not_found)?;
    let TurnStatus { turn, phase, first, last } = found;
    let (status, approval_request, end) = match phase {
        TurnPhase::Running => ("running", None, None),
        TurnPhase::Waiting { approval_request } => ("waiting", Some(approval_request), None),
        TurnPhase::Ended(end) => ("ended", None, Some(end)),
    };
    let (ending, usage) = end.as_ref().map(|end| (end.ending, end.usage)).unzip();
    let error = match end.and_then(|end| end.error) {
        Some(error) => {
            let mut messages = session.view(ViewPage::of(MAX_TEXT_BYTES)).await?.messages;
            messages.retain(|message| message.seq <= last.entry());
            let text = error.in_locale(caller.locale_of(&shared.runtime, &messages));
            Some(FailedTurn { error, text })
        }
        None => None,
    };
    Ok(json(&TurnAnswer { turn, status, ending, error, usage, approval_request, first, last }))
}

/// Whether a request dismissed a turn.
#[derive(Debug, Serialize, JsonSchema)]
struct DismissedTurn {
    dismissed: bool,
}

async fn dismiss(
    OwnSession(session): OwnSession,
    Ids((_, turn)): Ids<(String, String)>,
) -> Result<Response, Problem> {
    let dismissed = turns::dismiss(&session, turn_id(&turn)?).await?;
    Ok(json(&DismissedTurn { dismissed }))
}
