//! Finds an approval request that a slow reader has missed. The store does not replay it, and its
//! turn waits.

use madang::{
    Session, Timestamp, TurnId,
    approval::ApprovalRequest,
    event::{EventCursor, EventKind, SessionEvent, StreamItem},
    session::ViewPage,
};

/// Watches what was sent to a reader. If the reader missed events, it receives the open request,
/// after everything that precedes it.
#[derive(Debug, Default)]
pub(crate) struct MissedRequest {
    /// The chat to look at. `None` for readers that look themselves.
    session: Option<Session>,
    /// The position of the reader.
    told: EventCursor,
    /// The request, and the position after which it is open.
    open: Option<(EventCursor, StreamItem)>,
}

impl MissedRequest {
    /// Watches for a reader of this chat that is at this cursor.
    pub(crate) const fn new(session: Session, told: EventCursor) -> Self {
        Self { session: Some(session), told, open: None }
    }

    /// Looks at the chat after a reader has missed events.
    pub(crate) async fn look(&mut self, now: Timestamp) {
        let Some(session) = &self.session else { return };
        // A session that cannot be reached ends the stream in any case.
        let Ok(view) = session.view(ViewPage::NONE).await else { return };
        let (Some(turn), Some(request)) = (view.turn, view.approval_request) else { return };
        let cursor = view.cursor.stored;
        self.open = Some((cursor, requested(turn, request, cursor, now)));
    }

    /// Records what the reader is sent.
    pub(crate) fn told(&mut self, item: &StreamItem) {
        if let StreamItem::Event(event) = item {
            self.told = self.told.max(event.cursor);
        }
    }

    /// Returns the request after the reader has received everything that precedes it.
    pub(crate) fn due(&mut self) -> Option<StreamItem> {
        let told = self.told;
        self.open.take_if(|(behind, _)| *behind <= told).map(|(_, request)| request)
    }
}

/// Makes the event of a request that is open.
pub(crate) fn requested(
    turn: TurnId,
    request: ApprovalRequest,
    cursor: EventCursor,
    at: Timestamp,
) -> StreamItem {
    let kind = EventKind::ApprovalRequested { request };
    StreamItem::Event(SessionEvent { kind, seq: 0, cursor, turn, at }.into())
}
