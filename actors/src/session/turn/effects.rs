//! Carries out what the turn decides: asks the model, handles events of its calls, stores the end.

use ractor::ActorRef;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};
use uuid::Uuid;

use crate::session::{
    msg::{Outgoing, SessionMsg, TurnEnd},
    state::SessionState,
    turn::calls::Called,
    turn::lost_reply::recover,
    turn::machine::{TurnEffect, TurnInput},
};
use crate::{
    dispatcher::{CallEnd, DispatcherEvent},
    llm::{LlmEvent, QueuedCompletion},
    mailbox::{Recipient, Reply},
    port::{Deltas, ModelError, StoreError},
    protocol::{
        ApprovalEnd, ApprovalRequest, CancelReason, ChatMessage, Completion, CompletionId,
        CompletionRequest, Content, EventKind, Notice, Text, TurnError,
    },
};

impl SessionState {
    /// Lets the turn decide, and carries out its effects.
    pub(super) fn on(&mut self, me: &ActorRef<SessionMsg>, input: TurnInput) {
        let Some(turn) = self.turn.as_mut() else { return };
        let (mut outgoing, mut end) = (Outgoing::default(), None);
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
                TurnEffect::Propose { round, usage, text, calls } => {
                    self.propose(me, Called { round, usage, text, calls });
                }
                // A withdrawn call finds its turn dismissed, and so does not begin.
                TurnEffect::Dispatch { index } | TurnEffect::Withdraw { index } => {
                    self.dispatch(me, index);
                }
                TurnEffect::End { ending, error, usage } => {
                    let Some(turn) = &self.turn else { return };
                    end = Some(TurnEnd { turn: turn.id, ending, error, usage });
                }
            }
        }
        if let Some(end) = end {
            self.store_end(me, end, outgoing);
        }
    }

    fn store_end(&mut self, me: &ActorRef<SessionMsg>, end: TurnEnd, mut outgoing: Outgoing) {
        self.slot.feed().silence();
        let killed = TurnError::model(ModelError::KILLED_ENGINE);
        if end.error.as_ref() == Some(&killed) {
            let left_out = Content::Notice { notice: Notice::TurnLeftOut };
            outgoing.messages.push(self.message(end.turn, left_out));
        }
        if self.chat.should_suggest_clear(self.context.calls.limits.suggest_clear_after) {
            outgoing
                .messages
                .push(self.message(end.turn, Content::Notice { notice: Notice::SuggestClear }));
        }
        // A turn ends when all that it began is published. Its end stands behind that and behind its own last messages.
        let last = outgoing.messages.last();
        let behind = last.map_or_else(|| self.chat.last_shown(), |message| message.seq);
        let at = self.context.calls.clock.now();
        let ended = end.write(self.slot.session(), at, behind);
        if let Some(turn) = self.turn.as_mut() {
            turn.sent_end = Some((end.clone(), at));
        }
        outgoing.end = Some(Box::new((end, at)));
        self.store(me, [ended], outgoing);
    }

    pub(super) fn complete(&mut self, me: &ActorRef<SessionMsg>) {
        let Some(turn) = self.turn.as_mut() else { return };
        let (id, cancel) = (CompletionId::new(Uuid::now_v7()), CancellationToken::new());
        turn.completion = Some((id, cancel.clone()));
        let (slot, calls) = (&self.slot, &self.context.calls);
        let locale = calls.languages.locale(turn.options.language);
        let request = CompletionRequest {
            id,
            session: slot.session().clone(),
            user: slot.user().clone(),
            system: self.context.system.clone(),
            messages: self.chat.prompt(&self.context.specs, locale, &calls.limits),
            tools: self.context.specs.clone(),
            language: locale.tag(),
            max_tokens: calls.limits.max_completion_tokens,
        };
        let feed = slot.feed().clone();
        feed.begin(id);
        let deltas = Deltas::new(move |delta| feed.push(id, delta));
        let lost = LlmEvent::Ended {
            completion: id,
            result: Err(ModelError::failed(ModelError::ENGINE_DIED)),
        };
        let reply = Reply::new(Recipient::actor(me.clone()), lost);
        // If the model's actor is gone, the reply is lost, and reports that.
        let (request, span) = (Box::new(request), turn.span.span().clone());
        self.context.llm.complete(QueuedCompletion { request, deltas, cancel, span, reply });
    }

    pub(super) fn cancel_completion(&mut self) {
        if let Some(turn) = self.turn.as_mut() {
            turn.cancel_completion();
        }
    }

    pub(in crate::session) fn completed(
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
        let spoken = self.slot.feed().silence();
        let input = match result {
            Ok(Completion { text, tool_calls, usage, left_out, finish }) => {
                self.publish_left_out(left_out);
                TurnInput::Completed { text, calls: self.sharing(tool_calls), usage, finish }
            }
            Err(error) => {
                error!(session = %self.slot.session(), %completion, kind = error.kind(), cause = ?error, "the model failed");
                TurnInput::CompletionFailed { error: turn_error(&error), spoken }
            }
        };
        self.on(me, input);
    }

    /// Tells that the model answered without the oldest messages, if it did.
    fn publish_left_out(&mut self, messages: u32) {
        let Some(turn) = self.turn.as_ref().filter(|_| messages > 0) else { return };
        let text = Text::MessagesLeftOut(messages).in_locale(self.locale_of(turn));
        self.publish(EventKind::MessagesLeftOut { messages, text });
    }

    pub(in crate::session) fn on_dispatcher(
        &mut self,
        me: &ActorRef<SessionMsg>,
        event: DispatcherEvent,
    ) {
        match event {
            DispatcherEvent::ApprovalRequested { request } => self.asked(*request),
            DispatcherEvent::ApprovalEnded { call, end } => {
                let Some(turn) = self.turn.as_mut() else { return };
                turn.approval_requests.retain(|request| request.call != call);
                self.publish(EventKind::ApprovalEnded { call, end });
            }
            DispatcherEvent::Ended(end) => {
                self.call_ended(me, end);
                self.end_if_closing(me);
            }
            DispatcherEvent::Left { call } => {
                if let Some(turn) = self.turn.as_mut() {
                    turn.calls.remove(&call);
                }
                self.end_if_closing(me);
            }
            DispatcherEvent::Lost { call, .. } => {
                let Some(running) = self.turn.as_ref().and_then(|turn| turn.calls.get(&call))
                else {
                    return;
                };
                let request = running.request.clone();
                let reply = self.reply(me, &request);
                drop(self.context.tasks.spawn(recover(request, self.context.clone(), reply)));
            }
        }
    }

    pub(super) fn asked(&mut self, request: ApprovalRequest) {
        let Some(turn) = self.turn.as_mut() else { return };
        // A question that was lost with the ConfirmActor comes again.
        turn.approval_requests.retain(|open| open.call != request.call);
        turn.approval_requests.push(request.clone());
        self.publish(EventKind::ApprovalRequested { request });
    }

    fn call_ended(&mut self, me: &ActorRef<SessionMsg>, end: CallEnd) {
        let CallEnd { seq, record, is_recorded } = end;
        let Some(running_turn) = self.turn.as_mut() else {
            debug!(call = %record.id, "dropped a late call");
            return;
        };
        let (turn, requests) = (running_turn.id, &mut running_turn.approval_requests);
        let Some(running) = running_turn.calls.get_mut(&record.id) else { return };
        if std::mem::replace(&mut running.has_ended, true) {
            return;
        }
        // The call that would have told its end is lost: no decision counts any more.
        if let Some(open) = requests.iter().position(|request| request.call == record.id) {
            requests.remove(open);
            let end = ApprovalEnd::Cancelled { reason: CancelReason::Unreachable };
            self.publish(EventKind::ApprovalEnded { call: record.id, end });
        }
        if !is_recorded {
            let cause = StoreError::refused("the end of a call is not in the ledger");
            return self.not_stored(me, None, &cause, false);
        }
        let message =
            ChatMessage { seq, turn, at: record.ended_at, content: Content::ToolCall(record) };
        self.show(me, message);
    }
}

/// Makes the error that a person is told of a model's failure.
fn turn_error(error: &ModelError) -> TurnError {
    match error {
        // Only the model itself can have cancelled a completion that is still awaited.
        ModelError::Cancelled { .. } => TurnError::model(ModelError::ENGINE_DIED),
        ModelError::Failed { kind, .. } => TurnError::model(&**kind),
        ModelError::Overloaded { retry_after } => TurnError::Model {
            kind: ModelError::OVERLOADED.to_owned(),
            retry_after_ms: retry_after
                .map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
        },
    }
}
