//! The DispatcherActor. Its only state is the running calls.

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{CallContext, DispatcherMsg, call, responder::Responder};
use crate::{failpoint::failpoint, mailbox::answer, protocol::Bound};

/// Brings calls to their end. Killing it changes no outcome, because calls run on their own.
#[derive(Debug)]
pub struct DispatcherActor;

impl Actor for DispatcherActor {
    type Msg = DispatcherMsg;
    type State = Arc<CallContext>;
    type Arguments = Arc<CallContext>;

    async fn pre_start(
        &self,
        _: ActorRef<DispatcherMsg>,
        context: Arc<CallContext>,
    ) -> Result<Arc<CallContext>, ActorProcessingErr> {
        Ok(context)
    }

    async fn handle(
        &self,
        _: ActorRef<DispatcherMsg>,
        msg: DispatcherMsg,
        context: &mut Arc<CallContext>,
    ) -> Result<(), ActorProcessingErr> {
        failpoint("dispatcher.handle").await?;
        match msg {
            // Checking up to 1 MiB of arguments is slow work, so it does not happen here. Boxed,
            // because a task's future is moved about ten times.
            DispatcherMsg::Dispatch { request, reply } => {
                let reply = Responder::new(&request, reply, context);
                context.tasks.spawn(Box::pin(call::begin(request, reply, context.clone())));
            }
            DispatcherMsg::RunningCalls { reply } => {
                answer(reply, context.admission.held(Bound::RunningCalls));
            }
        }
        Ok(())
    }
}
