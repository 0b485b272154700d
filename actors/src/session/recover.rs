//! What becomes of a call, or of a write, whose reply was lost. Only the store decides.

use std::sync::Arc;

use tokio::time::sleep;
use tracing::warn;

use super::Wiring;
use crate::{
    dispatcher::{DispatchRequest, DispatcherEvent, DispatcherMsg, settle},
    ledger::CallState,
    mailbox::Reply,
    port::{LedgerFilter, TurnStep, Write},
    protocol::{Fault, SessionId},
};

/// Dispatches the call again if the ledger knows no more of it than its proposal, else brings it to the end that the
/// ledger knows.
///
/// Such a call has not begun: a reply is lost with a dispatcher's mailbox, or with a call's actors, and with those
/// whatever they had not yet committed. Where a commit is on its way all the same, the ledger refuses the second run.
pub(super) async fn recover(
    request: Arc<DispatchRequest>,
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
    let row = wiring.store.store().calls(&filter).await.map(|mut rows| rows.pop());
    let standing = match &row {
        Ok(row) => row.clone().map(Box::new),
        Err(_) => request.standing.clone(),
    };
    let request = Arc::new(DispatchRequest { standing, ..Arc::unwrap_or_clone(request) });
    let has_not_begun = row.is_ok_and(|row| row.is_none_or(|row| row.state == CallState::Proposed));
    if has_not_begun {
        let gone = wiring.dispatcher.actor();
        let again = DispatcherMsg::Dispatch { request: request.clone(), reply };
        let Err(back) = wiring.dispatcher.send(again) else { return };
        let wait = wiring.around.limits.ask_timeout;
        let came_back = tokio::select! {
            _ = wiring.dispatcher.after(&gone) => true,
            () = wiring.dispatcher.given_up() => false,
            () = sleep(wait) => false,
        };
        match back {
            Some(DispatcherMsg::Dispatch { reply: unused, .. }) if !came_back => reply = unused,
            // Dropping the message says "lost" once more, and that leads here again, to a dispatcher that lives.
            Some(_) | None => return,
        }
    }
    let end = settle(&wiring.around, request, &Fault::REPLY_LOST).await;
    reply.send(DispatcherEvent::Ended(end));
}

/// Whether the store has a job of a session with this write in it. All of a job was written, or none.
pub(super) async fn has_happened(session: &SessionId, part: &Write, wiring: &Wiring) -> bool {
    let Ok(Some(stored)) = wiring.store.store().session(session).await else { return false };
    let open = |turn| stored.open_turn.as_ref().filter(|open| open.turn == turn);
    match part {
        Write::TurnStarted { turn, .. } => open(*turn).is_some(),
        Write::TurnEnded { turn, .. } => open(*turn).is_none(),
        Write::Turn { turn, step: TurnStep::Called { round, .. }, .. } => {
            open(*turn).is_some_and(|open| open.round >= *round)
        }
        Write::Turn { turn, step: TurnStep::Dismissed, .. } => {
            open(*turn).is_some_and(|open| open.is_dismissed)
        }
        // What they count need not be exact.
        Write::Turn { step: TurnStep::Resumed | TurnStep::Suspended, .. } => true,
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
