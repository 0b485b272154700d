//! The routes of AG-UI: a run, and the capabilities.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use madang::{
    Session, TurnId,
    approval::{ApprovalRequest, Decision},
    event::EventCursor,
    session::SessionView,
    turn::TurnEnd,
    turn::TurnPhase,
};
use tracing::warn;

use super::{
    capabilities::capabilities,
    input::{AgUiInput, AgUiIntent},
    mapper::AgUiMapper,
    messages::AgUiChat,
    run::{AgUiRun, RunEnd, RunOpening, error_code, write_error},
    schema::{self, AgUiRunInput},
};
use crate::{
    answer::json,
    ask::Ask,
    auth::{caller::Caller, scope::TokenScope},
    extract::{Bytes, Wishes},
    forms::AskHeader,
    heavy,
    problem::{Problem, ProblemName},
    route::{Access, ForeignObject, Route},
    state::Shared,
    stream::frame::Frames,
    surface::{
        approval_id::ApprovalId,
        body::Said,
        decided::{Came, DecidedCalls},
        dialogue::Dialogue,
        forks::Sent,
    },
    turns::{self, Supersede, last_page},
};

/// Returns the routes of this surface.
pub(crate) fn routes() -> Vec<Route> {
    let chat = Access::Scope(TokenScope::Chat);
    vec![
        Route::get("/ag-ui", chat, can).id("getAgUiCapabilities")
            .says("Returns the capabilities of the server for AG-UI clients.")
            .gives::<ForeignObject>(StatusCode::OK, "The capabilities."),
        Route::post("/ag-ui", chat, run).id("runAgUi")
            .takes_histories()
            .says("Runs a turn of a thread for AG-UI clients: begins it, joins it, or continues it after decisions.")
            .header::<AskHeader>("Madang-Ask", "Who is asked for approvals: `here`, `elsewhere` or `none`.")
            .takes::<AgUiRunInput>(schema::example)
            .gives_text("text/event-stream", "The events of the run.")
            .refuses(&[
                ProblemName::NotFound,
                ProblemName::KeyReused,
                ProblemName::Empty,
                ProblemName::DoesNotFit,
                ProblemName::DecisionNotKnown,
                ProblemName::NoModel,
                ProblemName::TooMany,
                ProblemName::Overloaded,
                ProblemName::Draining,
            ]),
    ]
}

async fn can(_: Caller) -> Response {
    json(&capabilities())
}

async fn run(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    wishes: Wishes,
    Bytes(body): Bytes,
) -> Result<Response, Problem> {
    let limits = shared.limits.clone();
    let read = heavy::run(body.len(), move || AgUiInput::read(&body, &limits));
    let AgUiInput { thread, run, intent, messages, state, instructions, ask } = read.await?;
    let dialogue = Dialogue::open(&shared, &caller, "ag_ui", thread.clone(), ask.or(wishes.ask))?;
    let run = AgUiRun {
        thread,
        run,
        turn: None,
        opening: RunOpening::Joined,
        chat: AgUiChat::new(Vec::new(), &shared.limits),
        client_messages: messages,
        is_fork: false,
        cursor: EventCursor::START,
        state,
        late: Vec::new(),
        decided: Vec::new(),
        ask: dialogue.ask,
        tools: shared.tools.clone(),
        max_text_frame_bytes: shared.limits.max_text_frame_bytes,
    };
    let asked = Asked { dialogue, run, instructions: instructions.map(Into::into) };
    match intent {
        AgUiIntent::Say(said) => asked.say(said).await,
        AgUiIntent::Resume { decisions, cancelled, unrecognised, said } => {
            if unrecognised > 0 {
                warn!(unrecognised, "a run resumes what was never asked");
            }
            let session = asked.dialogue.chat().await?;
            asked.in_chat(&session).resume(&session, decisions, cancelled, said).await
        }
        AgUiIntent::Attach => {
            let session = asked.dialogue.chat().await?;
            asked.in_chat(&session).attach(&session).await
        }
    }
}

/// A run that a client asks for.
struct Asked<'a> {
    dialogue: Dialogue<'a>,
    /// The part of the run that the request specifies.
    run: AgUiRun,
    instructions: Option<Arc<str>>,
}

impl Asked<'_> {
    /// Records which chat the thread now refers to.
    fn in_chat(mut self, session: &Session) -> Self {
        self.run.is_fork = *session.id() != self.run.thread;
        self
    }

    /// Begins a turn with the user's text. If the same text began a turn before, answers with that
    /// turn. A client that wants another answer sends the same request as a client that lost the
    /// answer, so both get the same turn.
    async fn say(mut self, said: Said) -> Result<Response, Problem> {
        let instructions = self.instructions.take();
        let begun = self.dialogue.say(said, Sent::Plain, instructions, Supersede::Never);
        let (session, turn) = match begun.await {
            Ok((session, begun)) => (session, begun.turn),
            Err(problem) if problem.name() == ProblemName::Busy => return Ok(self.refuse(&problem)),
            Err(problem) => return Err(problem),
        };
        let session = &session;
        let id = turn.id();
        let view = last_page(self.dialogue.shared, session).await?;
        self = self.in_chat(session);
        if !turn.is_new() {
            return self.tell(session, id, view).await;
        }
        // The turn's own events already tell what is stored of it.
        let before = view.messages.into_iter().filter(|entry| entry.turn != id);
        let chat = AgUiChat::new(before.collect(), &self.dialogue.shared.limits);
        let run = AgUiRun { turn: Some(id), opening: RunOpening::Begun, chat, ..self.run };
        Ok(self.dialogue.tell(session, &turn, AgUiMapper::new(run)))
    }

    /// Carries out the decisions, dismisses what the person turned away from, and continues the
    /// turn of the requests.
    async fn resume(
        self,
        session: &Session,
        decisions: Vec<(ApprovalId, Decision)>,
        cancelled: Vec<ApprovalId>,
        said: Option<Said>,
    ) -> Result<Response, Problem> {
        let before = last_page(self.dialogue.shared, session).await?;
        let decided = self.dialogue.decide(session, decisions, before.turn).await?;
        for ApprovalId { call, digest } in cancelled {
            turns::dismiss_request(self.dialogue.shared, session, call, digest).await?;
        }
        match (decided, said) {
            (Some(decided), _) => self.go_on(session, before, &decided).await,
            // A text that the thread already has tells its turn, which was dismissed.
            (None, Some(said)) => self.say(said).await,
            (None, None) => self.attach(session).await,
        }
    }

    /// Continues after decisions. If they are new, it streams the turn from the position before
    /// them, so that nothing is missed.
    async fn go_on(
        mut self,
        session: &Session,
        before: SessionView,
        decided: &DecidedCalls,
    ) -> Result<Response, Problem> {
        let DecidedCalls { turn, calls } = decided;
        let late = calls.iter().filter(|decided| decided.came == Came::Late);
        self.run.late = late.map(|decided| decided.call).collect();
        self.run.decided = calls.iter().map(|decided| decided.call).collect();
        let after = last_page(self.dialogue.shared, session).await?;
        // The view may show a request a moment longer than it is open.
        let open = after.approval_request.as_ref();
        let is_another = open.is_some_and(|open| !decided.is_about(open.call));
        let waits_for_another = after.turn == Some(*turn) && is_another;
        let counts_now = calls.iter().any(|decided| decided.came == Came::Now);
        let view = if counts_now && !waits_for_another { before } else { after };
        self.tell(session, *turn, view).await
    }

    /// Answers with the running turn, or with the messages if none runs.
    async fn attach(mut self, session: &Session) -> Result<Response, Problem> {
        let view = last_page(self.dialogue.shared, session).await?;
        self.dialogue = self.dialogue.looks_on();
        match view.turn {
            Some(turn) => self.tell(session, turn, view).await,
            None => Ok(self.whole(None, view, RunEnd::Success)),
        }
    }

    /// Answers with a turn of which a client may have received a part. If the turn waits, the
    /// answer has its request. If it runs, the answer has what follows the view. If it is over, the
    /// answer has its end.
    async fn tell(
        self,
        session: &Session,
        turn: TurnId,
        view: SessionView,
    ) -> Result<Response, Problem> {
        if view.turn != Some(turn) {
            return self.over(session, turn, view).await;
        }
        let open = view.approval_request.clone();
        let asks_now = |open: &ApprovalRequest| {
            self.run.ask == Ask::Here && !self.run.decided.contains(&open.call)
        };
        if let Some(open) = open.clone().filter(asks_now) {
            return Ok(self.whole(Some(turn), view, RunEnd::Waits(open.into())));
        }
        let chat = AgUiChat::new(view.messages, &self.dialogue.shared.limits);
        let chat = open.iter().fold(chat, AgUiChat::waiting);
        let cursor = view.cursor.stored;
        let mapper = AgUiMapper::new(AgUiRun { turn: Some(turn), chat, cursor, ..self.run });
        self.dialogue.tell_after(session, turn, view.cursor, mapper).await
    }

    /// Answers with the end of a turn that is over.
    async fn over(
        self,
        session: &Session,
        turn: TurnId,
        view: SessionView,
    ) -> Result<Response, Problem> {
        let status = session.turn_status(turn).await?;
        let Some(TurnPhase::Ended(TurnEnd { ending, error, .. })) = status.map(|one| one.phase)
        else {
            // The call of the decision belongs to no turn of the thread.
            return Ok(self.whole(None, view, RunEnd::Success));
        };
        let end = RunEnd::of(ending, || {
            let text = view.error.clone().unwrap_or_else(|| "The turn failed.".to_owned());
            let code = error.as_ref().map_or_else(|| "failed".to_owned(), error_code);
            RunEnd::Failed { text, code }
        });
        Ok(self.whole(Some(turn), view, end))
    }

    /// Answers with a run that has nothing left to stream.
    fn whole(self, turn: Option<TurnId>, view: SessionView, end: RunEnd) -> Response {
        let chat = AgUiChat::new(view.messages, &self.dialogue.shared.limits);
        let run = AgUiRun { turn, chat, cursor: view.cursor.stored, ..self.run };
        let mut out = Frames::default();
        AgUiMapper::new(run).write_whole(end, &mut out);
        self.dialogue.tell_whole(turn, out)
    }

    /// Answers with the error of a thread that is busy. A client receives it within the run, and
    /// can continue.
    fn refuse(self, problem: &Problem) -> Response {
        let (code, text) = match problem.has("approval_request") {
            false => ("busy", problem.detail()),
            true => {
                let text = "An approval request of this thread is open. Decide about it first.";
                ("interrupt_open", text)
            }
        };
        let mut out = Frames::default();
        write_error(text, code, &mut out);
        self.dialogue.tell_whole(None, out)
    }
}
