//! The shell of a SessionActor: it takes messages and hands them to the state.

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::time::Instant;

use super::{
    lifecycle::slot::SlotGuard,
    msg::SessionMsg,
    state::{SessionState, WakeSnapshot},
};
use crate::{
    failpoint::{Failed, failpoint},
    llm::LlmEvent,
    mailbox::answer,
};

/// One awake chat. Only it appends to its transcript.
#[derive(Debug)]
pub struct SessionActor;

impl Actor for SessionActor {
    type Msg = SessionMsg;
    type State = SessionState;
    type Arguments = WakeSnapshot;

    async fn pre_start(
        &self,
        me: ActorRef<SessionMsg>,
        snapshot: WakeSnapshot,
    ) -> Result<SessionState, ActorProcessingErr> {
        let WakeSnapshot { slot, context, chat, unpublished, open_turn, resumption } = snapshot;
        let runtime_closes = context.closing.child_token();
        let mut session = SessionState {
            slot: SlotGuard::new(slot, me.get_id()),
            me,
            context,
            chat,
            turn: None,
            leaves_turn: false,
            lookups: 0,
            turns_begun: 0,
            has_exclusive_write: false,
            closing: None,
            runtime_closes,
            error: None,
            active_at: Instant::now(),
            idle: None,
            idle_entry: None,
        };
        session.begins(unpublished, open_turn, resumption);
        session.mark_idle_or_busy();
        Ok(session)
    }

    async fn handle(
        &self,
        _: ActorRef<SessionMsg>,
        msg: SessionMsg,
        session: &mut SessionState,
    ) -> Result<(), ActorProcessingErr> {
        reached(&msg).await?;
        session.take(msg);
        session.end_if_closing();
        session.mark_idle_or_busy();
        Ok(())
    }
}

/// Marks a message at the edge of the session. Inspected here and taken apart behind the await, the message is not
/// moved for it.
async fn reached(msg: &SessionMsg) -> Result<(), Failed> {
    match msg {
        SessionMsg::Ask(_) => failpoint("session.ask").await,
        SessionMsg::Dismiss { .. } => failpoint("session.dismiss").await,
        SessionMsg::Clear { .. } => failpoint("session.clear").await,
        SessionMsg::Import { .. } => failpoint("session.import").await,
        SessionMsg::State { .. } | SessionMsg::Turn { .. } => failpoint("session.state").await,
        SessionMsg::Close { .. } => failpoint("session.close").await,
        SessionMsg::Resume { .. } | SessionMsg::Room { .. } => failpoint("session.resume").await,
        SessionMsg::Submitted { .. } => failpoint("session.submitted").await,
        SessionMsg::Stored { .. } => failpoint("session.stored").await,
        SessionMsg::Llm(_) => failpoint("session.completed").await,
        SessionMsg::Dispatcher(_) => failpoint("session.dispatcher").await,
        SessionMsg::Idle | SessionMsg::Sleep { .. } => failpoint("session.idle").await,
        SessionMsg::Attach { .. } | SessionMsg::Resolved => Ok(()),
    }
}

impl SessionState {
    fn take(&mut self, msg: SessionMsg) {
        match msg {
            SessionMsg::Ask(asked) => {
                self.slot.handles_one();
                self.ask(asked);
            }
            SessionMsg::Attach { ended, reply } => {
                self.slot.handles_one();
                answer(reply, Ok(self.attach(ended)));
            }
            SessionMsg::Dismiss { only, reply } => {
                self.slot.handles_one();
                answer(reply, self.dismiss_only(only));
            }
            SessionMsg::Clear { reply } => {
                self.slot.handles_one();
                self.clear(reply);
            }
            SessionMsg::Import { messages, bytes, reply } => {
                self.slot.handles_one();
                self.import(messages, bytes, reply);
            }
            SessionMsg::State { page, reply } => {
                self.slot.handles_one();
                answer(reply, Ok(self.view(page)));
            }
            SessionMsg::Turn { turn, reply } => {
                self.slot.handles_one();
                answer(reply, Ok(self.running(turn)));
            }
            SessionMsg::Close { reply } => self.close(reply),
            SessionMsg::Resume { waits } => {
                self.slot.handles_one();
                self.go_on(waits);
            }
            SessionMsg::Room { turn, permit } => self.has_room(turn, permit),
            SessionMsg::Submitted { asked, found, turns_begun } => {
                self.submitted(*asked, found, turns_begun);
            }
            SessionMsg::Stored { written, result } => self.stored(written, result),
            SessionMsg::Llm(LlmEvent::Ended { completion, result, has_begun }) => {
                self.completed(completion, result, has_begun);
            }
            SessionMsg::Dispatcher(event) => self.on_dispatcher(event),
            SessionMsg::Resolved => {
                self.slot.handles_one();
                let resolved = self.slot.feed().take_resolved();
                self.resolved(&resolved);
            }
            SessionMsg::Idle => self.idle(),
            SessionMsg::Sleep { reply } => {
                self.idle_entry = None;
                self.sleep();
                answer(reply, ());
            }
        }
    }
}
