//! A client's dialogue with one chat. The user speaks or decides, and the client receives a turn
//! from its position on.
//!
//! A surface reads from a body what the client wants, and chooses the position and the mapper for
//! writing a turn.

use std::sync::Arc;

use axum::response::Response;
use madang::{
    Session, SessionId, Turn, TurnId, TurnOptions,
    approval::Decision,
    event::{EventCursor, FeedCursor},
};

use super::{
    approval_id::ApprovalId,
    body::Said,
    decided::{self, DecidedCalls},
    forks::{self, Sent},
};
use crate::{
    ask::Ask,
    auth::caller::Caller,
    problem::Problem,
    state::Shared,
    stream::{
        body::{Items, OpenStream},
        frame::Frames,
        mapper::Mapper,
    },
    turns::{BegunTurn, Supersede, named},
};

/// A request of a client about one chat, whose answer is a stream.
#[derive(Debug)]
pub(crate) struct Dialogue<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    caller: &'a Caller,
    surface: &'static str,
    /// The client's name for the chat.
    name: SessionId,
    /// Who is asked about a call.
    pub(crate) ask: Ask,
    stream: OpenStream,
    /// Whether the turn is this client's, and not one that it only looks at.
    follows: bool,
}

impl<'a> Dialogue<'a> {
    /// Opens the stream of the answer. This comes before anything begins, because a refusal must
    /// change nothing.
    ///
    /// # Errors
    /// A problem if the user has too many streams.
    pub(crate) fn open(
        shared: &'a Arc<Shared>,
        caller: &'a Caller,
        surface: &'static str,
        name: SessionId,
        ask: Option<Ask>,
    ) -> Result<Self, Problem> {
        let stream = OpenStream::new(shared, caller, surface)?;
        let ask = caller.asks(ask, Ask::Here);
        Ok(Self { shared, caller, surface, name, ask, stream, follows: true })
    }

    /// Only looks at the turn, which continues if this client leaves.
    pub(crate) fn looks_on(self) -> Self {
        Self { follows: false, ..self }
    }

    /// Returns the chat that the client's name refers to now.
    ///
    /// # Errors
    /// A problem if this user has none.
    pub(crate) async fn chat(&self) -> Result<Session, Problem> {
        forks::current(self.shared, self.caller, &self.name).await
    }

    /// Begins a turn with the user's text, or finds the one that the text began before.
    ///
    /// # Errors
    /// A problem if none began.
    pub(crate) async fn say(
        &self,
        said: Said,
        sent: Sent,
        instructions: Option<Arc<str>>,
        supersede: Supersede,
    ) -> Result<(Session, BegunTurn), Problem> {
        let options = TurnOptions { instructions, ..self.caller.turn_options(self.ask) };
        let said = (said, sent);
        let options = (options, supersede);
        forks::begin(self.shared, self.caller, &self.name, said, options).await
    }

    /// Decides about approval requests of the chat, in which this turn is open. Returns the turn to
    /// continue, or `None` if no decision names a call.
    ///
    /// # Errors
    /// A problem if the caller may not decide, a decision does not fit, or it is not known whether
    /// it counts.
    pub(crate) async fn decide(
        &self,
        session: &Session,
        decisions: Vec<(ApprovalId, Decision)>,
        open: Option<TurnId>,
    ) -> Result<Option<DecidedCalls>, Problem> {
        let calls =
            decided::decide(self.shared, self.caller, self.surface, session, decisions).await?;
        Ok(DecidedCalls::of(calls, open))
    }

    /// Answers with the events of a turn that begins.
    pub(crate) fn tell(self, session: &Session, turn: &Turn, mapper: impl Mapper) -> Response {
        let id = turn.id();
        let events = Items::Turn(Box::new(turn.events()));
        self.stream(session, id, EventCursor::START, events, mapper)
    }

    /// Answers with the events of a turn after this position.
    ///
    /// # Errors
    /// A problem if the session cannot be reached.
    pub(crate) async fn tell_after(
        self,
        session: &Session,
        turn: TurnId,
        after: FeedCursor,
        mapper: impl Mapper,
    ) -> Result<Response, Problem> {
        let items = Items::Session(Box::new(session.subscribe_after(after).await?));
        Ok(self.stream(session, turn, after.stored, items, mapper))
    }

    fn stream(
        self,
        session: &Session,
        turn: TurnId,
        after: EventCursor,
        items: Items,
        mapper: impl Mapper,
    ) -> Response {
        let stream = if self.follows { self.stream.follow(session, turn) } else { self.stream };
        named(stream.look_again(session, after).write(items, mapper), turn)
    }

    /// Answers with these frames and nothing else, of this turn if there is one.
    pub(crate) fn tell_whole(self, turn: Option<TurnId>, frames: Frames) -> Response {
        turn.into_iter().fold(self.stream.whole(frames), named)
    }
}
