//! The routes of the AI SDK: a message of a chat, its stream for a client that reconnects, its
//! stop, and all messages.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderName, StatusCode, header::LINK},
    response::{IntoResponse as _, Response},
};
use madang::{
    Session, TurnId,
    approval::{ApprovalRequest, Decision},
    event::{EventCursor, FeedCursor},
    session::{SessionView, ViewPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::warn;
use uuid::Uuid;

use super::{
    input::{AiInput, AiIntent},
    mapper::AiMapper,
    message::{AiMessage, write_nothing},
    messages::messages,
    schema::{self, AiSdkRequest},
};
use crate::{
    answer::json,
    ask::Ask,
    auth::{
        caller::{Caller, session_id},
        scope::TokenScope,
    },
    extract::{Bytes, Ids, Json, Query, Wishes},
    forms::{AskHeader, EntryNumber},
    heavy,
    native::page,
    problem::{Problem, ProblemName},
    route::{Access, ForeignObject, Route},
    state::Shared,
    stream::{frame::Frames, mapper::Mapper as _, missed::requested},
    surface::{
        approval_id::ApprovalId,
        body::Said,
        decided::Came,
        dialogue::Dialogue,
        forks::{self, Sent},
    },
    turns::{self, BegunTurn, Supersede},
};

/// Returns the routes of this surface.
pub(crate) fn routes() -> Vec<Route> {
    let chat = Access::Scope(TokenScope::Chat);
    vec![
        Route::post("/api/chat", chat, say).id("sendAiSdkChat")
            .takes_histories()
            .says("Answers the last message of a chat, or continues after its decisions, for `useChat` of the AI SDK.")
            .header::<AskHeader>("Madang-Ask", "Who is asked for approvals: `here`, `elsewhere` or `none`.")
            .takes::<AiSdkRequest>(schema::example)
            .gives_text("text/event-stream", "The parts of the assistant's message.")
            .refuses(&[
                ProblemName::NotFound,
                ProblemName::Busy,
                ProblemName::KeyReused,
                ProblemName::Empty,
                ProblemName::DoesNotFit,
                ProblemName::DecisionNotKnown,
                ProblemName::NoModel,
                ProblemName::TooMany,
                ProblemName::Overloaded,
                ProblemName::Draining,
            ]),
        Route::get("/api/chat/{session}/stream", chat, resume).id("resumeAiSdkStream")
            .says("Streams the running turn from its beginning, for a client that reconnects.")
            .gives_text("text/event-stream", "The parts of the assistant's message.")
            .gives_nothing(StatusCode::NO_CONTENT, "No turn runs.")
            .refuses(&[ProblemName::TooMany, ProblemName::Overloaded]),
        Route::post("/api/chat/{session}/stop", chat, stop).id("stopAiSdkChat")
            .says("Dismisses the running turn. A client that only closes its connection dismisses nothing.")
            .takes::<StopBody>(|| serde_json::json!({}))
            .gives::<Stopped>(StatusCode::OK, "Whether this request dismissed a turn."),
        Route::get("/api/chat/{session}/messages", chat, all).id("listAiSdkMessages")
            .says("Returns the last messages of a chat in the form that `useChat` expects. The header `Link` names the previous page.")
            .query::<EntryNumber>("before", "The value in the `Link` of another page, to get the messages before it.")
            .gives::<Vec<ForeignObject>>(StatusCode::OK, "The messages."),
    ]
}

const VERSION: HeaderName = HeaderName::from_static("x-vercel-ai-ui-message-stream");

async fn say(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    wishes: Wishes,
    Bytes(body): Bytes,
) -> Result<Response, Problem> {
    let limits = shared.limits.clone();
    let read = heavy::run(body.len(), move || AiInput::read(&body, &limits));
    let AiInput { session: id, intent, ask } = read.await?;
    let dialogue = Dialogue::open(&shared, &caller, "ai_sdk", id, ask.or(wishes.ask))?;
    let told = match intent {
        AiIntent::Say(said, sent) => speak(dialogue, said, sent).await,
        AiIntent::Decide { turn, decisions, unrecognised } => {
            if unrecognised > 0 {
                warn!(unrecognised, "a message responds to what was never asked");
            }
            let session = dialogue.chat().await?;
            decide(dialogue, &session, turn, decisions).await
        }
        AiIntent::Attach => {
            let session = dialogue.chat().await?;
            attach(dialogue, &session).await
        }
    };
    told.map(versioned)
}

async fn resume(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    wishes: Wishes,
    Ids(session): Ids<String>,
) -> Result<Response, Problem> {
    let nothing = || Ok(StatusCode::NO_CONTENT.into_response());
    let name = session_id(&session)?;
    let session = match forks::current(&shared, &caller, &name).await {
        Ok(session) => session,
        // Clients ask before their first message. Here as elsewhere, another user's chat looks as
        // if it did not exist.
        Err(problem) if problem.name() == ProblemName::NotFound => return nothing(),
        Err(problem) => return Err(problem),
    };
    let view = session.view(ViewPage::NONE).await?;
    let Some(turn) = view.turn else { return nothing() };
    let dialogue = Dialogue::open(&shared, &caller, "ai_sdk", name, wishes.ask)?.looks_on();
    replay(dialogue, &session, turn, view, None).await.map(versioned)
}

/// The turn that a client stops.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StopBody {
    /// The id of the streaming message. If absent, the running turn is dismissed, whichever it is.
    active_stream_id: Option<String>,
}

/// Whether a request dismissed a turn.
#[derive(Debug, Serialize, JsonSchema)]
struct Stopped {
    dismissed: bool,
}

async fn stop(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Ids(session): Ids<String>,
    Json(StopBody { active_stream_id }): Json<StopBody>,
) -> Result<Response, Problem> {
    let session = forks::current(&shared, &caller, &session_id(&session)?).await?;
    let turn = match active_stream_id {
        Some(id) => Uuid::try_parse(&id).ok().map(TurnId::new),
        None => session.turn().await?.map(|turn| turn.id()),
    };
    let Some(turn) = turn else { return Ok(json(&Stopped { dismissed: false })) };
    Ok(json(&Stopped { dismissed: turns::dismiss(&session, turn).await? }))
}

async fn all(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Ids(session): Ids<String>,
    query: Query,
) -> Result<Response, Problem> {
    let session = forks::current(&shared, &caller, &session_id(&session)?).await?;
    let is_last = query.get("before").is_none();
    let view = session.view(page(&shared, &query)?).await?;
    let waits = view.turn.zip(view.approval_request.as_ref()).filter(|_| is_last);
    let messages = json(&messages(&view.messages, waits, shared.limits.max_event_bytes));
    // Clients take a plain list, so the address of the previous page is in a header.
    let earlier = view.earlier.map(|before| [(LINK, format!("<?before={before}>; rel=\"prev\""))]);
    Ok((earlier, messages).into_response())
}

/// Begins a turn with the user's text. If the same text began a turn before, streams that turn. An
/// open question is dismissed, because a client that shows it cannot handle a busy chat.
async fn speak(dialogue: Dialogue<'_>, said: Said, sent: Sent) -> Result<Response, Problem> {
    let (session, begun) = dialogue.say(said, sent, None, Supersede::Waiting).await?;
    let BegunTurn { turn, superseded } = begun;
    if !turn.is_new() {
        let view = session.view(ViewPage::NONE).await?;
        return replay(dialogue, &session, turn.id(), view, superseded).await;
    }
    let message = AiMessage { superseded, ..message(&dialogue, turn.id()) };
    Ok(dialogue.tell(&session, &turn, AiMapper::new(message)))
}

/// Streams a turn from its beginning.
async fn replay(
    dialogue: Dialogue<'_>,
    session: &Session,
    turn: TurnId,
    view: SessionView,
    superseded: Option<TurnId>,
) -> Result<Response, Problem> {
    let status = session.turn_status(turn).await?.ok_or_else(Problem::not_found)?;
    let message = AiMessage {
        waits: open_in(&view, turn).map(|request| (view.cursor.stored, request)),
        asked_before: view.cursor.published,
        superseded,
        ..message(&dialogue, turn)
    };
    let before = status.first.before().into();
    dialogue.tell_after(session, turn, before, AiMapper::new(message)).await
}

/// Carries out the decisions, and continues the message that shows the calls.
async fn decide(
    dialogue: Dialogue<'_>,
    session: &Session,
    shown_by: Option<TurnId>,
    decisions: Vec<(ApprovalId, Decision)>,
) -> Result<Response, Problem> {
    let before = session.view(ViewPage::NONE).await?;
    let Some(decided) = dialogue.decide(session, decisions, before.turn).await? else {
        return match shown_by.filter(|_| before.turn != shown_by) {
            Some(turn) => Ok(nothing(dialogue, turn)),
            None => attach(dialogue, session).await,
        };
    };
    let turn = decided.turn;
    if session.turn_status(turn).await?.is_none() {
        return Ok(nothing(dialogue, turn)); // the call belongs to no turn of the chat
    }
    let after = session.view(ViewPage::NONE).await?;
    // The view may show a request for a moment longer than it is open.
    let waits = open_in(&after, turn).filter(|request| !decided.is_about(request.call));
    let of_turn = || decided.calls.iter().filter(|decided| decided.turn == turn);
    // From before a decision that counts now. What had come before is told from the first of the
    // calls on.
    let earlier = of_turn().filter(|decided| decided.came != Came::Now);
    let earlier = earlier.map(|decided| EventCursor::of_entry(decided.entry).before()).min();
    let message = AiMessage {
        shown: of_turn().map(|decided| decided.call).collect(),
        waits: waits.map(|request| (after.cursor.stored, request)),
        asked_before: after.cursor.published,
        ..message(&dialogue, turn)
    };
    let behind = earlier.map_or(before.cursor, FeedCursor::from);
    dialogue.tell_after(session, turn, behind, AiMapper::new(message)).await
}

/// Continues the running turn, for a client whose last message is the assistant's and has nothing
/// to decide.
async fn attach(dialogue: Dialogue<'_>, session: &Session) -> Result<Response, Problem> {
    let view = session.view(ViewPage::of(1)).await?; // the last entry alone
    let Some(turn) = view.turn else {
        let last = view.messages.last().map(|entry| entry.turn);
        return Ok(nothing(dialogue, last.ok_or_else(Problem::not_found)?));
    };
    let mapper = AiMapper::new(message(&dialogue, turn));
    match open_in(&view, turn).filter(|_| dialogue.ask == Ask::Here) {
        Some(request) => Ok(ask_again(dialogue, mapper, turn, request, view.cursor.stored)),
        None => dialogue.tell_after(session, turn, view.cursor, mapper).await,
    }
}

/// Answers with the request that the turn waits for.
fn ask_again(
    dialogue: Dialogue<'_>,
    mut mapper: AiMapper,
    turn: TurnId,
    request: ApprovalRequest,
    cursor: EventCursor,
) -> Response {
    let mut out = Frames::default();
    mapper.open(&mut out);
    mapper.on(&requested(turn, request, cursor, dialogue.shared.now()), &mut out);
    dialogue.tell_whole(Some(turn), out)
}

/// Answers with a message that has nothing new.
fn nothing(dialogue: Dialogue<'_>, turn: TurnId) -> Response {
    let mut out = Frames::default();
    write_nothing(turn, &mut out);
    dialogue.tell_whole(Some(turn), out)
}

/// Returns a message of which the client shows nothing yet, and in whose turn nothing waits.
fn message(dialogue: &Dialogue<'_>, turn: TurnId) -> AiMessage {
    AiMessage {
        turn,
        shown: Vec::new(),
        waits: None,
        asked_before: None,
        superseded: None,
        ask: dialogue.ask,
        tools: dialogue.shared.tools.clone(),
        max_text_frame_bytes: dialogue.shared.limits.max_text_frame_bytes,
    }
}

/// Returns the request that a turn waits for.
fn open_in(view: &SessionView, turn: TurnId) -> Option<ApprovalRequest> {
    view.approval_request.clone().filter(|_| view.turn == Some(turn))
}

/// Adds the version of the protocol to an answer.
fn versioned(response: Response) -> Response {
    ([(VERSION, "v1")], response).into_response()
}
