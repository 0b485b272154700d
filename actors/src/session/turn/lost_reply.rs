//! Finds out what became of a call, or of a write, whose reply was lost. Only the store decides.

use std::sync::Arc;

use tokio::time::sleep;
use tracing::warn;

use crate::session::{
    RuntimeContext,
    msg::{Outgoing, Purpose},
};
use crate::{
    dispatcher::{DispatchRequest, DispatcherEvent, DispatcherMsg, end_lost},
    ledger::CallState,
    mailbox::Reply,
    port::{LedgerFilter, Store},
    protocol::{ChatMessage, Fault, SessionId, TurnId},
};

/// Dispatches the call again if the ledger has only its proposal. Otherwise brings it to the end
/// that the ledger has.
///
/// Such a call has not begun. A reply is lost with a dispatcher's mailbox, or with a call's actors,
/// and so are their uncommitted steps. If a commit is nevertheless on its way, the ledger refuses
/// the second run.
pub(in crate::session) async fn recover(
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

/// The sign by which a write of a session is recognised in the store. All of it was written, or
/// nothing.
#[derive(Debug, PartialEq)]
pub(in crate::session) enum Sign {
    TurnStarted(TurnId),
    TurnEnded(TurnId),
    Called {
        turn: TurnId,
        round: u32,
    },
    Dismissed(TurnId),
    /// A step that is counted, which need not be exact.
    Counted,
    Said(Box<ChatMessage>),
    Revoked,
}

impl Sign {
    /// Chooses the sign of a write.
    pub(super) fn of(write: &Outgoing) -> Self {
        match &write.purpose {
            Purpose::Begin(turn) => Self::TurnStarted(*turn),
            Purpose::Round(turn, round) => Self::Called { turn: *turn, round: *round },
            Purpose::Dismiss(turn, _) => Self::Dismissed(*turn),
            Purpose::Resume(_) | Purpose::Suspend(_) => Self::Counted,
            Purpose::End(end) => Self::TurnEnded(end.0.turn),
            // The revocation shows least, because it changes nothing if there is no approval.
            Purpose::Clear(_) | Purpose::Import(_) => write
                .messages
                .first()
                .map_or(Self::Revoked, |message| Self::Said(Box::new(message.clone()))),
        }
    }

    /// Returns whether the store shows the sign.
    pub(in crate::session) async fn is_seen(&self, session: &SessionId, store: &dyn Store) -> bool {
        let Ok(Some(stored)) = store.session(session).await else { return false };
        let open = |turn| stored.open_turn.as_ref().filter(|open| open.turn == turn);
        match self {
            // Nothing else of the turn is written before this is known.
            Self::TurnStarted(turn) => open(*turn).is_some(),
            Self::TurnEnded(turn) => open(*turn).is_none(),
            // A turn that is over needs its steps no more: its end is written after them.
            Self::Called { turn, round } => open(*turn).is_none_or(|open| open.round >= *round),
            Self::Dismissed(turn) => open(*turn).is_none_or(|open| open.is_dismissed),
            Self::Counted => true,
            Self::Said(message) => stored.messages.contains(message),
            Self::Revoked => {
                let filter = LedgerFilter::standing_approvals().in_session(session);
                store.calls(&filter).await.is_ok_and(|standing| standing.is_empty())
            }
        }
    }
}
