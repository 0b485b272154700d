//! The LlmActor: begins the completions that wait in the queue of its model.

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{LlmMsg, ModelQueue};
use crate::{
    failpoint::failpoint,
    mailbox::{Alarm, answer},
};

/// Attends to the queue of one model: begins waiting completions in their order, and ends those
/// that waited too long.
#[derive(Debug)]
pub struct LlmActor;

/// The state of an [`LlmActor`]. Its completions end with it, and their callers receive
/// `EngineDied`.
#[derive(Debug)]
pub struct LlmState {
    me: ActorRef<LlmMsg>,
    model_queue: ModelQueue,
    alarm: Option<Alarm>,
}

impl Actor for LlmActor {
    type Msg = LlmMsg;
    type State = LlmState;
    type Arguments = ModelQueue;

    async fn pre_start(
        &self,
        me: ActorRef<LlmMsg>,
        model_queue: ModelQueue,
    ) -> Result<LlmState, ActorProcessingErr> {
        model_queue.open(&me);
        Ok(LlmState { me, model_queue, alarm: None })
    }

    async fn handle(
        &self,
        me: ActorRef<LlmMsg>,
        msg: LlmMsg,
        state: &mut LlmState,
    ) -> Result<(), ActorProcessingErr> {
        failpoint("llm.handle").await?;
        match msg {
            LlmMsg::QueueLength { reply } => answer(reply, state.model_queue.waiting_len()),
            LlmMsg::Freed => {}
            LlmMsg::Due => {
                state.alarm = None;
                state.model_queue.take_out();
            }
        }
        let due = state.model_queue.call_up();
        Alarm::keep(&mut state.alarm, due, &me, || LlmMsg::Due);
        Ok(())
    }
}

impl Drop for LlmState {
    fn drop(&mut self) {
        self.model_queue.close(&self.me);
    }
}
