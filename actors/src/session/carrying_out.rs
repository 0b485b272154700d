//! Carrying out what the turn decides: asking the model, dispatching calls, storing the end.

use ractor::ActorRef;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};
use uuid::Uuid;

use super::{
    awake::{Awake, RunningCall},
    msg::{Outgoing, SessionMsg, TurnEnd},
    recover::recover,
    turn::{Sharing, TurnEffect, TurnInput},
};
use crate::{
    dispatcher::{CallEnd, DispatchRequest, DispatcherEvent, DispatcherMsg},
    llm::{LlmEvent, LlmMsg},
    mailbox::{Recipient, Reply},
    port::{Deltas, ModelError, StoreError, Write},
    protocol::{
        CallId, ChatMessage, Completion, CompletionId, CompletionRequest, Content, EffectPolicy,
        EventKind, Notice, Question, ToolCall, WantedCall, prompt,
    },
};

impl Awake {
    /// Lets the turn decide, and carries out what it decided.
    pub(super) fn on(&mut self, me: &ActorRef<SessionMsg>, input: TurnInput) {
        let Some(turn) = self.turn.as_mut() else { return };
        let mut outgoing = Outgoing::default();
        for effect in turn.core.on(input) {
            match effect {
                TurnEffect::Complete => self.complete(me),
                TurnEffect::CancelCompletion => self.cancel_completion(),
                TurnEffect::Say { text, ending } => {
                    let Some(turn) = &self.turn else { return };
                    let message =
                        self.message(turn.id, Content::Model { text: text.into(), ending });
                    outgoing.messages.push(message);
                }
                TurnEffect::Dispatch { index, wanted } => {
                    // What was said before the call is given to the store before it.
                    if !outgoing.messages.is_empty() {
                        self.store(me, Vec::new(), std::mem::take(&mut outgoing));
                    }
                    self.dispatch(me, index, wanted);
                }
                TurnEffect::End { ending, error, usage } => {
                    let Some(turn) = &self.turn else { return };
                    outgoing.end = Some(TurnEnd { turn: turn.id, ending, error, usage });
                }
            }
        }
        if let Some(end) = outgoing.end.clone() {
            self.store_end(me, end, outgoing);
        }
    }

    pub(super) fn store_end(
        &mut self,
        me: &ActorRef<SessionMsg>,
        end: TurnEnd,
        mut outgoing: Outgoing,
    ) {
        self.place.door.feed().silence();
        if self.chat.should_suggest_clear(self.wiring.around.limits.suggest_clear_after) {
            outgoing
                .messages
                .push(self.message(end.turn, Content::Notice { notice: Notice::SuggestClear }));
        }
        let ended = Write::TurnEnded {
            session: self.place.door.session().clone(),
            turn: end.turn,
            at: self.wiring.around.clock.now(),
            ending: end.ending,
            error: end.error,
            usage: end.usage,
        };
        self.store(me, vec![ended], outgoing);
    }

    pub(super) fn complete(&mut self, me: &ActorRef<SessionMsg>) {
        let Some(turn) = self.turn.as_mut() else { return };
        let (id, cancel) = (CompletionId::new(Uuid::now_v7()), CancellationToken::new());
        turn.completion = Some((id, cancel.clone()));
        let (door, around) = (&self.place.door, &self.wiring.around);
        let request = CompletionRequest {
            id,
            session: door.session().clone(),
            user: door.user().clone(),
            system: self.wiring.system.clone(),
            messages: prompt(
                self.chat.messages(),
                &self.wiring.specs,
                turn.options.locale,
                &around.limits,
            ),
            tools: self.wiring.specs.clone(),
            locale: turn.options.locale,
            max_tokens: around.limits.max_completion_tokens,
        };
        let feed = door.feed().clone();
        feed.begin(id);
        let deltas = Deltas::new(move |delta| feed.push(id, delta));
        let lost = LlmEvent::Ended {
            completion: id,
            result: Err(ModelError::failed(ModelError::ENGINE_DIED)),
        };
        let reply = Reply::new(Recipient::actor(me.clone()), lost);
        // If the model's actor is gone, the message takes the reply with it, which says so.
        drop(self.wiring.llm.send(LlmMsg::Complete {
            request: Box::new(request),
            deltas,
            cancel,
            reply,
        }));
    }

    pub(super) fn cancel_completion(&mut self) {
        if let Some(turn) = self.turn.as_mut() {
            turn.cancel_completion();
        }
    }

    pub(super) fn dispatch(&mut self, me: &ActorRef<SessionMsg>, index: usize, wanted: WantedCall) {
        let seq = self.chat.reserve();
        let Some(turn) = self.turn.as_mut() else { return };
        let call = ToolCall {
            id: CallId::new(Uuid::now_v7()),
            name: wanted.name.clone(),
            arguments: wanted.arguments.clone(),
        };
        let id = call.id;
        let time_zone = turn.options.time_zone.clone();
        let request = DispatchRequest {
            session: self.place.door.session().clone(),
            user: self.place.door.user().clone(),
            turn: turn.id,
            seq,
            call,
            locale: turn.options.locale,
            time_zone: time_zone.unwrap_or_else(|| turn.options.locale.time_zone().into()),
            asker: turn.options.asker,
            dismissal: turn.dismissal.clone(),
            preamble: Vec::new(),
            news: Recipient::actor(me.clone()),
        };
        turn.calls.insert(id, RunningCall { index, request: request.clone(), has_ended: false });
        self.tell(EventKind::ToolCallProposed { call: id, wanted });
        let reply = self.reply(me, &request);
        // If the dispatcher is gone, the message takes the reply with it, which says that the call was lost.
        drop(
            self.wiring
                .dispatcher
                .send(DispatcherMsg::Dispatch { request: Box::new(request), reply }),
        );
    }

    /// Where the end of a call goes. Until it has, the session does not wake anew.
    pub(super) fn reply(
        &self,
        me: &ActorRef<SessionMsg>,
        request: &DispatchRequest,
    ) -> Reply<DispatcherEvent> {
        let lost = DispatcherEvent::Lost { call: request.call.id, seq: request.seq };
        Reply::new(Recipient::actor(me.clone()).holding(self.place.door.begins()), lost)
    }

    pub(super) fn completed(
        &mut self,
        me: &ActorRef<SessionMsg>,
        completion: CompletionId,
        result: Result<Completion, ModelError>,
    ) {
        let awaited = self.turn.as_ref().and_then(|turn| turn.completion.as_ref());
        if awaited.is_none_or(|(id, _)| *id != completion) {
            debug!(%completion, "dropped a late completion");
            return;
        }
        if let Some(turn) = self.turn.as_mut() {
            turn.completion = None;
        }
        let spoken = self.place.door.feed().silence();
        let input = match result {
            Ok(Completion { text, tool_calls, usage, .. }) => {
                TurnInput::Completed { text, calls: self.sharing(tool_calls), usage }
            }
            Err(error) => {
                let kind = match &error {
                    ModelError::Failed { kind, .. } => kind.clone().into_owned(),
                    // Nobody but the model itself cancelled a completion that is still awaited.
                    ModelError::Cancelled { .. } => ModelError::ENGINE_DIED.to_owned(),
                };
                error!(session = %self.place.door.session(), %completion, %kind, cause = ?error, "the model failed");
                TurnInput::CompletionFailed { kind, spoken }
            }
        };
        self.on(me, input);
    }

    /// The calls that are taken from a completion, each with whether it may run beside others.
    pub(super) fn sharing(&self, calls: Vec<WantedCall>) -> Vec<(WantedCall, Sharing)> {
        let registry = &self.wiring.around.registry;
        let is_alone = |name: &str| {
            registry.get(name).is_ok_and(|tool| tool.spec().effect != EffectPolicy::Read)
        };
        let max = if self.wiring.model.info().has_parallel_calls {
            self.wiring.around.limits.max_calls_per_completion
        } else {
            1
        };
        let sharing =
            |call: &WantedCall| if is_alone(&call.name) { Sharing::Alone } else { Sharing::Shared };
        calls.into_iter().take(max).map(|call| (call.clone(), sharing(&call))).collect()
    }

    pub(super) fn on_dispatcher(&mut self, me: &ActorRef<SessionMsg>, event: DispatcherEvent) {
        match event {
            DispatcherEvent::Asked { question } => self.asked(*question),
            DispatcherEvent::QuestionEnded { call, end } => {
                let Some(turn) = self.turn.as_mut() else { return };
                turn.questions.retain(|question| question.call != call);
                self.tell(EventKind::ConfirmationEnded { call, end });
            }
            DispatcherEvent::Ended(end) => self.call_ended(me, *end),
            DispatcherEvent::Lost { call, .. } => {
                let Some(running) = self.turn.as_ref().and_then(|turn| turn.calls.get(&call))
                else {
                    return;
                };
                let request = running.request.clone();
                let reply = self.reply(me, &request);
                drop(self.wiring.tasks.spawn(recover(request, self.wiring.clone(), reply)));
            }
        }
    }

    pub(super) fn asked(&mut self, question: Question) {
        let Some(turn) = self.turn.as_mut() else { return };
        // A question that was lost with the ConfirmActor comes again.
        turn.questions.retain(|open| open.call != question.call);
        turn.questions.push(question.clone());
        self.tell(EventKind::ConfirmationAsked { question });
    }

    pub(super) fn call_ended(&mut self, me: &ActorRef<SessionMsg>, end: CallEnd) {
        let CallEnd { seq, record, is_recorded } = end;
        let Some(turn) = self.turn.as_mut() else {
            debug!(call = %record.id, "dropped a late call");
            return;
        };
        let Some(running) = turn.calls.get_mut(&record.id) else { return };
        if std::mem::replace(&mut running.has_ended, true) {
            return;
        }
        if !is_recorded {
            let cause = StoreError::refused("the end of a call is not in the ledger");
            return self.not_stored(me, None, None, cause);
        }
        let message = ChatMessage {
            seq,
            turn: turn.id,
            at: record.ended_at,
            content: Content::ToolCall(Box::new(record)),
        };
        self.show(me, message);
    }
}
