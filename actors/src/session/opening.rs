//! Waking a session: load its chat, see to the turn that was left open, start its actor.

use std::sync::Arc;

use ractor::Actor;
use tracing::{debug, error, info};

use super::{
    Door, SessionActor, SessionMsg, Wiring,
    awake::{Over, Resumption, Waking},
    msg::{ClearError, TurnEnd, TurnRefused},
    resume::{Fate, Left, Reason, plan},
    wiring::History,
};
use crate::{
    dispatcher::end_of_lost,
    failpoint::failpoint,
    ledger::{Ended, Transition},
    mailbox::answer,
    port::{
        LedgerFilter, LedgerRow, ModelError, OpenTurn, StoreError, StoredSession, TurnStep, Write,
    },
    protocol::{ChatMessage, Content, Effect, Notice, SessionId, Timestamp, TurnEnding, TurnError},
};

/// Why a session did not wake.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// The store could not be read.
    #[error("failed to load session {session}")]
    Store {
        /// The session.
        session: SessionId,
        /// The cause.
        #[source]
        cause: StoreError,
    },
    /// It was never opened.
    #[error("session {0} does not exist")]
    Unknown(SessionId),
    /// Its actor could not be started: the runtime has shut down.
    #[error("session {0} could not be started")]
    Closed(SessionId),
}

/// Wakes the session behind a door. Whatever waits there is delivered, or told why not.
pub async fn open(door: Arc<Door>, wiring: Arc<Wiring>) {
    let mut asleep = Asleep { door, cause: Some(StoreError::Silent) };
    match start(&asleep.door, &wiring).await {
        Ok(()) => asleep.cause = None,
        Err(error) => {
            error!(session = %asleep.door.session(), %error, "failed to wake a session");
            asleep.cause = Some(match error {
                OpenError::Store { cause, .. } => cause,
                OpenError::Unknown(_) | OpenError::Closed(_) => {
                    StoreError::refused(error.to_string())
                }
            });
        }
    }
}

/// A session that does not wake, until its cause is taken away. Whoever waits at the door hears of it, even where a
/// panic of the store's ends the attempt.
struct Asleep {
    door: Arc<Door>,
    cause: Option<StoreError>,
}

impl Drop for Asleep {
    fn drop(&mut self) {
        let Some(cause) = self.cause.take() else { return };
        for msg in self.door.did_not_wake() {
            refuse(msg, &cause);
        }
    }
}

async fn start(door: &Arc<Door>, wiring: &Arc<Wiring>) -> Result<(), OpenError> {
    let session = door.session();
    // What an actor before this one began is still on its way to the store, with numbers of its own.
    door.settled().await;
    failpoint("opening.loads").await.map_err(|failed| unreadable(session, failed.into()))?;
    let mut stored = load(session, wiring).await?;
    let mut seen_to = SeenTo::default();
    // A runtime that shuts down leaves an open turn to the next.
    if let Some(open) = stored.open_turn.take()
        && !wiring.closing.is_cancelled()
    {
        seen_to = see_to(open, &stored, door, wiring)
            .await
            .map_err(|cause| unreadable(session, cause))?;
        failpoint("opening.seen_to").await.map_err(|failed| unreadable(session, failed.into()))?;
        stored = load(session, wiring).await?;
    }
    let last_seq = stored.row.last_seq;
    let messages = match wiring.history {
        History::Stored => stored.messages,
        History::InMemory => Vec::new(),
    };
    let SeenTo { mut resumption, mut ended, news } = seen_to;
    let news = messages.iter().filter(|message| news.contains(&message.seq)).cloned().collect();
    match (&mut resumption, &mut ended) {
        (Some(resumption), _) => resumption.news = news,
        (None, Some(over)) => over.news = news,
        (None, None) => {}
    }
    let calls = resumption.iter().flat_map(|resumption| &resumption.calls);
    let awaited = calls.map(|row| row.seq).collect();
    let waking =
        Waking { door: door.clone(), wiring: wiring.clone(), messages, last_seq, awaited, ended };
    let (actor, _) =
        SessionActor::spawn_linked(None, SessionActor, waking, wiring.supervisor.clone())
            .await
            .map_err(|cause| {
                debug!(%session, %cause, "failed to start a session's actor");
                OpenError::Closed(session.clone())
            })?;
    door.owes_nothing();
    door.woke(actor, resumption.map(SessionMsg::Resume));
    Ok(())
}

async fn load(session: &SessionId, wiring: &Wiring) -> Result<StoredSession, OpenError> {
    let stored = wiring.store.store().session(session).await;
    let stored = stored.map_err(|cause| unreadable(session, cause))?;
    stored.ok_or_else(|| OpenError::Unknown(session.clone()))
}

fn unreadable(session: &SessionId, cause: StoreError) -> OpenError {
    OpenError::Store { session: session.clone(), cause }
}

/// What became of the turn that was left open.
#[derive(Debug, Default)]
struct SeenTo {
    /// It goes on.
    resumption: Option<Box<Resumption>>,
    /// It is over, and nobody was told yet.
    ended: Option<Over>,
    /// The places of the entries that were made of it.
    news: Vec<u64>,
}

/// Carries out the plan, in one job of the store: what is resumed was counted before it begins, and whoever must hear of
/// an unknown effect hears of it wherever the process ends.
async fn see_to(
    open: OpenTurn,
    stored: &StoredSession,
    door: &Door,
    wiring: &Wiring,
) -> Result<SeenTo, StoreError> {
    let (session, around) = (door.session(), &wiring.around);
    let filter =
        LedgerFilter { session: Some(session.clone()), only_open: true, ..LedgerFilter::default() };
    failpoint("opening.sees_to").await?;
    let calls = wiring.store.store().calls(&filter).await?;
    let messages = match wiring.history {
        History::Stored => &*stored.messages,
        History::InMemory => &[],
    };
    failpoint("opening.plans").await?;
    let plan = plan(&Left {
        open: &open,
        messages,
        calls: &calls,
        given_up: door.given_up(),
        max_resumes: around.limits.max_resumes,
    });
    let (at, locale) = (around.clock.now(), open.options.locale);
    let (lost, rest): (Vec<_>, Vec<_>) =
        calls.into_iter().partition(|row| plan.lost.contains(&row.call));
    let ends: Vec<_> = lost.iter().map(|row| (row, end_of_lost(around, row, locale))).collect();
    let is_unknown = ends.iter().any(|(_, end)| end.effect == Effect::Unknown);
    let mut news: Vec<_> = lost.iter().map(|row| row.seq).collect();
    let mut writes = Vec::new();
    if matches!(plan.turn, Fate::GoesOn { .. }) {
        let (session, turn, step) = (session.clone(), open.turn, TurnStep::Resumed);
        writes.push(Write::Turn { session, turn, at, step });
    }
    writes.extend(ends.into_iter().map(|(row, end)| end_write(row, at, end)));
    if is_unknown && wiring.history == History::Stored {
        news.push(stored.row.last_seq + 1);
        let content = Content::Notice { notice: Notice::EffectUnknown };
        let message = ChatMessage { seq: stored.row.last_seq + 1, turn: open.turn, at, content };
        writes.push(Write::Message { session: session.clone(), message });
    }
    match plan.turn {
        Fate::Ends(reason) => {
            let end = TurnEnd {
                turn: open.turn,
                ending: TurnEnding::Failed,
                error: Some(error_of(reason)),
                usage: open.usage,
            };
            writes.push(end.write(session, at));
            wiring.store.write(writes).await?;
            info!(%session, turn = %open.turn, ?reason, "ended a turn that was left open");
            let over = Over { end, locale, news: Vec::new() };
            Ok(SeenTo { resumption: None, ended: (reason != Reason::Told).then_some(over), news })
        }
        Fate::GoesOn { again, stops_loop } => {
            wiring.store.write(writes).await?;
            info!(%session, turn = %open.turn, calls = again.len(), "a turn that was left open goes on");
            let of = |call| rest.iter().find(|row| row.call == call).cloned();
            let calls: Vec<LedgerRow> = again.into_iter().filter_map(of).collect();
            let resumption = Resumption { open, calls, stops_loop, news: Vec::new() };
            Ok(SeenTo { resumption: Some(Box::new(resumption)), ended: None, news })
        }
    }
}

/// The end of a call that nobody brings to its end any more.
pub(super) fn end_write(row: &LedgerRow, at: Timestamp, end: Ended) -> Write {
    let (session, call) = (row.session.clone(), row.call);
    Write::Call { session, call, at, transition: Transition::Ended(end) }
}

fn error_of(reason: Reason) -> TurnError {
    match reason {
        Reason::Told => TurnError::Model { kind: ModelError::ENGINE_DIED.to_owned() },
        Reason::TooOften | Reason::NoChat => TurnError::CutOff,
    }
}

fn refuse(msg: SessionMsg, cause: &StoreError) {
    match msg {
        SessionMsg::Ask { began, .. } => answer(began, Err(TurnRefused::Store(cause.clone()))),
        SessionMsg::Clear { reply } => answer(reply, Err(ClearError::Store(cause.clone()))),
        // Dropping these tells the asker that the session is closed.
        SessionMsg::Dismiss { .. }
        | SessionMsg::State { .. }
        | SessionMsg::Running { .. }
        | SessionMsg::Close { .. }
        | SessionMsg::Resume(_)
        | SessionMsg::Submitted { .. }
        | SessionMsg::Stored { .. }
        | SessionMsg::Llm(_)
        | SessionMsg::Dispatcher(_)
        | SessionMsg::Idle => {}
    }
}
