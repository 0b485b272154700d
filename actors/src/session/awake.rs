//! What a session holds while it is awake, and what it leaves behind however it ends.

use std::{collections::HashMap, sync::Arc};

use ractor::ActorId;
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    chat::Chat,
    door::Door,
    msg::{TurnEnd, TurnOptions, TurnRefused},
    turn::Turn,
    wiring::Wiring,
};
use crate::{
    dispatcher::{Dismissal, DispatchRequest},
    port::ModelError,
    protocol::{CallId, ChatMessage, CompletionId, Question, TurnEnding, TurnError, TurnId},
};

/// What a session wakes with.
#[derive(Debug)]
pub struct Waking {
    pub(super) door: Arc<Door>,
    pub(super) wiring: Arc<Wiring>,
    pub(super) messages: Vec<ChatMessage>,
    pub(super) last_seq: u64,
}

/// The state of a [`SessionActor`](super::SessionActor).
#[derive(Debug)]
pub struct Awake {
    pub(super) place: AtDoor,
    pub(super) wiring: Arc<Wiring>,
    pub(super) chat: Chat,
    /// Messages through the door that were handled.
    pub(super) handled: u64,
    pub(super) turn: Option<Running>,
    pub(super) is_clearing: bool,
    pub(super) closing: Option<oneshot::Sender<()>>,
    pub(super) error: Option<String>,
    pub(super) active_at: Instant,
}

/// The turn that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) id: TurnId,
    pub(super) core: Turn,
    pub(super) options: TurnOptions,
    pub(super) dismissal: Dismissal,
    pub(super) began: Option<oneshot::Sender<Result<TurnId, TurnRefused>>>,
    pub(super) ended: oneshot::Sender<TurnEnd>,
    pub(super) completion: Option<(CompletionId, CancellationToken)>,
    pub(super) calls: HashMap<CallId, RunningCall>,
    pub(super) questions: Vec<Question>,
}

#[derive(Debug)]
pub(super) struct RunningCall {
    pub(super) index: usize,
    pub(super) request: DispatchRequest,
    /// Its end is known, and waits for the entries before it to be shown.
    pub(super) has_ended: bool,
}

impl Running {
    pub(super) fn cancel_completion(&mut self) {
        if let Some((_, cancel)) = self.completion.take() {
            cancel.cancel();
        }
    }

    /// Nobody is there any more for what it began: the model stops, open questions end, the results of handlers that
    /// run are discarded.
    pub(super) fn abandon(&mut self) {
        self.cancel_completion();
        self.dismissal.token.cancel();
    }
}

impl Drop for Awake {
    /// Killed or panicked in mid-turn: whoever subscribed hears that the turn is over, as the store will when the
    /// session wakes. An end that is on its way there already is not contradicted.
    fn drop(&mut self) {
        let Some(mut turn) = self.turn.take() else { return };
        turn.abandon();
        if turn.began.is_none() && !turn.core.is_over() {
            self.place.door.feed().silence();
            let error = Some(TurnError::Model { kind: ModelError::ENGINE_DIED.to_owned() });
            let (ending, usage) = (TurnEnding::Failed, Default::default());
            self.tell_end(&TurnEnd { turn: turn.id, ending, error, usage }, turn.options.locale);
        }
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
