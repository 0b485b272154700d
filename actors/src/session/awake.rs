//! What a session holds while it is awake, and what it leaves behind however it ends.

use std::{collections::BTreeMap, sync::Arc};

use ractor::ActorId;
use tokio::{runtime::Handle, sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    chat::Chat,
    door::Door,
    house::Rest,
    legacy::{AbandonedTurn, Legacy},
    msg::{TurnEnd, TurnRefused},
    opening::{Place, open},
    state_cell::StateCell,
    turn::Turn,
    wiring::{History, Wiring},
};
use crate::{
    admission::Permit,
    dispatcher::{Dismissal, DispatchRequest},
    mailbox::Alarm,
    port::{LedgerRow, ModelError, OpenTurn},
    protocol::{
        CallId, CompletionId, Digest, EventPlace, Locale, Question, SessionEvent, Timestamp,
        TurnEnding, TurnError, TurnId, TurnOptions,
    },
    telemetry::TurnSpan,
};

/// What a session wakes with.
#[derive(Debug)]
pub struct Waking {
    pub(super) state: StateCell,
    pub(super) door: Arc<Door>,
    pub(super) wiring: Arc<Wiring>,
    pub(super) chat: Chat,
    pub(super) error: Option<String>,
    /// Where the story begins for those who have heard nothing of it.
    pub(super) begins: EventPlace,
    /// What is stored behind what was told.
    pub(super) untold: Vec<SessionEvent>,
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
    /// What is stored behind what was told: what became of the calls that nobody brings to their end, and what stands
    /// behind them.
    pub(super) news: Vec<SessionEvent>,
}

/// The state of a [`SessionActor`](super::SessionActor).
#[derive(Debug)]
pub struct Awake {
    pub(super) place: AtDoor,
    pub(super) wiring: Arc<Wiring>,
    pub(super) chat: Chat,
    pub(super) turn: Option<Running>,
    /// It has left its turn and its chat to its door, and stops.
    pub(super) has_left: bool,
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
    /// What the handlers are told that begin before the next dismissal: nobody waits for them any more, or the runtime
    /// ends.
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
    /// Its end was given to the store, which has it or will have it as far as is known.
    pub(super) is_ending: bool,
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
    /// run are discarded, and what has not begun does not begin.
    pub(super) fn abandon(&mut self) {
        self.cancel_completion();
        self.dismissal.give_up();
        self.cancelled.cancel();
    }

    /// Nobody waits any more for the calls that run. Those that begin from here on are told otherwise.
    pub(super) fn dismiss(&mut self, from_here: CancellationToken) {
        self.dismissal.dismiss(self.options.on_dismiss);
        std::mem::replace(&mut self.cancelled, from_here).cancel();
    }
}

impl Awake {
    /// How its turn ends that it does not go on with.
    pub(super) fn failed(&self, turn: &Running, error: TurnError) -> TurnEnd {
        let (turn, usage) = (turn.id, turn.core.usage());
        TurnEnd { turn, ending: TurnEnding::Failed, error: Some(error), usage }
    }

    /// Leaves what the next actor takes over. Nothing that this one does counts any more.
    pub(super) fn leave(&mut self, turn: Option<AbandonedTurn>) {
        self.has_left = true;
        let chat = match self.wiring.history {
            History::Stored => None,
            History::InMemory => Some(self.chat.leave()),
        };
        if turn.is_some() || chat.is_some() {
            self.place.door.inherits(Legacy { turn, chat, error: self.error.clone() });
        }
    }

    /// The store may have another end than one that is told now.
    pub(super) fn is_end_on_its_way(&self, turn: &Running) -> bool {
        turn.is_ending && self.wiring.history == History::Stored
    }

    /// Tells subscribers that a turn is over before the store knows. Gives the entry behind which that stands.
    pub(super) fn tell_early(&mut self, end: &TurnEnd, at: Timestamp, locale: Locale) -> u64 {
        let behind = self.place.door.feed().told().map_or(0, EventPlace::entry);
        self.error = self.tell_end(end, at, locale);
        behind
    }

    /// The turn was cut off in the middle. Subscribers hear at once that it is over, but for one of which they have heard
    /// nothing, and one whose end is on its way to the store already: that end is told when it is there.
    fn is_cut_off(&mut self, mut turn: Running) {
        let (door, wiring) = (self.place.door.clone(), self.wiring.clone());
        let (at, locale) = (wiring.around.clock.now(), turn.options.locale);
        let end = self.failed(&turn, TurnError::model(ModelError::ENGINE_DIED));
        let is_told = turn.began.is_none() && !self.is_end_on_its_way(&turn);
        let told_behind = is_told.then(|| {
            door.feed().silence();
            turn.span.ended(end.ending, end.error.as_ref(), end.usage);
            self.tell_early(&end, at, locale)
        });
        self.leave(Some(AbandonedTurn { end, at, told_behind }));
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

impl Drop for Awake {
    /// It was killed, or has panicked, or sleeps, or ends in order; or its door has taken it from an actor that is dead.
    fn drop(&mut self) {
        if self.has_left {
            return;
        }
        let is_closing = self.wiring.closing.is_cancelled();
        match self.turn.take().filter(|turn| !turn.core.is_suspended()) {
            // The next start goes on with it.
            Some(mut turn) if is_closing && self.wiring.history == History::Stored => {
                turn.cancel_completion();
            }
            Some(turn) => self.is_cut_off(turn),
            None if is_closing => {}
            None => self.leave(None),
        }
    }
}

/// Wakes a session whose turn was given up, so that the store has its end before anybody asks.
pub(super) fn wake_again(door: &Arc<Door>, wiring: &Arc<Wiring>) {
    if door.wake() {
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
