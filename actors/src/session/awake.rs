//! What a session holds while it is awake, and what it leaves behind however it ends.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ractor::ActorId;
use tokio::{runtime::Handle, sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    chat::Chat,
    door::Door,
    feed::Told,
    house::Rest,
    lost::Lost,
    msg::{TurnEnd, TurnRefused},
    opening::{Place, open},
    turn::Turn,
    wiring::Wiring,
};
use crate::{
    admission::Permit,
    dispatcher::{Dismissal, DispatchRequest},
    mailbox::Alarm,
    port::{LedgerRow, ModelError, OpenTurn, Write},
    protocol::{
        CallId, ChatMessage, CompletionId, Digest, EventPlace, Locale, Question, SessionEvent,
        TurnEnding, TurnError, TurnId, TurnOptions,
    },
    telemetry::TurnSpan,
};

/// What a session wakes with.
#[derive(Debug)]
pub struct Waking {
    pub(super) door: Arc<Door>,
    pub(super) wiring: Arc<Wiring>,
    pub(super) messages: Vec<ChatMessage>,
    pub(super) last_seq: u64,
    /// The places of the calls that go on.
    pub(super) awaited: BTreeSet<u64>,
    /// The turn that was left open and is over now.
    pub(super) ended: Option<Over>,
    /// How far the story is told.
    pub(super) told: EventPlace,
    /// What was stored as the actor before this one was lost, and told to nobody.
    pub(super) untold: Vec<SessionEvent>,
}

/// A turn that was left open and is not gone on with.
#[derive(Debug)]
pub struct Over {
    pub(super) end: TurnEnd,
    pub(super) locale: Locale,
    /// Subscribers were told its end when its actor died.
    pub(super) is_told: bool,
    /// What became of its calls, and what stands behind them.
    pub(super) news: Vec<ChatMessage>,
}

/// A turn that was left open and goes on.
#[derive(Debug)]
pub struct Resumption {
    pub(super) open: OpenTurn,
    /// The calls of its last round that are dispatched again, in order.
    pub(super) calls: Vec<LedgerRow>,
    pub(super) stops_loop: bool,
    /// Its place among the turns that run.
    pub(super) place: Permit,
    /// What became of the calls that nobody brings to their end, and what stands behind them.
    pub(super) news: Vec<ChatMessage>,
}

/// The state of a [`SessionActor`](super::SessionActor).
#[derive(Debug)]
pub struct Awake {
    pub(super) place: AtDoor,
    pub(super) wiring: Arc<Wiring>,
    pub(super) chat: Chat,
    pub(super) turn: Option<Running>,
    /// The end of a turn of a chat in memory that could not be stored when it ended: the next turn needs it.
    pub(super) unended: Option<Write>,
    /// Submits whose key the store is asked for.
    pub(super) lookups: usize,
    /// Turns that began since it woke: what the store said of a key before the last of them may be old.
    pub(super) turns_begun: u64,
    pub(super) is_clearing: bool,
    pub(super) closing: Option<oneshot::Sender<()>>,
    /// Cancelled with the runtime's own, at whose lock all sessions would meet several times a turn.
    pub(super) runtime_closes: CancellationToken,
    pub(super) error: Option<String>,
    pub(super) active_at: Instant,
    /// When it looks next whether it may sleep.
    pub(super) idle: Alarm,
    /// It may be put to sleep for others; `None` while anything is going on.
    pub(super) rest: Option<Rest>,
}

/// The turn that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) id: TurnId,
    pub(super) core: Turn,
    pub(super) span: TurnSpan,
    pub(super) options: TurnOptions,
    /// The hash of what the user typed.
    pub(super) text: Digest,
    pub(super) dismissal: Dismissal,
    /// What handlers are told: nobody waits for them any more, or the runtime ends.
    pub(super) cancelled: CancellationToken,
    /// Its place among the turns that run.
    pub(super) _place: Permit,
    /// The bytes of the user's message, until it is stored.
    pub(super) bytes: Option<Permit>,
    /// Who hears that the user's message is stored; `None` once it is.
    pub(super) began: Option<Vec<oneshot::Sender<Result<TurnId, TurnRefused>>>>,
    pub(super) ended: Vec<oneshot::Sender<TurnEnd>>,
    /// The calls of the round that were not dispatched yet.
    pub(super) proposed: Vec<Option<Arc<DispatchRequest>>>,
    pub(super) completion: Option<(CompletionId, CancellationToken)>,
    pub(super) calls: BTreeMap<CallId, RunningCall>,
    pub(super) questions: Vec<Question>,
}

#[derive(Debug)]
pub(super) struct RunningCall {
    pub(super) index: usize,
    pub(super) request: Arc<DispatchRequest>,
    /// Its end is known, and waits for the entries before it to be shown.
    pub(super) has_ended: bool,
}

impl Running {
    pub(super) fn cancel_completion(&mut self) {
        if let Some((_, cancel)) = self.completion.take() {
            cancel.cancel();
        }
    }

    /// Nothing of it runs: it can be left as it is.
    pub(super) fn is_quiet(&self) -> bool {
        self.began.is_none() && self.calls.values().all(|call| call.has_ended)
    }

    /// Nobody is there any more for what it began: the model stops, open questions end, the results of handlers that
    /// run are discarded.
    pub(super) fn abandon(&mut self) {
        self.cancel_completion();
        self.dismiss();
    }

    /// Nobody waits for its calls any more.
    pub(super) fn dismiss(&self) {
        self.dismissal.token.cancel();
        self.cancelled.cancel();
    }
}

impl Drop for Awake {
    /// Killed or panicked in mid-turn: whoever subscribed hears that the turn is over, and the session wakes at once to
    /// tell the store. An end that is on its way there already is not contradicted. What was left open in order is left.
    fn drop(&mut self) {
        let Some(mut turn) = self.turn.take().filter(|turn| !turn.core.is_suspended()) else {
            return;
        };
        let (door, wiring) = (self.place.door.clone(), self.wiring.clone());
        let is_told = turn.began.is_none() && !turn.core.is_over();
        door.gives_up(Lost { turn: turn.id, is_told });
        if is_told {
            door.feed().silence();
            let error = Some(TurnError::model(ModelError::ENGINE_DIED));
            let (ending, usage) = (TurnEnding::Failed, Default::default());
            let end = TurnEnd { turn: turn.id, ending, error, usage };
            self.tell_end(&end, Told::Progress, turn.options.locale);
            turn.span.ended(end.ending, end.error.as_ref(), end.usage);
        }
        door.died(self.place.actor);
        // In a task, which does not run where the threads themselves end: nobody was dismissed then, and the next start
        // goes on with the turn.
        if Handle::try_current().is_ok() {
            let tasks = wiring.tasks.clone();
            drop(tasks.spawn(async move {
                turn.abandon();
                wake_again(&door, &wiring);
            }));
        }
    }
}

/// Wakes a session whose turn was given up, so that the store has its end before anybody asks.
pub(super) fn wake_again(door: &Arc<Door>, wiring: &Arc<Wiring>) {
    if wiring.closing.is_cancelled() {
        door.owes_nothing(); // the next start goes on with it
    } else if door.wake() {
        drop(wiring.tasks.spawn(open(door.clone(), wiring.clone(), Place::Awaited)));
    }
}

/// Tells the door when the actor is gone, however it went.
#[derive(Debug)]
pub(super) struct AtDoor {
    pub(super) door: Arc<Door>,
    pub(super) actor: ActorId,
}

impl Drop for AtDoor {
    fn drop(&mut self) {
        self.door.died(self.actor);
    }
}
