//! The ConfirmActor, which carries out what `decide` and `pending` decide.

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{sync::oneshot, time::Instant};
use tracing::debug;

use super::{CheckedDecision, ConfirmMsg, pending::Pending};
use crate::{
    failpoint::failpoint,
    mailbox::{Alarm, answer},
    protocol::{CallId, DecisionError, Digest, UserId},
    registry::RegisteredTool,
};

/// Holds the open approval requests of a runtime. If it dies, each call asks again.
#[derive(Debug)]
pub struct ConfirmActor;

/// The state of a [`ConfirmActor`].
#[derive(Debug)]
pub struct ConfirmState {
    pending: Pending<Waiter>,
    alarm: Option<Alarm>,
}

/// The waiting end of a call, and the tool that its request is about.
#[derive(Debug)]
struct Waiter {
    tool: Arc<RegisteredTool>,
    reply: oneshot::Sender<Option<CheckedDecision>>,
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
                state.pending.open(request, due, Waiter { tool, reply });
            }
            ConfirmMsg::Decide { call, digest, user, decision } => {
                failpoint("confirm.decide").await?;
                state.decide(call, digest, &user, decision);
            }
            ConfirmMsg::Tool { call, digest, user, reply } => {
                failpoint("confirm.tool").await?;
                let open = state.pending.decidable(call, digest, &user, Instant::now());
                answer(reply, open.map(|waiter| waiter.tool.clone()));
            }
            ConfirmMsg::Withdraw { call } => {
                failpoint("confirm.withdraw").await?;
                let _ = state.pending.withdraw(call);
            }
            ConfirmMsg::OpenRequests { reply } => answer(reply, state.pending.len()),
            ConfirmMsg::Due => {
                failpoint("confirm.due").await?;
                state.alarm = None;
                for waiter in state.pending.expire(Instant::now()) {
                    answer(waiter.reply, None);
                }
            }
        }
        // One timer for the earliest deadline.
        let due = state.pending.next_due();
        Alarm::keep(&mut state.alarm, due, &me, || ConfirmMsg::Due);
        Ok(())
    }
}

impl ConfirmState {
    fn decide(&mut self, call: CallId, digest: Digest, user: &UserId, decision: CheckedDecision) {
        match self.pending.decide(call, digest, user, Instant::now()) {
            Ok(waiter) => {
                // The call was dismissed at the same moment and takes no decision any more.
                if let Err(Some(decision)) = waiter.reply.send(Some(decision)) {
                    decision.tell(Err(DecisionError::NotOpen));
                }
            }
            Err(error) => {
                debug!(%call, %error, "a decision does not count");
                decision.tell(Err(error));
            }
        }
    }
}
