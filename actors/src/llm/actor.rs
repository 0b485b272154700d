//! The shell of the LlmActor: it attends to the desk before the model, for those who wait there.

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{Desk, LlmMsg};
use crate::{
    failpoint::failpoint,
    mailbox::{Alarm, answer},
};

/// Stands before one model: calls up those who wait, by their turn, and ends those who waited too long.
#[derive(Debug)]
pub struct LlmActor;

/// The state of an [`LlmActor`]. Its completions end with it: their askers hear `EngineDied`.
#[derive(Debug)]
pub struct LlmState {
    me: ActorRef<LlmMsg>,
    desk: Desk,
    alarm: Option<Alarm>,
}

impl Actor for LlmActor {
    type Msg = LlmMsg;
    type State = LlmState;
    type Arguments = Desk;

    async fn pre_start(
        &self,
        me: ActorRef<LlmMsg>,
        desk: Desk,
    ) -> Result<LlmState, ActorProcessingErr> {
        desk.open(&me);
        Ok(LlmState { me, desk, alarm: None })
    }

    async fn handle(
        &self,
        me: ActorRef<LlmMsg>,
        msg: LlmMsg,
        state: &mut LlmState,
    ) -> Result<(), ActorProcessingErr> {
        failpoint("llm.handle").await?;
        match msg {
            LlmMsg::QueueLength { reply } => answer(reply, state.desk.waiting_len()),
            LlmMsg::Freed => {}
            LlmMsg::Due => {
                state.alarm = None;
                state.desk.take_out();
            }
        }
        let due = state.desk.call_up();
        Alarm::keep(&mut state.alarm, due, &me, || LlmMsg::Due);
        Ok(())
    }
}

impl Drop for LlmState {
    fn drop(&mut self) {
        self.desk.close(&self.me);
    }
}
