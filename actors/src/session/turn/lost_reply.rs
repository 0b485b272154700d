//! Finds out what became of a call whose reply was lost. Only the store decides.

use std::sync::Arc;

use tokio::time::sleep;
use tracing::warn;

use crate::session::RuntimeContext;
use crate::{
    dispatcher::{DispatchRequest, DispatcherEvent, DispatcherMsg, end_lost},
    ledger::CallState,
    mailbox::Reply,
    port::LedgerFilter,
    protocol::Fault,
};

/// Dispatches the call again if the ledger has only its proposal. Otherwise brings it to the end
/// that the ledger has.
///
/// Such a call has not begun. A reply is lost with a dispatcher's mailbox, or with a call's actors,
/// and so are their uncommitted steps. If a commit is nevertheless on its way, the ledger refuses
/// the second run.
pub(in crate::session) async fn recover_call(
    request: Arc<DispatchRequest>,
    context: Arc<RuntimeContext>,
    mut reply: Reply<DispatcherEvent>,
) {
    let call = request.call.id;
    warn!(%call, "the reply about a call was lost");
    let filter = LedgerFilter::call(call);
    let row = context.store.store().calls(&filter).await.map(|mut rows| rows.pop());
    // A call in the ledger was admitted before: it waits for its permit, and is not proposed again.
    let ledger_row = match &row {
        Ok(row) => row.clone().map(Box::new),
        Err(_) => request.ledger_row.clone(),
    };
    let request = Arc::new(DispatchRequest { ledger_row, ..Arc::unwrap_or_clone(request) });
    let has_not_begun = row.is_ok_and(|row| row.is_none_or(|row| row.state == CallState::Proposed));
    if has_not_begun {
        let gone = context.dispatcher.actor();
        let again = DispatcherMsg::Dispatch { request: request.clone(), reply };
        let Err(back) = context.dispatcher.send(again) else { return };
        let wait = context.calls.limits.ask_timeout;
        let came_back = tokio::select! {
            biased;
            _ = context.dispatcher.after(&gone) => true,
            () = context.dispatcher.restart_limit_reached() => false,
            () = sleep(wait) => false,
        };
        match back {
            Some(DispatcherMsg::Dispatch { reply: unused, .. }) if !came_back => reply = unused,
            // Dropping the message reports the loss once more, which leads here again, to a
            // dispatcher that lives.
            Some(_) | None => return,
        }
    }
    let end = end_lost(&context.calls, request, &Fault::REPLY_LOST).await;
    reply.send(DispatcherEvent::Ended(end));
}
