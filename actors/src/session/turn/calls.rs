//! The calls of a turn: recorded before any of them begins, dispatched in their order, followed by
//! their events.

use std::sync::Arc;

use tracing::debug;
use uuid::Uuid;

use crate::session::{
    msg::{Outgoing, Purpose},
    state::SessionState,
    turn::active::{ActiveCall, ActiveTurn},
    turn::machine::{Called, Sharing},
};
use crate::{
    dispatcher::{CallEnd, DispatchRequest, DispatcherEvent},
    port::{StoreError, TurnStep, Write},
    protocol::{
        ApprovalEnd, ApprovalRequest, CallId, CancelReason, ChatMessage, Content, EffectPolicy,
        Ending, EventKind, ModelName, Timestamp, ToolCall, WantedCall,
    },
};

impl SessionState {
    /// Records the calls of a completion before any of them begins. A single call without text is
    /// recorded together with its first step, which saves a wait. Otherwise they are recorded on
    /// their own, and dispatched after the store has that. If a call ran without its round, the
    /// turn would call it again when it goes on.
    pub(super) fn propose(&mut self, called: Called) {
        let Called { round, usage, text, calls } = called;
        let Some(running) = self.turn.as_ref() else { return };
        let (turn, model, index_of_model) =
            (running.id, self.outbox.model_name_of(running), running.model);
        let said = text.map(|text| {
            let content = Content::said_by(model.clone(), text, Ending::Complete);
            self.message(turn, content)
        });
        let session = self.outbox.session().clone();
        let at = self.outbox.now();
        let requests = (0..).zip(calls).filter_map(|(index, wanted)| {
            let request = self.request(at, wanted, model.clone())?;
            Some(DispatchRequest { beyond: self.beyond(index, index_of_model), ..request })
        });
        let mut requests: Vec<_> = requests.collect();
        let Some(from) = requests.first().map(|request| request.seq) else { return };
        let step = TurnStep::Called { round, from, usage };
        let step = Write::Turn { session: session.clone(), turn, at, step };
        let unrecorded = match (&said, &mut *requests) {
            (None, [only]) => {
                only.preamble = vec![step];
                None
            }
            _ => {
                let proposal = |request: &DispatchRequest| Write::Call {
                    session: session.clone(),
                    call: request.call.id,
                    at,
                    transition: request.proposal(),
                };
                let facts = std::iter::once(step).chain(requests.iter().map(proposal));
                let messages = said.into_iter().collect();
                self.outbox
                    .store(facts, Outgoing { purpose: Purpose::Round(turn, round), messages });
                Some(Vec::new())
            }
        };
        if let Some(turn) = self.turn.as_mut() {
            turn.unrecorded = unrecorded;
            turn.proposed = requests.into_iter().map(Arc::new).map(Some).collect();
        }
    }

    /// Makes a new call of the turn, with its number in the transcript.
    fn request(
        &mut self,
        at: Timestamp,
        wanted: WantedCall,
        model: Option<ModelName>,
    ) -> Option<DispatchRequest> {
        let seq = self.chat.reserve();
        let WantedCall { name, arguments, opaque } = wanted.bounded(self.outbox.limits());
        let call = ToolCall { id: CallId::new(Uuid::now_v7()), name, arguments, model, opaque };
        self.turn.as_ref().map(|turn| self.outbox.request(turn, (seq, at), call))
    }

    /// Dispatches the calls of a round, which the store has now. A turn that is left to the next
    /// start begins none.
    pub(super) fn recorded(&mut self) {
        let Some(turn) = self.turn.as_mut() else { return };
        let waiting = turn.unrecorded.take().unwrap_or_default();
        if !turn.core.is_suspended() {
            waiting.into_iter().for_each(|index| self.dispatch(index));
        }
    }

    /// Dispatches a call of the round, or has it wait until the store has the round.
    pub(super) fn dispatch(&mut self, index: usize) {
        let Some(turn) = self.turn.as_mut() else { return };
        if let Some(waiting) = &mut turn.unrecorded {
            return waiting.push(index);
        }
        let Some(mut request) = turn.proposed.get_mut(index).and_then(Option::take) else { return };
        // As the turn is now: the user may have dismissed it since the model asked for the call.
        Arc::make_mut(&mut request).cancellation = turn.cancellation.from_here();
        let ToolCall { id, name, arguments, model, .. } = request.call.clone();
        turn.calls.insert(id, ActiveCall { index, request: request.clone(), has_ended: false });
        let wanted = WantedCall::new(name, arguments);
        self.outbox.publish(turn.id, EventKind::ToolCallProposed { call: id, model, wanted });
        self.outbox.dispatch(request);
    }

    /// Returns whether a call of this tool by this model may run at the same time as others. A call
    /// beyond the bound runs nothing.
    pub(super) fn sharing_of(&self, index: u64, tool: &str, model: usize) -> Sharing {
        if self.beyond(index, model).is_some() {
            return Sharing::Shared;
        }
        let tool = self.outbox.registry().get(tool);
        let is_alone = tool.is_ok_and(|tool| tool.spec().effect != EffectPolicy::Read);
        if is_alone { Sharing::Alone } else { Sharing::Shared }
    }

    /// Returns the number of calls that are taken from a completion of this model, if this call is
    /// beyond it. The session records such a call and publishes it as an error.
    pub(super) fn beyond(&self, index: u64, model: usize) -> Option<usize> {
        let max = if self.outbox.models().queue(model).has_parallel_calls() {
            self.outbox.limits().max_calls_per_completion
        } else {
            1
        };
        (index >= max as u64).then_some(max)
    }

    /// Returns for each call of the completion that has ended whether it may run at the same time
    /// as others.
    pub(super) fn sharing(&self, calls: Vec<WantedCall>) -> Vec<(WantedCall, Sharing)> {
        let model = self.turn.as_ref().map_or(0, |turn| turn.model);
        let with_sharing = |(index, call): (u64, WantedCall)| {
            let sharing = self.sharing_of(index, &call.name, model);
            (call, sharing)
        };
        (0..).zip(calls).map(with_sharing).collect()
    }

    pub(in crate::session) fn on_dispatcher(&mut self, event: DispatcherEvent) {
        match event {
            DispatcherEvent::ApprovalRequested { request } => self.asked(*request),
            DispatcherEvent::ApprovalEnded { call, end } => {
                let Some(turn) = self.turn_of(call) else { return };
                turn.approval_requests.retain(|request| request.call != call);
                let turn = turn.id;
                self.outbox.publish(turn, EventKind::ApprovalEnded { call, end });
            }
            DispatcherEvent::Ended(end) => self.call_ended(end),
            DispatcherEvent::Left { call } => {
                if let Some(turn) = self.turn.as_mut() {
                    turn.calls.remove(&call);
                }
            }
            DispatcherEvent::Lost { call, .. } => {
                if let Some(running) = self.turn.as_ref().and_then(|turn| turn.calls.get(&call)) {
                    self.outbox.recover_call(running.request.clone());
                }
            }
        }
    }

    /// Returns the turn in which a call runs, or `None` if the news about the call is late, because
    /// the call or its turn has ended.
    fn turn_of(&mut self, call: CallId) -> Option<&mut ActiveTurn> {
        self.turn.as_mut().filter(|turn| turn.calls.get(&call).is_some_and(|call| !call.has_ended))
    }

    fn asked(&mut self, request: ApprovalRequest) {
        let Some(turn) = self.turn_of(request.call) else { return };
        // A request that was lost with the ConfirmActor comes again.
        turn.approval_requests.retain(|open| open.call != request.call);
        turn.approval_requests.push(request.clone());
        let turn = turn.id;
        self.outbox.publish(turn, EventKind::ApprovalRequested { request });
    }

    fn call_ended(&mut self, end: CallEnd) {
        let CallEnd { seq, record, is_recorded } = end;
        let Some(running_turn) = self.turn.as_mut() else {
            debug!(call = %record.id, "dropped a late call");
            return;
        };
        let turn = running_turn.id;
        let requests = &mut running_turn.approval_requests;
        let Some(running) = running_turn.calls.get_mut(&record.id) else { return };
        if std::mem::replace(&mut running.has_ended, true) {
            return;
        }
        // The call that would have reported its end is lost, so no decision counts any more.
        if let Some(open) = requests.iter().position(|request| request.call == record.id) {
            requests.remove(open);
            let end = ApprovalEnd::Cancelled { reason: CancelReason::Unreachable };
            self.outbox.publish(turn, EventKind::ApprovalEnded { call: record.id, end });
        }
        if !is_recorded {
            let cause = StoreError::refused("the end of a call is not in the ledger");
            return self.not_stored(None, &cause);
        }
        let message =
            ChatMessage { seq, turn, at: record.ended_at, content: Content::ToolCall(record) };
        self.show(message, self.locale());
    }
}
