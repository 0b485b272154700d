//! The state of an awake session, and what it leaves however it ends.

use std::{collections::BTreeMap, sync::Arc};

use ractor::ActorRef;
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::warn;

use super::{
    context::RuntimeContext,
    error::Error,
    events::feed::{Durability, PublishedSoFar},
    lifecycle::lost::LostSession,
    lifecycle::registry_state::IdleEntry,
    lifecycle::slot::{SessionSlot, SlotGuard},
    lifecycle::turn_memory::ends,
    msg::{Resumption, SessionMsg},
    request::{RunningTurn, SessionView},
    transcript::Chat,
    turn::machine::Turn,
    view::ViewPage,
};
use crate::{
    admission::Permit,
    dispatcher::{CancelCause, Cancellation, DispatchRequest},
    mailbox::Alarm,
    port::{OpenTurn, StoreError},
    protocol::{
        ApprovalRequest, CallId, CompletionId, Content, Digest, EventKind, LanguageTag, Locale,
        ModelName, ResolvedCall, SessionEvent, Text, TurnId, TurnOptions,
    },
    telemetry::TurnSpan,
};

/// The state with which a session wakes.
#[derive(Debug)]
pub struct WakeSnapshot {
    pub(super) slot: Arc<SessionSlot>,
    pub(super) context: Arc<RuntimeContext>,
    pub(super) chat: Chat,
    /// The stored events after the last one published.
    pub(super) unpublished: Vec<SessionEvent>,
    /// The turn that is open in the store.
    pub(super) open_turn: Option<OpenTurn>,
    /// How that turn goes on. `None` if it is left to a later start.
    pub(super) resumption: Option<Box<Resumption>>,
}

/// The state of a [`SessionActor`](super::SessionActor).
#[derive(Debug)]
pub struct SessionState {
    pub(super) me: ActorRef<SessionMsg>,
    pub(super) slot: SlotGuard,
    pub(super) context: Arc<RuntimeContext>,
    pub(super) chat: Chat,
    pub(super) turn: Option<ActiveTurn>,
    /// The turn that is open in the store and left to a later start.
    pub(super) left_turn: Option<TurnId>,
    /// The submits whose key the store is asked for.
    pub(super) lookups: usize,
    /// The turns that began since it woke: the store's answer about a key may be older than the
    /// last of them.
    pub(super) turns_begun: u64,
    /// Whether a clearing or an import is on its way to the store. Until it is done, neither a turn
    /// nor another of them begins.
    pub(super) has_exclusive_write: bool,
    pub(super) closing: Option<oneshot::Sender<()>>,
    /// Cancelled with the runtime's own token, at whose lock all sessions would meet several times
    /// a turn.
    pub(super) runtime_closes: CancellationToken,
    pub(super) error: Option<String>,
    pub(super) active_at: Instant,
    /// The alarm after which it sleeps, if it is idle by then. `None` if it rang while work went
    /// on.
    pub(super) idle: Option<Alarm>,
    /// Its entry among the idle sessions; `None` while work goes on.
    pub(super) idle_entry: Option<IdleEntry<SessionSlot>>,
}

/// The running turn.
#[derive(Debug)]
pub(super) struct ActiveTurn {
    pub(super) id: TurnId,
    pub(super) core: Turn,
    pub(super) span: TurnSpan,
    pub(super) options: TurnOptions,
    /// The index of the model that each of its completions is asked of first.
    pub(super) first_model: usize,
    /// The index of the model that is asked now, or was last. It changes if a model was overloaded
    /// or unreachable.
    pub(super) model: usize,
    /// The hash of what the user typed.
    pub(super) text: Digest,
    /// Cancels its calls.
    pub(super) cancellation: Cancellation,
    /// Its permit among the running turns; `None` while it waits for room after a crash.
    pub(super) permit: Option<Permit>,
    /// Its wait for room, which ends with the turn.
    pub(super) waits_for_room: Option<WaitForRoom>,
    /// The permit for the bytes of the user's message, until it is stored.
    pub(super) bytes: Option<Permit>,
    /// The callers that wait until the user's message is stored. `None` after they are answered.
    pub(super) began: Option<Vec<oneshot::Sender<Result<TurnId, Error>>>>,
    /// The calls of the round that are not dispatched yet.
    pub(super) proposed: Vec<Option<Arc<DispatchRequest>>>,
    /// The callers that dismissed it, until that is on its way to the store.
    pub(super) dismissed: Vec<oneshot::Sender<Result<(), StoreError>>>,
    pub(super) completion: Option<AskedCompletion>,
    pub(super) calls: BTreeMap<CallId, ActiveCall>,
    pub(super) approval_requests: Vec<ApprovalRequest>,
    /// The calls of a round that is on its way to the store. They are dispatched after it is there.
    pub(super) unrecorded: Option<Vec<usize>>,
}

/// A turn's wait for room. Dropped with the turn, it ends.
#[derive(Debug)]
pub(super) struct WaitForRoom {
    pub(super) _turn_is_there: DropGuard,
}

/// The completion that a turn waits for.
#[derive(Debug)]
pub(super) struct AskedCompletion {
    pub(super) id: CompletionId,
    pub(super) cancel: CancellationToken,
    /// The moment at which the first model was asked for it.
    pub(super) since: Instant,
}

#[derive(Debug)]
pub(super) struct ActiveCall {
    pub(super) index: usize,
    pub(super) request: Arc<DispatchRequest>,
    /// Whether its end is known, and waits for the entries before it to be published.
    pub(super) has_ended: bool,
}

impl ActiveTurn {
    /// Makes a turn of which nothing runs yet.
    pub(super) fn new(
        (id, core, span): (TurnId, Turn, TurnSpan),
        (options, text): (TurnOptions, Digest),
        model: usize,
        cancellation: Cancellation,
        permit: Option<Permit>,
    ) -> Self {
        Self {
            id,
            core,
            span,
            options,
            first_model: model,
            model,
            text,
            cancellation,
            permit,
            waits_for_room: None,
            bytes: None,
            began: None,
            proposed: Vec::new(),
            dismissed: Vec::new(),
            completion: None,
            calls: BTreeMap::new(),
            approval_requests: Vec::new(),
            unrecorded: None,
        }
    }

    pub(super) fn cancel_completion(&mut self) {
        if let Some(asked) = self.completion.take() {
            asked.cancel.cancel();
        }
    }

    /// Returns whether no part of it runs, so that it can be left as it is.
    pub(super) fn is_quiet(&self) -> bool {
        self.began.is_none() && self.calls.values().all(|call| call.has_ended)
    }

    /// Leaves the work that it began. The model stops, running handlers end, and calls that have
    /// not begun stay as they are in the ledger.
    fn leave(&mut self) {
        self.cancel_completion();
        self.cancellation.cancel(CancelCause::Suspended);
    }

    /// Returns the approval request that waits for the user.
    pub(super) fn approval_request(&self) -> Option<&ApprovalRequest> {
        self.approval_requests.first()
    }

    /// Cancels its calls, because its user leaves.
    pub(super) fn dismiss(&mut self) {
        self.cancellation.cancel(CancelCause::Dismissed(self.options.on_dismiss));
    }
}

impl SessionState {
    /// Returns the session as a screen shows it, with all that its feed has published so far, and
    /// nothing else.
    pub(super) fn view(&mut self, page: ViewPage) -> SessionView {
        let PublishedSoFar { cursor, text, resolved } = self.slot.feed().published_so_far();
        self.resolved(&resolved);
        let is_streaming = self.turn.as_ref().is_some_and(|turn| turn.core.is_streaming());
        let (messages, earlier) = page.entries(self.chat.messages());
        SessionView {
            messages: messages.to_vec(),
            earlier,
            cursor,
            turn: self.turn.as_ref().filter(|turn| turn.began.is_none()).map(|turn| turn.id),
            is_streaming,
            streaming_text: is_streaming.then_some(text),
            error: self.error.clone(),
            approval_request: self.turn.as_ref().and_then(ActiveTurn::approval_request).cloned(),
        }
    }

    /// Takes resolutions that readers have received into the chat.
    pub(super) fn resolved(&mut self, resolved: &[ResolvedCall]) {
        resolved.iter().for_each(|resolved| self.chat.resolve(resolved));
    }

    /// Returns how far a turn is that runs, or that waits for a start with a model. `None` for any
    /// other.
    pub(super) fn running(&self, id: TurnId) -> Option<RunningTurn> {
        let turn = self.turn.as_ref().filter(|turn| turn.id == id);
        let waits = self.left_turn == Some(id) && self.context.models.is_empty();
        (turn.is_some() || waits).then(|| RunningTurn {
            last: self.slot.feed().published_up_to().unwrap_or_default(),
            approval_request: turn.and_then(ActiveTurn::approval_request).cloned(),
        })
    }

    /// Returns the index of the model that a turn chose. It is the first if the turn chose none, or
    /// one that no longer exists.
    pub(super) fn model_of(&self, options: &TurnOptions) -> usize {
        let Some(name) = &options.model else { return 0 };
        self.context.models.find(name).unwrap_or_else(|| {
            let session = self.slot.session();
            warn!(%session, model = %name, "the model of a turn is here no more: the first is asked");
            0
        })
    }

    /// Returns the name of the model that is asked in a turn, or was last.
    pub(super) fn model_name_of(&self, turn: &ActiveTurn) -> Option<ModelName> {
        self.context.models.queue(turn.model).name().cloned()
    }

    /// Returns the locale of a turn with this text, if its options name this language.
    pub(super) fn locale_for(&self, named: Option<LanguageTag>, text: &str) -> Locale {
        let earlier =
            self.chat.messages().iter().rev().filter_map(|message| match &message.content {
                Content::User { text, .. } => Some(&**text),
                Content::Model { .. }
                | Content::ToolCall(_)
                | Content::Notice { .. }
                | Content::Cleared => None,
            });
        self.context.calls.languages.choose(named, [text].into_iter().chain(earlier))
    }

    /// Returns the locale of a turn.
    pub(super) fn locale_of(&self, turn: &ActiveTurn) -> Locale {
        self.context.calls.languages.locale(turn.options.language)
    }

    /// Begins where the store has the session: publishes what was not published yet, and goes on
    /// with the open turn.
    pub(super) fn begins(
        &mut self,
        unpublished: Vec<SessionEvent>,
        open_turn: Option<OpenTurn>,
        resumption: Option<Box<Resumption>>,
    ) {
        let ended: Vec<_> = ends(&unpublished).collect();
        self.error = unpublished.iter().rev().find_map(|event| match &event.kind {
            EventKind::Error { text, .. } => Some(text.clone()),
            _ => None,
        });
        let open = open_turn.as_ref().map(|open| open.turn);
        self.left_turn = open.filter(|_| resumption.is_none());
        match resumption {
            Some(resumption) => self.resume(*resumption, unpublished),
            None => {
                unpublished.into_iter().for_each(|event| self.slot.feed().republish(event));
                if let Some(open) = open_turn.filter(|_| self.context.models.is_empty()) {
                    self.publish_waits_for_model(&open);
                }
            }
        }
        // After the subscribers.
        ended.iter().for_each(|end| self.slot.turn().ended(end));
        if self.is_closing() {
            self.slot.turn().leave_callers();
        } else {
            self.slot.turn().keep_only(open);
        }
    }

    fn publish_waits_for_model(&self, open: &OpenTurn) {
        let calls = &self.context.calls;
        let text = Text::WaitsForModel.in_locale(calls.languages.locale(open.options.language));
        let at = calls.clock.now();
        let kind = EventKind::TurnInterrupted { text };
        self.slot.feed().publish(open.turn, at, Durability::Transient, kind);
    }
}

impl Drop for SessionState {
    /// Runs when the actor was killed, has panicked, sleeps or ends in order. The next actor goes
    /// on with its turn, or the next start if the runtime ends.
    fn drop(&mut self) {
        let turn = self.turn.take();
        if self.context.closing.is_cancelled() {
            if let Some(mut turn) = turn {
                turn.cancel_completion();
            }
            return self.slot.turn().leave_callers();
        }
        let Some(mut turn) = turn else { return };
        if let Some(asked) = &turn.completion {
            self.slot.feed().silence_of(asked.id);
        }
        let locale = self.locale_of(&turn);
        let turn_told = turn.began.is_none().then_some((turn.id, locale));
        turn.leave();
        let slot = self.slot.clone();
        self.context.lost.report(LostSession { slot, turn: turn_told });
    }
}
