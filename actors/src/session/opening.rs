//! Waking a session: load its chat, see to the turn that was left open, start its actor.

use std::{collections::BTreeSet, sync::Arc};

use ractor::Actor;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout_at},
};
use tracing::{debug, error, info};

use super::{
    Door, SessionActor, SessionMsg, Wiring,
    awake::{Over, Resumption, Waking},
    lost::Lost,
    msg::{ClearError, DismissError, TurnEnd, TurnRefused},
    resume::{Fate, Left, Reason, plan},
    wiring::History,
};
use crate::{
    admission::Permit,
    dispatcher::end_of_lost,
    failpoint::{Failed, failpoint},
    ledger::{Ended, Transition},
    mailbox::answer,
    port::{
        LedgerFilter, LedgerRow, ModelError, OpenTurn, StoreError, StoredSession, TurnStep, Write,
    },
    protocol::{
        Bound, ChatMessage, Content, Effect, EventPlace, Notice, Refusal, SessionId, Timestamp,
        TurnEnding, TurnError,
    },
    telemetry::refused,
};

/// Why a session did not wake.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// The store could not be read.
    #[error("failed to load the session")]
    Store(#[source] StoreError),
    /// It was never opened.
    #[error("the session does not exist")]
    Unknown,
    /// Its actor could not be started: the runtime has shut down.
    #[error("the session could not be started")]
    Closed,
    /// Too many sessions are awake, and none of them can be put to sleep.
    #[error("too many sessions are awake")]
    Overloaded(#[source] Refusal),
}

/// What becomes of a session that wants to wake where no other can be put to sleep for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It sleeps on, and whoever wanted it is told so.
    OrRefused,
    /// It waits: something of it must go on.
    Awaited,
}

/// Wakes the session behind a door. Whatever waits there is delivered, or told why not.
pub async fn open(door: Arc<Door>, wiring: Arc<Wiring>, place: Place) {
    let mut asleep = Asleep { door, cause: Some(OpenError::Store(StoreError::Silent)) };
    match start(&asleep.door, &wiring, place).await {
        Ok(()) => asleep.cause = None,
        Err(error) => {
            let session = asleep.door.session();
            match &error {
                OpenError::Overloaded(refusal) => {
                    refused(refusal);
                    debug!(%session, %refusal, "a session sleeps on");
                }
                OpenError::Store(_) | OpenError::Unknown | OpenError::Closed => {
                    error!(%session, %error, "failed to wake a session");
                }
            }
            asleep.cause = Some(error);
        }
    }
}

/// A place among the sessions that are awake. Where there is none, the session that has rested longest makes room.
async fn admit(door: &Door, wiring: &Wiring, place: Place) -> Result<Permit, OpenError> {
    let (admission, user) = (&wiring.around.admission, door.user());
    let patience = wiring.around.limits.ask_timeout;
    let until = Instant::now() + patience;
    loop {
        let refusal = match admission.try_admit(Bound::AwakeSessions, user, 1) {
            Ok(permit) => return Ok(permit),
            Err(refusal) => refusal,
        };
        if place == Place::OrRefused && Instant::now() >= until {
            return Err(OpenError::Overloaded(refusal));
        }
        let Some(resting) = door.longest_resting(refusal.scope) else {
            if place == Place::OrRefused {
                return Err(OpenError::Overloaded(refusal));
            }
            tokio::select! {
                permit = admission.wait(Bound::AwakeSessions, user) => return Ok(permit),
                () = wiring.closing.cancelled() => return Err(OpenError::Closed),
                // One may have come to rest just before this one began to wait.
                () = sleep(patience) => continue,
            }
        };
        let Some(session) = resting.awake() else { continue };
        let (reply, sleeps) = oneshot::channel();
        if session.cast(SessionMsg::Sleep { reply }).is_ok() {
            // Asleep, gone or busy again: the book knows whether there is a place now.
            drop(timeout_at(until, sleeps).await);
        }
    }
}

/// A session that does not wake, until its cause is taken away. Whoever waits at the door hears of it, even where a
/// panic of the store's ends the attempt.
struct Asleep {
    door: Arc<Door>,
    cause: Option<OpenError>,
}

impl Drop for Asleep {
    fn drop(&mut self) {
        let Some(cause) = self.cause.take() else { return };
        for msg in self.door.did_not_wake() {
            refuse(msg, &cause);
        }
    }
}

async fn start(door: &Arc<Door>, wiring: &Arc<Wiring>, place: Place) -> Result<(), OpenError> {
    let session = door.session();
    let awake = admit(door, wiring, place).await?;
    // What an actor before this one began is still on its way to the store, with numbers of its own.
    door.settled().await;
    failpoint("opening.loads").await.map_err(unreadable)?;
    let mut stored = load(session, wiring).await?;
    let mut seen_to = SeenTo::default();
    // A runtime that shuts down leaves an open turn to the next.
    if let Some(open) = stored.open_turn.take()
        && !wiring.closing.is_cancelled()
    {
        seen_to = see_to(open, &stored, door, wiring).await.map_err(OpenError::Store)?;
        failpoint("opening.seen_to").await.map_err(unreadable)?;
        stored = load(session, wiring).await?;
    }
    let last_seq = stored.row.last_seq;
    let messages = match wiring.history {
        History::Stored => stored.messages,
        History::InMemory => Vec::new(),
    };
    let SeenTo { mut resumption, mut ended, news } = seen_to;
    let calls = resumption.iter().flat_map(|resumption| &resumption.calls);
    let awaited: BTreeSet<_> = calls.map(|row| row.seq).collect();
    // What stands behind a call that goes on is told after that; what stands behind one that has ended only now was not
    // told before it.
    let shown = awaited.first().map_or(last_seq, |first| first - 1);
    let first = news.into_iter().min().filter(|first| *first <= shown);
    let told = EventPlace::of_entry(first.map_or(shown, |first| first - 1));
    let told = if resumption.is_none() && ended.is_none() { told.end() } else { told };
    let is_news = |message: &&ChatMessage| message.seq > told.entry() && message.seq <= shown;
    let news = messages.iter().filter(is_news).cloned().collect();
    match (&mut resumption, &mut ended) {
        (Some(resumption), _) => resumption.news = news,
        (None, Some(over)) => over.news = news,
        (None, None) => {}
    }
    let untold = match (&resumption, &ended, door.given_up()) {
        (None, None, Some(Lost { is_told: false, .. })) => {
            let untold = door.untold(wiring.store.store(), &wiring.around.limits, told).await;
            untold.map_err(OpenError::Store)?
        }
        _ => Vec::new(),
    };
    let waking = Waking {
        door: door.clone(),
        wiring: wiring.clone(),
        messages,
        last_seq,
        awaited,
        ended,
        told,
        untold,
    };
    let (actor, _) =
        SessionActor::spawn_linked(None, SessionActor, waking, wiring.supervisor.clone())
            .await
            .map_err(|cause| {
                debug!(%session, %cause, "failed to start a session's actor");
                OpenError::Closed
            })?;
    door.owes_nothing();
    door.woke(actor, awake, resumption.map(SessionMsg::Resume));
    Ok(())
}

async fn load(session: &SessionId, wiring: &Wiring) -> Result<StoredSession, OpenError> {
    let stored = wiring.store.store().session(session).await;
    stored.map_err(OpenError::Store)?.ok_or(OpenError::Unknown)
}

fn unreadable(failed: Failed) -> OpenError {
    OpenError::Store(failed.into())
}

/// What became of the turn that was left open.
#[derive(Debug, Default)]
struct SeenTo {
    /// It goes on.
    resumption: Option<Box<Resumption>>,
    /// It is over.
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
    let (session, around, gone) = (door.session(), &wiring.around, door.given_up());
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
        given_up: gone.map(|gone| gone.turn),
        max_resumes: around.limits.max_resumes,
    });
    // Before anything is written: while it waits, nothing of it has happened.
    let place = match plan.turn {
        Fate::Ends(_) => None,
        Fate::GoesOn { .. } => {
            tokio::select! {
                place = around.admission.wait(Bound::RunningTurns, door.user()) => Some(place),
                // It is left to the next start.
                () = wiring.closing.cancelled() => return Ok(SeenTo::default()),
            }
        }
    };
    let (at, locale) = (around.clock.now(), open.options.locale);
    let (lost, rest): (Vec<_>, Vec<_>) =
        calls.into_iter().partition(|row| plan.lost.contains(&row.call));
    let ends: Vec<_> = lost.iter().map(|row| (row, end_of_lost(around, row, locale))).collect();
    let is_unknown = ends.iter().any(|(_, end)| end.effect == Effect::Unknown);
    let mut news: Vec<_> = lost.iter().map(|row| row.seq).collect();
    let mut behind = stored.row.last_seq;
    let mut writes = Vec::new();
    if matches!(plan.turn, Fate::GoesOn { .. }) {
        let (session, turn, step) = (session.clone(), open.turn, TurnStep::Resumed);
        writes.push(Write::Turn { session, turn, at, step });
    }
    writes.extend(ends.into_iter().map(|(row, end)| end_write(row, at, end)));
    if is_unknown && wiring.history == History::Stored {
        behind += 1;
        news.push(behind);
        let content = Content::Notice { notice: Notice::EffectUnknown };
        let message = ChatMessage { seq: behind, turn: open.turn, at, content };
        writes.push(Write::Message { session: session.clone(), message });
    }
    match (plan.turn, place) {
        (Fate::Ends(reason), _) => {
            let end = TurnEnd {
                turn: open.turn,
                ending: TurnEnding::Failed,
                error: Some(error_of(reason)),
                usage: open.usage,
            };
            writes.push(end.write(session, at, behind));
            wiring.store.write(writes).await?;
            info!(%session, turn = %open.turn, ?reason, "ended a turn that was left open");
            let is_told = reason == Reason::ActorLost && gone.is_some_and(|gone| gone.is_told);
            let over = Over { end, locale, is_told, news: Vec::new() };
            Ok(SeenTo { resumption: None, ended: Some(over), news })
        }
        (Fate::GoesOn { .. }, None) => Ok(SeenTo::default()),
        (Fate::GoesOn { again, stops_loop }, Some(place)) => {
            wiring.store.write(writes).await?;
            info!(%session, turn = %open.turn, calls = again.len(), "a turn that was left open goes on");
            let of = |call| rest.iter().find(|row| row.call == call).cloned();
            let calls: Vec<LedgerRow> = again.into_iter().filter_map(of).collect();
            let resumption = Resumption { open, calls, stops_loop, place, news: Vec::new() };
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
        Reason::ActorLost => TurnError::model(ModelError::ENGINE_DIED),
        Reason::TooOften | Reason::NoChat => TurnError::CutOff,
    }
}

fn refuse(msg: SessionMsg, cause: &OpenError) {
    let unstored = || match cause {
        OpenError::Store(cause) => cause.clone(),
        OpenError::Unknown | OpenError::Closed | OpenError::Overloaded(_) => {
            StoreError::refused(cause.to_string())
        }
    };
    match (msg, cause) {
        (SessionMsg::Ask { began, .. }, OpenError::Overloaded(refusal)) => {
            answer(began, Err(TurnRefused::Overloaded(*refusal)));
        }
        (SessionMsg::Clear { reply }, OpenError::Overloaded(refusal)) => {
            answer(reply, Err(ClearError::Overloaded(*refusal)));
        }
        // It sleeps, and what must go on is awaited: no turn runs.
        (SessionMsg::Dismiss { reply }, OpenError::Overloaded(_)) => {
            answer(reply, Err(DismissError::NoTurn));
        }
        (SessionMsg::State { reply }, OpenError::Overloaded(refusal)) => {
            answer(reply, Err(*refusal));
        }
        (SessionMsg::Running { reply, .. }, OpenError::Overloaded(refusal)) => {
            answer(reply, Err(*refusal));
        }
        (SessionMsg::Ask { began, .. }, _) => answer(began, Err(TurnRefused::Store(unstored()))),
        (SessionMsg::Clear { reply }, _) => answer(reply, Err(ClearError::Store(unstored()))),
        // Dropping these tells the asker that the session is closed.
        (
            SessionMsg::Dismiss { .. }
            | SessionMsg::State { .. }
            | SessionMsg::Running { .. }
            | SessionMsg::Close { .. }
            | SessionMsg::Resume(_)
            | SessionMsg::Submitted { .. }
            | SessionMsg::Stored { .. }
            | SessionMsg::Llm(_)
            | SessionMsg::Dispatcher(_)
            | SessionMsg::Settled(_)
            | SessionMsg::Idle
            | SessionMsg::Sleep { .. },
            _,
        ) => {}
    }
}
