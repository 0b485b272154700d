//! The state of an awake session, and what it leaves however it ends.

use std::sync::Arc;

use tokio::{sync::oneshot, time::Instant};

use super::{
    context::RuntimeContext,
    events::feed::PublishedSoFar,
    lifecycle::registry_state::IdleEntry,
    lifecycle::slot::SessionSlot,
    lifecycle::turn_memory::ends,
    msg::Resumption,
    outbox::Outbox,
    request::{RunningTurn, SessionView},
    transcript::Chat,
    turn::active::ActiveTurn,
    view::ViewPage,
};
use crate::{
    mailbox::Alarm,
    port::OpenTurn,
    protocol::{Content, EventKind, LanguageTag, Locale, ResolvedCall, SessionEvent, Text, TurnId},
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
    pub(super) outbox: Outbox,
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
    pub(super) error: Option<String>,
    pub(super) active_at: Instant,
    /// The alarm after which it sleeps, if it is idle by then. `None` if it rang while work went
    /// on.
    pub(super) idle: Option<Alarm>,
    /// Its entry among the idle sessions; `None` while work goes on.
    pub(super) idle_entry: Option<IdleEntry<SessionSlot>>,
}

impl SessionState {
    /// Returns the session as a screen shows it, with all that its feed has published so far, and
    /// nothing else.
    pub(super) fn view(&mut self, page: ViewPage) -> SessionView {
        let PublishedSoFar { cursor, text, resolved } = self.outbox.feed().published_so_far();
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

    /// Returns the open turn that waits for a start with a model, because this runtime has none.
    pub(super) fn waits_for_model(&self) -> Option<TurnId> {
        self.left_turn.filter(|_| self.outbox.models().is_empty())
    }

    /// Returns how far a turn is that runs, or that waits for a start with a model. `None` for any
    /// other.
    pub(super) fn running(&self, id: TurnId) -> Option<RunningTurn> {
        let turn = self.turn.as_ref().filter(|turn| turn.id == id);
        let waits = self.waits_for_model() == Some(id);
        (turn.is_some() || waits).then(|| RunningTurn {
            last: self.outbox.feed().published_up_to().unwrap_or_default(),
            approval_request: turn.and_then(ActiveTurn::approval_request).cloned(),
        })
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
        self.outbox.languages().choose(named, [text].into_iter().chain(earlier))
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
                unpublished.into_iter().for_each(|event| self.outbox.feed().republish(event));
                if let Some(open) = open_turn.filter(|_| self.outbox.models().is_empty()) {
                    self.publish_waits_for_model(&open);
                }
            }
        }
        // After the subscribers.
        ended.iter().for_each(|end| self.outbox.turn_memory().ended(end));
        if self.is_closing() {
            self.outbox.turn_memory().leave_callers();
        } else {
            self.outbox.turn_memory().keep_only(open);
        }
    }

    fn publish_waits_for_model(&self, open: &OpenTurn) {
        let text = Text::WaitsForModel.in_locale(self.outbox.locale_of(&open.options));
        self.outbox.publish(open.turn, EventKind::TurnInterrupted { text });
    }
}

impl Drop for SessionState {
    /// Runs when the actor was killed, has panicked, sleeps or ends in order. The next actor goes
    /// on with its turn, or the next start if the runtime ends.
    fn drop(&mut self) {
        let turn = self.turn.take();
        if self.outbox.runtime_closes() {
            if let Some(mut turn) = turn {
                turn.cancel_completion();
            }
            return self.outbox.turn_memory().leave_callers();
        }
        let Some(mut turn) = turn else { return };
        if let Some(asked) = &turn.completion {
            self.outbox.feed().silence_of(asked.id);
        }
        let locale = self.outbox.locale_of(&turn.options);
        let known = turn.began.is_none().then_some((turn.id, locale));
        turn.leave();
        self.outbox.report_lost(known);
    }
}
