//! The ways out of a session: to the store, the models, the dispatcher and its readers.

use std::sync::Arc;

use ractor::ActorRef;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    context::RuntimeContext,
    events::{
        feed::{Durability, Feed},
        replay::{kind_of, kinds_of_end},
    },
    lifecycle::{
        lost::LostSession,
        registry_state::IdleEntry,
        slot::{SessionSlot, SlotGuard},
        turn_memory::TurnMemory,
    },
    msg::{Outgoing, SessionMsg},
    request::{TurnEnd, TurnRequest},
    turn::{
        active::{ActiveTurn, AskedCompletion},
        lookup::Lookup,
        lost_reply::recover_call,
        write_report::WriteReport,
    },
};
use crate::{
    admission::Admission,
    dispatcher::{Cancellation, DispatchRequest, DispatcherEvent, DispatcherMsg},
    failpoint::failpoint,
    llm::{LlmEvent, Models, QueuedCompletion},
    mailbox::{Alarm, Recipient, Reply},
    port::{Deltas, ModelError, Write},
    protocol::{
        Bound, ChatMessage, CompletionRequest, EventKind, IdempotencyKey, Languages, Limits,
        Locale, ModelName, PromptMessage, SessionId, Timestamp, ToolCall, ToolSpec, TurnId,
        TurnOptions, UserId,
    },
    registry::ToolRegistry,
};

/// Sends what a session has decided. Answers come back as messages to the session's actor.
#[derive(Debug)]
pub(super) struct Outbox {
    me: ActorRef<SessionMsg>,
    slot: SlotGuard,
    context: Arc<RuntimeContext>,
    /// Cancelled with the runtime's own token, at whose lock all sessions would meet several times
    /// a turn.
    runtime_closes: CancellationToken,
}

impl Outbox {
    pub(super) fn new(
        me: ActorRef<SessionMsg>,
        slot: Arc<SessionSlot>,
        context: Arc<RuntimeContext>,
    ) -> Self {
        let slot = SlotGuard::new(slot, me.get_id());
        let runtime_closes = context.closing.child_token();
        Self { me, slot, context, runtime_closes }
    }

    pub(super) fn session(&self) -> &SessionId {
        self.slot.session()
    }

    pub(super) fn user(&self) -> &UserId {
        self.slot.user()
    }

    pub(super) fn feed(&self) -> &Arc<Feed> {
        self.slot.feed()
    }

    pub(super) fn turn_memory(&self) -> &TurnMemory {
        self.slot.turn()
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.context.calls.limits
    }

    pub(super) fn admission(&self) -> &Admission {
        &self.context.calls.admission
    }

    pub(super) fn registry(&self) -> &ToolRegistry {
        &self.context.calls.registry
    }

    pub(super) fn languages(&self) -> &Languages {
        &self.context.calls.languages
    }

    pub(super) fn models(&self) -> &Models {
        &self.context.models
    }

    pub(super) fn specs(&self) -> &[ToolSpec] {
        &self.context.specs
    }

    /// Returns the text that the model reads before every chat.
    pub(super) fn system(&self) -> Option<&str> {
        self.context.system.as_deref()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.context.calls.clock.now()
    }

    pub(super) fn runtime_closes(&self) -> bool {
        self.runtime_closes.is_cancelled()
    }

    /// Makes the cancellation of a turn that begins or goes on.
    pub(super) fn cancellation(&self) -> Cancellation {
        Cancellation::new(self.runtime_closes.clone())
    }

    /// Returns the index of the model that a turn chose. It is the first if the turn chose none, or
    /// one that no longer exists.
    pub(super) fn model_of(&self, options: &TurnOptions) -> usize {
        let Some(name) = &options.model else { return 0 };
        self.models().find(name).unwrap_or_else(|| {
            let session = self.session();
            warn!(%session, model = %name, "the model of a turn is here no more: the first is asked");
            0
        })
    }

    /// Returns the name of the model that is asked in a turn, or was last.
    pub(super) fn model_name_of(&self, turn: &ActiveTurn) -> Option<ModelName> {
        self.models().queue(turn.model).name().cloned()
    }

    /// Returns the locale of a turn with these options.
    pub(super) fn locale_of(&self, options: &TurnOptions) -> Locale {
        self.languages().locale(options.language)
    }

    // To the store.

    /// Sends parts to the store. The order of writes is the order of these calls. What became of
    /// them comes back as [`SessionMsg::Stored`].
    pub(super) fn store(&self, facts: impl IntoIterator<Item = Write>, outgoing: Outgoing) {
        let says = |message: &ChatMessage| Write::Message {
            session: self.session().clone(),
            message: message.clone(),
        };
        let writes: Vec<_> = facts.into_iter().chain(outgoing.messages.iter().map(says)).collect();
        let to = self.me.clone();
        let begun = self.slot.begins();
        let store = self.context.store.store().clone();
        let report = WriteReport::new(to, outgoing, begun, store);
        let written = self.context.store.begin_write(writes);
        // Shutdown waits for it. Boxed, because each layer of a task copies its future.
        self.context.tasks.spawn(Box::pin(report.wait(written)));
    }

    /// Asks the store for the turn of a key. The answer comes back as [`SessionMsg::LookedUp`].
    pub(super) fn look_up(&self, asked: TurnRequest, key: IdempotencyKey, turns_begun: u64) {
        let session = self.session().clone();
        let store = self.context.store.store().clone();
        let lookup = Lookup::new(self.me.clone(), asked, turns_begun);
        self.context.tasks.spawn(lookup.wait(async move {
            failpoint("idempotency.finds").await?;
            store.submitted(&session, &key).await
        }));
    }

    // To the models.

    /// Asks the turn's current model for this completion.
    pub(super) fn ask_model(
        &self,
        turn: &ActiveTurn,
        messages: Arc<Vec<PromptMessage>>,
        asked: AskedCompletion,
    ) {
        let AskedCompletion { id, cancel, since } = asked;
        let request = CompletionRequest {
            id,
            session: self.session().clone(),
            user: self.user().clone(),
            system: self.context.system.clone(),
            instructions: turn.options.instructions.clone(),
            messages,
            tools: self.context.specs.clone(),
            language: self.locale_of(&turn.options).tag(),
            max_tokens: self.limits().max_completion_tokens,
        };
        let feed = self.feed().clone();
        feed.begin(id);
        let deltas = Deltas::new(move |delta| feed.push(id, delta));
        let lost = LlmEvent::Ended {
            completion: id,
            result: Err(ModelError::failed(ModelError::ENGINE_DIED)),
            has_begun: false,
        };
        // If the model's actor is gone, the reply is lost, and reports that.
        let reply = Reply::new(Recipient::actor(self.me.clone()), lost);
        let queued = QueuedCompletion {
            request: Box::new(request),
            since,
            deltas,
            cancel,
            span: turn.span.span().clone(),
            reply,
        };
        self.models().queue(turn.model).complete(queued);
    }

    // To the dispatcher.

    /// Makes the request for a call of this turn, whose news comes back to the session.
    pub(super) fn request(
        &self,
        turn: &ActiveTurn,
        (seq, proposed_at): (u64, Timestamp),
        call: ToolCall,
    ) -> DispatchRequest {
        let TurnOptions { asks, time_zone, .. } = &turn.options;
        let locale = self.locale_of(&turn.options);
        let progress = self.feed().progress_of(turn.id, call.id);
        DispatchRequest {
            session: self.session().clone(),
            user: self.user().clone(),
            turn: turn.id,
            seq,
            call,
            locale,
            // Every admitted turn has a zone.
            time_zone: time_zone.clone().unwrap_or_else(|| "UTC".into()),
            asks: *asks,
            proposed_at,
            beyond: None,
            cancellation: turn.cancellation.clone(),
            preamble: Vec::new(),
            ledger_row: None,
            span: turn.span.span().clone(),
            news: Recipient::actor(self.me.clone()),
            progress,
            late: self.slot.late(turn.id, locale, self.context.calls.clock.clone()),
        }
    }

    pub(super) fn dispatch(&self, request: Arc<DispatchRequest>) {
        let reply = self.reply(&request);
        // If the dispatcher is gone, the message takes the reply with it, which reports the call as
        // lost.
        let _ = self.context.dispatcher.send(DispatcherMsg::Dispatch { request, reply });
    }

    /// Finds out what became of a call whose reply was lost.
    pub(super) fn recover_call(&self, request: Arc<DispatchRequest>) {
        let reply = self.reply(&request);
        self.context.tasks.spawn(recover_call(request, self.context.clone(), reply));
    }

    /// Makes the reply for the end of a call. Until it is sent, the session does not wake anew.
    fn reply(&self, request: &DispatchRequest) -> Reply<DispatcherEvent> {
        let lost = DispatcherEvent::Lost { call: request.call.id, seq: request.seq };
        Reply::new(Recipient::actor(self.me.clone()).holding(self.slot.begins()), lost)
    }

    // To the readers.

    /// Publishes progress of a turn, which the store does not have.
    pub(super) fn publish(&self, turn: TurnId, kind: EventKind) {
        self.feed().publish(turn, self.now(), Durability::Transient, kind);
    }

    /// Publishes an entry that the store has.
    pub(super) fn publish_entry(&self, message: &ChatMessage, locale: Locale) {
        let kind = kind_of(message, locale);
        self.feed().publish(message.turn, message.at, Durability::Entry(message.seq), kind);
    }

    /// Publishes the end of a turn, and returns its error in words.
    pub(super) fn publish_end(
        &self,
        end: &TurnEnd,
        at: Timestamp,
        locale: Locale,
    ) -> Option<String> {
        let (failed, ended) = kinds_of_end(end.ending, end.error.as_ref(), end.usage, locale);
        let text = match &failed {
            Some(EventKind::Error { text, .. }) => Some(text.clone()),
            _ => None,
        };
        for kind in failed.into_iter().chain([ended]) {
            self.feed().publish(end.turn, at, Durability::End, kind);
        }
        text
    }

    // To the session itself.

    /// Waits for a permit in a task, until the turn is gone or the runtime ends. The permit comes
    /// back as [`SessionMsg::Room`].
    pub(super) fn wait_for_room(&self, turn: TurnId, turn_is_gone: CancellationToken) {
        let me = self.me.clone();
        let user = self.user().clone();
        let admission = self.admission().clone();
        let closing = self.runtime_closes.clone();
        self.context.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = turn_is_gone.cancelled() => {}
                () = closing.cancelled() => {}
                permit = admission.wait(Bound::RunningTurns, &user) => {
                    // If the session is gone, dropping the message frees the permit.
                    drop(me.cast(SessionMsg::Room { turn, permit }));
                }
            }
        });
    }

    /// Sets the alarm after which the session sleeps if it is idle by then.
    pub(super) fn idle_alarm(&self, due: Instant) -> Alarm {
        Alarm::at(due, &self.me, || SessionMsg::Idle)
    }

    /// Notes that a request to the session is handled.
    pub(super) fn took_one(&self) {
        self.slot.took_one();
    }

    /// Enters the session among those that may be put to sleep for others.
    pub(super) fn enter_idle(&self) -> IdleEntry<SessionSlot> {
        self.slot.enter_idle()
    }

    /// Returns whether another session waits for the permit of this one, or this one has none.
    pub(super) fn should_sleep(&self) -> bool {
        self.admission().is_wanted(Bound::AwakeSessions, self.user()) || self.slot.has_no_permit()
    }

    /// Ends the actor, unless a request to it is not handled yet. The next request wakes the session
    /// again. Returns whether the actor ends.
    pub(super) fn sleep(&self) -> bool {
        let sleeps = self.slot.try_sleep(self.me.get_id());
        if sleeps {
            self.me.stop(None);
        }
        sleeps
    }

    /// Ends the actor. Requests that come later wake the next one, and are not lost with this one.
    pub(super) fn end(&self) {
        self.slot.died(self.me.get_id());
        self.me.stop(None);
    }

    /// Reports that the session lost its actor in mid-turn, with the turn that its readers know.
    pub(super) fn report_lost(&self, turn: Option<(TurnId, Locale)>) {
        self.context.lost.report(LostSession { slot: self.slot.clone(), turn });
    }
}
