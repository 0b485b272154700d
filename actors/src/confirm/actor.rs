//! The shell of the ConfirmActor.

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{sync::oneshot, task::AbortHandle, time::Instant};
use tracing::debug;

use super::{ConfirmMsg, Verdict, pending::Pending};
use crate::{failpoint::failpoint, mailbox::answer, protocol::Limits};

/// Holds the open questions of a runtime. A question that is lost with it is asked again by its call.
#[derive(Debug)]
pub struct ConfirmActor;

/// The state of a [`ConfirmActor`].
#[derive(Debug)]
pub struct ConfirmState {
    pending: Pending<oneshot::Sender<Verdict>>,
    alarm: Option<(Instant, AbortHandle)>,
}

impl Actor for ConfirmActor {
    type Msg = ConfirmMsg;
    type State = ConfirmState;
    type Arguments = Arc<Limits>;

    async fn pre_start(
        &self,
        _: ActorRef<ConfirmMsg>,
        limits: Arc<Limits>,
    ) -> Result<ConfirmState, ActorProcessingErr> {
        Ok(ConfirmState { pending: Pending::new(limits.max_open_questions), alarm: None })
    }

    async fn handle(
        &self,
        me: ActorRef<ConfirmMsg>,
        msg: ConfirmMsg,
        state: &mut ConfirmState,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            ConfirmMsg::Ask { question, due, reply } => {
                failpoint("confirm.ask").await?;
                if let Err(reply) = state.pending.ask(*question, due, reply) {
                    answer(reply, Verdict::Overloaded);
                }
            }
            ConfirmMsg::Answer { answer: given, reply } => {
                failpoint("confirm.answer").await?;
                match state.pending.answer(&given, Instant::now()) {
                    Ok(waiter) => {
                        answer(
                            waiter,
                            Verdict::Decided {
                                decision: given.decision,
                                by: given.user,
                                recorded: reply,
                            },
                        );
                    }
                    Err(error) => {
                        debug!(call = %given.call, %error, "an answer does not count");
                        answer(reply, Err(error));
                    }
                }
            }
            ConfirmMsg::Withdraw { call } => {
                failpoint("confirm.withdraw").await?;
                drop(state.pending.withdraw(call));
            }
            ConfirmMsg::OpenQuestions { reply } => answer(reply, state.pending.len()),
            ConfirmMsg::Due => {
                failpoint("confirm.due").await?;
                state.alarm = None;
                for waiter in state.pending.expire(Instant::now()) {
                    answer(waiter, Verdict::Expired);
                }
            }
        }
        state.set_alarm(&me);
        Ok(())
    }
}

impl ConfirmState {
    /// Keeps one timer for the earliest deadline.
    fn set_alarm(&mut self, me: &ActorRef<ConfirmMsg>) {
        let due = self.pending.next_due();
        if due == self.alarm.as_ref().map(|(due, _)| *due) {
            return;
        }
        if let Some((_, alarm)) = self.alarm.take() {
            alarm.abort();
        }
        self.alarm = due.map(|due| {
            let timer =
                me.send_after(due.saturating_duration_since(Instant::now()), || ConfirmMsg::Due);
            (due, timer.abort_handle())
        });
    }
}
