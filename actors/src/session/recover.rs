//! What becomes of a call, or of a write, whose reply was lost. Only the store decides.

use std::sync::Arc;

use tracing::warn;

use super::Wiring;
use crate::{
    dispatcher::{DispatchRequest, DispatcherEvent, DispatcherMsg, settle},
    mailbox::Reply,
    port::{LedgerFilter, Write},
    protocol::{Fault, SessionId},
};

/// Dispatches the call again if the ledger has never heard of it, else brings it to the end that the ledger knows.
///
/// A call that is not in the ledger has not begun: a reply is lost with a dispatcher's mailbox, or with a call's actors,
/// and with those whatever they had not yet committed.
pub(super) async fn recover(
    request: DispatchRequest,
    wiring: Arc<Wiring>,
    mut reply: Reply<DispatcherEvent>,
) {
    let call = request.call.id;
    warn!(%call, "the reply about a call was lost");
    let filter = LedgerFilter {
        session: Some(request.session.clone()),
        call: Some(call),
        ..LedgerFilter::default()
    };
    let is_unheard = wiring.store.store().calls(&filter).await.is_ok_and(|rows| rows.is_empty());
    if is_unheard {
        let gone = wiring.dispatcher.actor();
        let again = DispatcherMsg::Dispatch { request: Box::new(request.clone()), reply };
        let Err(back) = wiring.dispatcher.send(again) else { return };
        let wait = wiring.around.limits.ask_timeout;
        let came_back = tokio::time::timeout(wait, wiring.dispatcher.after(&gone)).await.is_ok();
        match back {
            Some(DispatcherMsg::Dispatch { reply: unused, .. }) if !came_back => reply = unused,
            // Dropping the message says "lost" once more, and that leads here again, to a dispatcher that lives.
            Some(_) | None => return,
        }
    }
    let end = settle(&wiring.around, request, &Fault::REPLY_LOST).await;
    reply.send(DispatcherEvent::Ended(Box::new(end)));
}

/// Whether the store has a job of a session with this write in it. All of a job was written, or none.
pub(super) async fn has_happened(session: &SessionId, part: &Write, wiring: &Wiring) -> bool {
    let Ok(Some(stored)) = wiring.store.store().session(session).await else { return false };
    match part {
        Write::TurnStarted { turn, .. } => stored.open_turn == Some(*turn),
        Write::TurnEnded { turn, .. } => stored.open_turn != Some(*turn),
        Write::Message { message, .. } => stored.messages.contains(message),
        Write::Revoke { .. } => {
            let filter = LedgerFilter {
                session: Some(session.clone()),
                only_grants: true,
                ..LedgerFilter::default()
            };
            wiring.store.store().calls(&filter).await.is_ok_and(|grants| grants.is_empty())
        }
        Write::Session { .. } | Write::Call { .. } => false,
    }
}
