//! The shell of a SessionActor: it receives messages and passes them to the state.

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::time::Instant;

use super::{
    msg::SessionMsg,
    outbox::Outbox,
    request::SessionRequest,
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
        let mut session = SessionState {
            outbox: Outbox::new(me, slot, context),
            chat,
            turn: None,
            left_turn: None,
            lookups: 0,
            turns_begun: 0,
            has_exclusive_write: false,
            closing: None,
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
        session.take(msg).await?;
        session.end_if_closing();
        session.mark_idle_or_busy();
        Ok(())
    }
}

impl SessionState {
    async fn take(&mut self, msg: SessionMsg) -> Result<(), Failed> {
        match msg {
            SessionMsg::Request(request) => {
                self.outbox.took_one();
                self.serve(request).await?;
            }
            SessionMsg::Close { reply } => {
                failpoint("session.close").await?;
                self.close(reply);
            }
            SessionMsg::Room { turn, permit } => {
                pass_resume().await?;
                self.has_room(turn, permit);
            }
            SessionMsg::LookedUp { asked, found, turns_begun } => {
                failpoint("session.looked_up").await?;
                self.looked_up(*asked, found, turns_begun);
            }
            SessionMsg::Stored { written, result } => {
                failpoint("session.stored").await?;
                self.stored(written, result);
            }
            SessionMsg::Llm(LlmEvent::Ended { completion, result, has_begun }) => {
                failpoint("session.completed").await?;
                self.completed(completion, result, has_begun);
            }
            SessionMsg::Dispatcher(event) => {
                failpoint("session.dispatcher").await?;
                self.on_dispatcher(event);
            }
            SessionMsg::Idle => {
                pass_idle().await?;
                self.idle();
            }
            SessionMsg::Sleep { reply } => {
                pass_idle().await?;
                self.idle_entry = None;
                self.sleep();
                answer(reply, ());
            }
        }
        Ok(())
    }

    async fn serve(&mut self, request: SessionRequest) -> Result<(), Failed> {
        match request {
            SessionRequest::Submit(asked) => {
                failpoint("session.submit").await?;
                self.submit(asked);
            }
            SessionRequest::Attach { ended, reply } => {
                failpoint("session.attach").await?;
                answer(reply, Ok(self.attach(ended)));
            }
            SessionRequest::Dismiss { only, reply } => {
                failpoint("session.dismiss").await?;
                answer(reply, self.dismiss_only(only));
            }
            SessionRequest::Clear { reply } => {
                failpoint("session.clear").await?;
                self.clear(reply);
            }
            SessionRequest::Import { messages, fork, bytes, reply } => {
                failpoint("session.import").await?;
                self.import(messages, fork, bytes, reply);
            }
            SessionRequest::State { page, reply } => {
                pass_state().await?;
                answer(reply, Ok(self.view(page)));
            }
            SessionRequest::Turn { turn, reply } => {
                pass_state().await?;
                answer(reply, Ok(self.running(turn)));
            }
            SessionRequest::Resume { waits } => {
                pass_resume().await?;
                self.go_on(waits);
            }
            SessionRequest::TakeResolved => {
                failpoint("session.take_resolved").await?;
                let resolved = self.outbox.feed().take_resolved();
                self.resolved(&resolved);
            }
        }
        Ok(())
    }
}

// Each failpoint is in one place. Two messages pass each of these.

async fn pass_resume() -> Result<(), Failed> {
    failpoint("session.resume").await
}

async fn pass_state() -> Result<(), Failed> {
    failpoint("session.state").await
}

async fn pass_idle() -> Result<(), Failed> {
    failpoint("session.idle").await
}
