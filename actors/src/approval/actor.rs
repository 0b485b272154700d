//! The shell of the ConfirmActor.

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{sync::oneshot, time::Instant};
use tracing::debug;

use super::{CheckedAnswer, ConfirmMsg, QuestionVerdict, pending::Pending};
use crate::{
    failpoint::failpoint,
    mailbox::{Alarm, answer},
    protocol::DecisionError,
    registry::RegisteredTool,
};

/// Holds the open questions of a runtime. If it dies, each call asks its question again.
#[derive(Debug)]
pub struct ConfirmActor;

/// The state of a [`ConfirmActor`].
#[derive(Debug)]
pub struct ConfirmState {
    pending: Pending<Waiter>,
    alarm: Option<Alarm>,
}

/// The waiting end of a call, and the tool that its question is about.
#[derive(Debug)]
struct Waiter {
    tool: Arc<RegisteredTool>,
    reply: oneshot::Sender<QuestionVerdict>,
}

impl Actor for ConfirmActor {
    type Msg = ConfirmMsg;
    type State = ConfirmState;
    type Arguments = ();

    async fn pre_start(
        &self,
        _: ActorRef<ConfirmMsg>,
        (): (),
    ) -> Result<ConfirmState, ActorProcessingErr> {
        Ok(ConfirmState { pending: Pending::new(), alarm: None })
    }

    async fn handle(
        &self,
        me: ActorRef<ConfirmMsg>,
        msg: ConfirmMsg,
        state: &mut ConfirmState,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            ConfirmMsg::Ask { request, tool, due, reply } => {
                failpoint("confirm.ask").await?;
                state.pending.ask(*request, due, Waiter { tool, reply });
            }
            ConfirmMsg::Answer { answer: given, reply } => {
                failpoint("confirm.answer").await?;
                state.decide(given, reply);
            }
            ConfirmMsg::Tool { call, digest, user, reply } => {
                failpoint("confirm.tool").await?;
                let open = state.pending.answerable(call, digest, &user, Instant::now());
                answer(reply, open.map(|waiter| waiter.tool.clone()));
            }
            ConfirmMsg::Withdraw { call } => {
                failpoint("confirm.withdraw").await?;
                drop(state.pending.withdraw(call));
            }
            ConfirmMsg::OpenRequests { reply } => answer(reply, state.pending.len()),
            ConfirmMsg::Due => {
                failpoint("confirm.due").await?;
                state.alarm = None;
                for waiter in state.pending.expire(Instant::now()) {
                    answer(waiter.reply, QuestionVerdict::Expired);
                }
            }
        }
        state.set_alarm(&me);
        Ok(())
    }
}

impl ConfirmState {
    fn decide(&mut self, given: CheckedAnswer, reply: oneshot::Sender<Result<(), DecisionError>>) {
        let (call, now) = (given.call(), Instant::now());
        let waiter = match self.pending.answer(call, given.digest(), given.user(), now) {
            Ok(waiter) => waiter,
            Err(error) => {
                debug!(%call, %error, "an answer does not count");
                return answer(reply, Err(error));
            }
        };
        let (decision, by) = given.into_decision();
        let verdict = QuestionVerdict::Decided { decision, by, recorded: reply };
        // The call was dismissed at the same moment and takes no verdict any more. The answer is told so.
        if let Err(QuestionVerdict::Decided { recorded, .. }) = waiter.reply.send(verdict) {
            answer(recorded, Err(DecisionError::NotOpen));
        }
    }

    /// Keeps one timer for the earliest deadline.
    fn set_alarm(&mut self, me: &ActorRef<ConfirmMsg>) {
        let due = self.pending.next_due();
        Alarm::keep(&mut self.alarm, due, me, || ConfirmMsg::Due);
    }
}
