//! A call without a model in a session that sleeps. The call may wait long for a person. Until it
//! ends, the chat can be viewed, and a request that would change it is refused as busy.

use std::{pin::pin, sync::Arc};

use tokio::time::{Instant, sleep_until};

use crate::session::{
    RuntimeContext, SessionRequest, SessionSlot, error::Error, lifecycle::waiting::may_be_refused,
    request::SessionView,
};
use crate::{
    mailbox::answer,
    port::{LedgerFilter, StoreError},
    protocol::{ChatMessage, EventCursor, FeedCursor},
};

/// Waits until all work that was begun for the slot has ended. While a call runs in the sleeping
/// session, waiting requests are answered: views at once, and changes within `Limits::ask_timeout`.
pub(super) async fn writes_ended(slot: &Arc<SessionSlot>, context: &RuntimeContext) {
    let mut ended = pin!(slot.writes_ended());
    let until = Instant::now() + context.calls.limits.ask_timeout;
    loop {
        let is_late = Instant::now() >= until;
        if slot.has_call_beside() {
            let is_answered =
                |request: &SessionRequest| is_look(request) || is_late && may_be_refused(request);
            for request in slot.take_waiting(is_answered) {
                look(request, slot, context).await;
            }
        }
        tokio::select! {
            biased;
            () = &mut ended => return,
            () = slot.request_arrives() => {}
            () = sleep_until(until), if !is_late => {}
        }
    }
}

/// Returns whether a request is answered without a change.
const fn is_look(request: &SessionRequest) -> bool {
    matches!(
        request,
        SessionRequest::State { .. }
            | SessionRequest::Attach { .. }
            | SessionRequest::Turn { .. }
            | SessionRequest::Dismiss { .. }
    )
}

/// Answers a request by what the store has. No turn is open.
async fn look(request: SessionRequest, slot: &Arc<SessionSlot>, context: &RuntimeContext) {
    match request {
        SessionRequest::Submit(_)
        | SessionRequest::Clear { .. }
        | SessionRequest::Import { .. } => {
            request.refuse(Error::Busy);
        }
        SessionRequest::Dismiss { .. } => request.refuse(Error::NoTurn),
        SessionRequest::State { page, reply } => {
            let view = published(slot, context).await.map(|(messages, cursor)| {
                let (messages, earlier) = page.entries(&messages);
                let messages = messages.to_vec();
                let rest = SessionView::default();
                SessionView { messages, earlier, cursor, ..rest }
            });
            answer(reply, view.map_err(Error::Store));
        }
        SessionRequest::Turn { reply, .. } => answer(reply, Ok(None)),
        SessionRequest::Attach { reply, .. } => {
            let published = published(slot, context).await;
            answer(reply, published.map(|_| None).map_err(Error::Store));
        }
        SessionRequest::Resume { .. } | SessionRequest::TakeResolved => {}
    }
}

/// Reads the entries that the feed has published, or will not publish, and the position after them.
async fn published(
    slot: &Arc<SessionSlot>,
    context: &RuntimeContext,
) -> Result<(Vec<ChatMessage>, FeedCursor), StoreError> {
    let store = context.store.store();
    let session = slot.session();
    if slot.feed().published_up_to().is_none() {
        let open = store.calls(&LedgerFilter::open_calls().in_session(session)).await?;
        let stored = store.session(session).await?;
        let last = stored.map_or(0, |stored| stored.row.last_seq);
        let shown = open.iter().map(|row| row.seq - 1).fold(last, u64::min);
        slot.feed().begins_at(EventCursor::of_entry(shown).end());
    }
    // Before the entries are read: what is published later comes after the view.
    let cursor = slot.feed().published_so_far().cursor;
    let mut messages = store.session(session).await?.map_or(Vec::new(), |stored| stored.messages);
    messages.retain(|message| message.seq <= cursor.stored.entry());
    Ok((messages, cursor))
}
