//! The shell of a SessionActor: it takes messages and hands them to the state.

use std::{collections::BTreeMap, time::Duration};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{sync::oneshot, time::Instant};
use uuid::Uuid;

use super::{
    context::{History, RuntimeContext},
    lifecycle::slot::SlotGuard,
    lifecycle::state_cell::StateHolder,
    msg::{ClearError, Outgoing, SessionMsg, SessionView, TurnRefused, TurnRequest},
    state::{ActiveTurn, SessionState, WakeSnapshot},
    turn::machine::Turn,
};
use crate::{
    failpoint::{Failed, failpoint},
    ledger::text_digest,
    llm::LlmEvent,
    mailbox::{Alarm, answer},
    port::Write,
    protocol::{Bound, Content, TurnId, visible},
    telemetry::TurnSpan,
};

/// One awake chat. Only it appends to its transcript.
#[derive(Debug)]
pub struct SessionActor;

impl Actor for SessionActor {
    type Msg = SessionMsg;
    type State = StateHolder<SessionState>;
    type Arguments = WakeSnapshot;

    async fn pre_start(
        &self,
        me: ActorRef<SessionMsg>,
        snapshot: WakeSnapshot,
    ) -> Result<StateHolder<SessionState>, ActorProcessingErr> {
        let WakeSnapshot { state, wakes, slot, context, chat, error, begins, unpublished } =
            snapshot;
        slot.feed().begins_at(begins);
        for event in unpublished {
            slot.feed().republish(event);
        }
        let (idle, runtime_closes) = (idle_alarm(&context, &me), context.closing.child_token());
        let mut session = SessionState {
            slot: SlotGuard::new(slot, me.get_id()),
            context,
            wakes,
            chat,
            turn: None,
            lookups: 0,
            turns_begun: 0,
            has_left: false,
            is_clearing: false,
            closing: None,
            runtime_closes,
            error,
            active_at: Instant::now(),
            idle,
            idle_entry: None,
        };
        session.slot.handover_taken();
        session.mark_idle_or_busy(&me);
        state.fill(session);
        Ok(StateHolder(state))
    }

    async fn handle(
        &self,
        me: ActorRef<SessionMsg>,
        msg: SessionMsg,
        state: &mut StateHolder<SessionState>,
    ) -> Result<(), ActorProcessingErr> {
        reached(&msg).await?;
        state.0.with(|session| {
            session.hear(&me, msg);
            session.mark_idle_or_busy(&me);
        });
        Ok(())
    }
}

/// Marks a message at the edge of the session. Inspected here and taken apart behind the await, the message is not
/// moved for it.
async fn reached(msg: &SessionMsg) -> Result<(), Failed> {
    match msg {
        SessionMsg::Ask { .. } => failpoint("session.ask").await,
        SessionMsg::Dismiss { .. } => failpoint("session.dismiss").await,
        SessionMsg::Clear { .. } => failpoint("session.clear").await,
        SessionMsg::State { .. } => failpoint("session.state").await,
        SessionMsg::Close { .. } => failpoint("session.close").await,
        SessionMsg::Resume(_) => failpoint("session.resume").await,
        SessionMsg::Submitted { .. } => failpoint("session.submitted").await,
        SessionMsg::Stored { .. } => failpoint("session.stored").await,
        SessionMsg::Llm(_) => failpoint("session.completed").await,
        SessionMsg::Dispatcher(_) => failpoint("session.dispatcher").await,
        SessionMsg::Idle | SessionMsg::Sleep { .. } => failpoint("session.idle").await,
        SessionMsg::Attach { .. } | SessionMsg::Resolved(_) => Ok(()),
    }
}

impl SessionState {
    fn hear(&mut self, me: &ActorRef<SessionMsg>, msg: SessionMsg) {
        match msg {
            SessionMsg::Ask { text, options, bytes, began, ended } => {
                self.slot.handles_one();
                self.ask(me, TurnRequest { text, options, bytes, began, ended });
            }
            SessionMsg::Attach { ended, reply } => {
                self.slot.handles_one();
                answer(reply, Ok(self.attach(ended)));
            }
            SessionMsg::Dismiss { reply } => {
                self.slot.handles_one();
                answer(reply, self.dismiss(me));
            }
            SessionMsg::Clear { reply } => {
                self.slot.handles_one();
                self.clear(me, reply);
            }
            SessionMsg::State { reply } => {
                self.slot.handles_one();
                answer(reply, Ok(self.state()));
            }
            SessionMsg::Close { reply } => self.close(me, reply),
            SessionMsg::Resume(resumption) => self.resume(me, *resumption),
            SessionMsg::Submitted { asked, found, turns_begun } => {
                self.submitted(me, *asked, found, turns_begun);
            }
            SessionMsg::Stored { written, result } => self.stored(me, written, result),
            SessionMsg::Llm(LlmEvent::Ended { completion, result }) => {
                self.completed(me, completion, result);
            }
            SessionMsg::Dispatcher(event) => self.on_dispatcher(me, event),
            SessionMsg::Resolved(resolved) => {
                self.slot.handles_one();
                self.chat.resolve(&resolved);
            }
            SessionMsg::Idle => self.idle(me),
            SessionMsg::Sleep { reply } => {
                self.idle_entry = None;
                self.sleep(me);
                answer(reply, ());
            }
        }
    }

    pub(super) fn ask(&mut self, me: &ActorRef<SessionMsg>, asked: TurnRequest) {
        let max_bytes = self.context.calls.limits.max_user_text_bytes;
        let bytes = asked.text.len();
        let refused = if asked.text.trim().is_empty() {
            Some(TurnRefused::Empty)
        } else if self.is_closing() {
            Some(TurnRefused::Closed)
        } else {
            (bytes > max_bytes).then_some(TurnRefused::TooLong { bytes, max_bytes })
        };
        match refused {
            Some(refused) => answer(asked.began, Err(refused)),
            None => self.submit(me, asked),
        }
    }

    /// Begins a turn that was not submitted before.
    pub(super) fn begin(&mut self, me: &ActorRef<SessionMsg>, asked: TurnRequest) {
        let TurnRequest { text, options, bytes, began, ended } = asked;
        if self.is_closing() {
            return answer(began, Err(TurnRefused::Closed));
        }
        if self.turn.is_some() || self.is_clearing {
            return answer(began, Err(TurnRefused::Busy));
        }
        let admission = &self.context.calls.admission;
        let permit = match admission.admit(Bound::RunningTurns, self.slot.user(), 1) {
            Ok(permit) => permit,
            Err(refusal) => return answer(began, Err(TurnRefused::Overloaded(refusal))),
        };
        let id = TurnId::new(Uuid::now_v7());
        let hash = text_digest(&text);
        let message = self.message(id, Content::User { text });
        let started = Write::TurnStarted {
            session: self.slot.session().clone(),
            turn: id,
            at: message.at,
            options: options.clone(),
            text: hash,
            max_stored_bytes: self.context.calls.limits.max_stored_bytes_per_user as u64,
        };
        self.error = None;
        self.turns_begun += 1;
        self.turn = Some(ActiveTurn {
            id,
            span: TurnSpan::begin(self.slot.session(), self.slot.user(), id, false),
            core: Turn::new(self.context.calls.limits.max_rounds, options.on_dismiss),
            cancellation: self.cancellation(),
            options,
            text: hash,
            _permit: permit,
            bytes: Some(bytes),
            began: Some(vec![began]),
            ended: vec![ended],
            proposed: Vec::new(),
            sent_end: None,
            dismissed: Vec::new(),
            completion: None,
            calls: BTreeMap::new(),
            approval_requests: Vec::new(),
        });
        self.store(me, [started], Outgoing { messages: vec![message], ..Outgoing::default() });
    }

    pub(super) fn clear(
        &mut self,
        me: &ActorRef<SessionMsg>,
        reply: oneshot::Sender<Result<(), ClearError>>,
    ) {
        if self.turn.is_some() || self.is_clearing {
            return answer(reply, Err(ClearError::Busy));
        }
        self.is_clearing = true;
        // The mark belongs to the turn that it follows; an empty chat has nothing to mark.
        let mark = self.chat.last_turn().map(|turn| self.message(turn, Content::Cleared));
        // After a clearing the user is asked anew: also where only the store has the chat.
        let (slot, at) = (&self.slot, self.context.calls.clock.now());
        let revoke = Write::Revoke {
            session: slot.session().clone(),
            tool: None,
            by: slot.user().clone(),
            at,
        };
        let messages = mark.into_iter().collect();
        self.store(me, [revoke], Outgoing { messages, clear: Some(reply), ..Outgoing::default() });
    }

    pub(super) fn state(&self) -> SessionView {
        let is_streaming = self.turn.as_ref().is_some_and(|turn| turn.core.is_streaming());
        SessionView {
            messages: visible(self.chat.messages()).to_vec(),
            is_streaming,
            streaming_text: is_streaming.then(|| self.slot.feed().spoken()),
            error: self.error.clone(),
            approval_request: self
                .turn
                .as_ref()
                .and_then(|turn| turn.approval_requests.first().cloned()),
        }
    }

    /// Sleeps, if it was idle for long enough.
    fn idle(&mut self, me: &ActorRef<SessionMsg>) {
        let rest = self.context.calls.limits.session_idle;
        if self.active_at.elapsed() < rest || !self.sleep(me) {
            self.idle = idle_alarm(&self.context, me);
        }
    }

    /// Sleeps, if no turn or write goes on and every message sent to it is handled.
    fn sleep(&mut self, me: &ActorRef<SessionMsg>) -> bool {
        let sleeps = self.may_sleep() && self.slot.try_sleep(me.get_id());
        if sleeps {
            me.stop(None);
        }
        sleeps
    }

    /// Marks whether the session may be put to sleep for others. Where another session waits for its permit already, it
    /// sleeps.
    fn mark_idle_or_busy(&mut self, me: &ActorRef<SessionMsg>) {
        if !self.may_sleep() {
            self.idle_entry = None;
            return;
        }
        let admission = &self.context.calls.admission;
        if admission.is_wanted(Bound::AwakeSessions, self.slot.user()) && self.sleep(me) {
            return;
        }
        self.idle_entry.get_or_insert_with(|| self.slot.enter_idle());
    }

    fn may_sleep(&self) -> bool {
        let is_busy = self.turn.is_some() || self.is_clearing || self.lookups > 0;
        self.context.history == History::Stored
            && !is_busy
            && !self.has_left
            && self.closing.is_none()
    }
}

/// Sets the alarm after which the session looks whether it may sleep.
fn idle_alarm(context: &RuntimeContext, me: &ActorRef<SessionMsg>) -> Alarm {
    // A session that may sleep at once does not look all the time while it is busy.
    let rest = context.calls.limits.session_idle.max(Duration::from_millis(1));
    Alarm::at(Instant::now() + rest, me, || SessionMsg::Idle)
}
