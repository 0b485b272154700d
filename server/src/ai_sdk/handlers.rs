//! The routes of the AI SDK: a message of a chat, its stream for a client that comes back, its stop, and all messages.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderName, StatusCode, header::LINK},
    response::{IntoResponse as _, Response},
};
use madang::{
    Session, SessionId, TurnId,
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
};
use crate::{
    answer::json,
    ask::Ask,
    auth::{
        caller::{Caller, session_id},
        scope::TokenScope,
    },
    extract::{Bytes, Ids, Json, Query, Wishes},
    heavy,
    native::page,
    problem::{Problem, ProblemName},
    route::{Access, ForeignObject, Route},
    state::Shared,
    stream::{
        body::{Items, OpenStream},
        frame::Frames,
        mapper::Mapper as _,
        missed::requested,
    },
    surface::{
        approval_id::ApprovalId,
        body::Said,
        decided::{self, Came, DecidedCall},
        forks::{self, Sent},
    },
    turns::{self, Supersede},
};

/// Gives the routes of this surface.
pub(crate) fn routes() -> Vec<Route> {
    let chat = Access::Scope(TokenScope::Chat);
    vec![
        Route::post("/api/chat", chat, say)
            .takes_histories()
            .says("Answers the last message of a chat, or goes on behind its decisions, for `useChat` of the AI SDK.")
            .header("Madang-Ask", "Which person is asked for approvals: here, elsewhere or none.")
            .takes::<ForeignObject>()
            .gives_text("text/event-stream", "The parts of the assistant's message.")
            .refuses(&[
                ProblemName::NotFound,
                ProblemName::Busy,
                ProblemName::KeyReused,
                ProblemName::Empty,
                ProblemName::DoesNotFit,
                ProblemName::DecisionNotKnown,
                ProblemName::TooMany,
                ProblemName::Overloaded,
                ProblemName::Draining,
            ]),
        Route::get("/api/chat/{session}/stream", chat, resume)
            .says("Tells the turn that runs from its beginning, for a client that comes back.")
            .gives_text("text/event-stream", "The parts of the assistant's message.")
            .gives_nothing(StatusCode::NO_CONTENT, "No turn runs.")
            .refuses(&[ProblemName::TooMany, ProblemName::Overloaded]),
        Route::post("/api/chat/{session}/stop", chat, stop)
            .says("Dismisses the turn that runs. A client that only closes its connection dismisses nothing.")
            .takes::<StopBody>()
            .gives::<Stopped>(StatusCode::OK, "Whether this dismissed a turn."),
        Route::get("/api/chat/{session}/messages", chat, all)
            .says("Gives the last messages of a chat as `useChat` takes them. A header `Link` names the page before.")
            .query("before", "What the `Link` of another page says: the messages before it.")
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
    // Before anything begins: a refusal must change nothing.
    let asked = Asked::new(&shared, &caller, ask.or(wishes.ask))?;
    let found = async || forks::current(&shared, &caller, &id).await;
    match intent {
        AiIntent::Say(said, sent) => asked.say(&id, said, sent).await,
        AiIntent::Decide { turn, decisions, unrecognised } => {
            if unrecognised > 0 {
                warn!(unrecognised, "a message responds to what was never asked");
            }
            asked.decide(&found().await?, turn, decisions).await
        }
        AiIntent::Attach => asked.attach(&found().await?).await,
    }
}

async fn resume(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    wishes: Wishes,
    Ids(session): Ids<String>,
) -> Result<Response, Problem> {
    let nothing = || Ok(StatusCode::NO_CONTENT.into_response());
    let session = match forks::current(&shared, &caller, &session_id(&session)?).await {
        Ok(session) => session,
        // Clients ask before their first message. Another user's chat is told from none neither here nor elsewhere.
        Err(problem) if problem.name() == ProblemName::NotFound => return nothing(),
        Err(problem) => return Err(problem),
    };
    let view = session.view(ViewPage::NONE).await?;
    let Some(turn) = view.turn else { return nothing() };
    let asked = Asked { follows: false, ..Asked::new(&shared, &caller, wishes.ask)? };
    asked.replay(&session, turn, view, None).await
}

/// The turn that a client stops.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StopBody {
    /// The id of the message that streams. Without it the turn that runs is dismissed, whichever that is.
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
    // Clients take a plain list, so where it goes on stands beside it.
    let earlier = view.earlier.map(|before| [(LINK, format!("<?before={before}>; rel=\"prev\""))]);
    Ok((earlier, messages).into_response())
}

/// A message that a client asks for.
struct Asked<'a> {
    shared: &'a Arc<Shared>,
    caller: &'a Caller,
    stream: OpenStream,
    ask: Ask,
    /// Whether the turn is this client's, and not one that it only looks at.
    follows: bool,
}

impl<'a> Asked<'a> {
    fn new(shared: &'a Arc<Shared>, caller: &'a Caller, ask: Option<Ask>) -> Result<Self, Problem> {
        let stream = OpenStream::new(shared, caller, "ai_sdk")?;
        Ok(Self { shared, caller, stream, ask: caller.asks(ask, Ask::Here), follows: true })
    }

    /// Begins a turn with the user's text; where it began one before, tells that one. A question that is open gives way:
    /// while a client shows it, it cannot be told that the chat is busy.
    async fn say(self, chat: &SessionId, said: Said, sent: Sent) -> Result<Response, Problem> {
        let options = self.caller.turn_options(self.ask);
        let options = (options, Supersede::Waiting);
        let (session, begun) =
            forks::begin(self.shared, self.caller, chat, (said, sent), options).await?;
        let (turn, superseded) = (begun.turn.id(), begun.superseded);
        if !begun.turn.is_new() {
            let view = session.view(ViewPage::NONE).await?;
            return self.replay(&session, turn, view, superseded).await;
        }
        let message = AiMessage { superseded, ..self.message(turn) };
        let items = Items::Turn(Box::new(begun.turn.events()));
        Ok(self.tell(&session, message, (EventCursor::START, items)))
    }

    /// Tells a turn from its beginning.
    async fn replay(
        self,
        session: &Session,
        turn: TurnId,
        view: SessionView,
        superseded: Option<TurnId>,
    ) -> Result<Response, Problem> {
        let status = session.turn_status(turn).await?.ok_or_else(Problem::not_found)?;
        let waits = open_in(&view, turn).map(|request| (view.cursor.stored, request));
        let before = status.first.before();
        let items = Items::Session(Box::new(session.subscribe_after(before).await?));
        let asked_before = view.cursor.published;
        let message = AiMessage { waits, asked_before, superseded, ..self.message(turn) };
        Ok(self.tell(session, message, (before, items)))
    }

    /// Decides, and goes on with the message that shows the calls.
    async fn decide(
        self,
        session: &Session,
        turn: Option<TurnId>,
        decisions: Vec<(ApprovalId, Decision)>,
    ) -> Result<Response, Problem> {
        let before = session.view(ViewPage::NONE).await?;
        let decided =
            decided::decide(self.shared, self.caller, "ai_sdk", session, decisions).await?;
        let of_open = decided.iter().find(|decided| before.turn == Some(decided.turn));
        let Some(DecidedCall { turn, .. }) = of_open.or(decided.last()).copied() else {
            return match turn.filter(|_| before.turn != turn) {
                Some(turn) => Ok(self.nothing(turn)),
                None => self.attach(session).await,
            };
        };
        if session.turn_status(turn).await?.is_none() {
            return Ok(self.nothing(turn)); // the call belongs to no turn of the chat
        }
        let after = session.view(ViewPage::NONE).await?;
        // The view may show a request for a moment longer than it is open.
        let is_decided =
            |request: &ApprovalRequest| decided.iter().any(|decided| decided.call == request.call);
        let waits = open_in(&after, turn).filter(|request| !is_decided(request));
        let waits = waits.map(|request| (after.cursor.stored, request));
        let of_turn = || decided.iter().filter(|decided| decided.turn == turn);
        // From before a decision that counts now. What had come before is told from the first of the calls on.
        let earlier = of_turn().filter(|decided| decided.came != Came::Now);
        let earlier = earlier.map(|decided| EventCursor::of_entry(decided.entry).before()).min();
        let behind = earlier.map_or(before.cursor, FeedCursor::from);
        let items = Items::Session(Box::new(session.subscribe_after(behind).await?));
        let shown = of_turn().map(|decided| decided.call).collect();
        let asked_before = after.cursor.published;
        let message = AiMessage { shown, waits, asked_before, ..self.message(turn) };
        Ok(self.tell(session, message, (behind.stored, items)))
    }

    /// Goes on with the turn that runs, for a client whose last message is the assistant's and has nothing to decide.
    async fn attach(self, session: &Session) -> Result<Response, Problem> {
        let view = session.view(ViewPage::of(1)).await?; // the last entry alone
        let Some(turn) = view.turn else {
            let last = view.messages.last().map(|entry| entry.turn);
            return Ok(self.nothing(last.ok_or_else(Problem::not_found)?));
        };
        let message = self.message(turn);
        if let Some(request) = open_in(&view, turn).filter(|_| self.ask == Ask::Here) {
            return Ok(self.ask_again(message, request, view.cursor.stored));
        }
        let items = Items::Session(Box::new(session.subscribe_after(view.cursor).await?));
        Ok(self.tell(session, message, (view.cursor.stored, items)))
    }

    /// Answers with the items of a turn behind this position.
    fn tell(
        self,
        session: &Session,
        message: AiMessage,
        (behind, items): (EventCursor, Items),
    ) -> Response {
        let (turn, mapper) = (message.turn, AiMapper::new(message));
        let stream = if self.follows { self.stream.follow(session, turn) } else { self.stream };
        named(stream.look_again(session, behind).of(items, mapper), turn)
    }

    /// Answers with the request about which the turn waits.
    fn ask_again(
        self,
        message: AiMessage,
        request: ApprovalRequest,
        cursor: EventCursor,
    ) -> Response {
        let turn = message.turn;
        let mut mapper = AiMapper::new(message);
        let mut out = Frames::default();
        mapper.open(&mut out);
        mapper.on(&requested(turn, request, cursor, self.shared.now()), &mut out);
        named(self.stream.whole(out), turn)
    }

    /// Answers with a message in which nothing is new.
    fn nothing(self, turn: TurnId) -> Response {
        let mut out = Frames::default();
        write_nothing(turn, &mut out);
        named(self.stream.whole(out), turn)
    }

    /// Gives a message of which the client shows nothing yet, and in whose turn nothing waits.
    fn message(&self, turn: TurnId) -> AiMessage {
        AiMessage {
            turn,
            shown: Vec::new(),
            waits: None,
            asked_before: None,
            superseded: None,
            ask: self.ask,
            tools: self.shared.tools.clone(),
            max_text_frame_bytes: self.shared.limits.max_text_frame_bytes,
        }
    }
}

/// Gives the request about which a turn waits.
fn open_in(view: &SessionView, turn: TurnId) -> Option<ApprovalRequest> {
    view.approval_request.clone().filter(|_| view.turn == Some(turn))
}

/// Names the protocol and the turn of an answer.
fn named(response: Response, turn: TurnId) -> Response {
    ([(VERSION, "v1")], turns::named(response, turn)).into_response()
}
