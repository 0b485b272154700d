//! The replay of events that a reader missed, made from what the store has.

use std::{any::Any, collections::VecDeque, sync::Arc, time::Duration};

use crate::{
    dispatcher::CallContext,
    port::{PartSize, Store, StoreError, StoredEnd, StoredEntry},
    protocol::{
        ChatMessage, Content, EventCursor, EventKind, Languages, Locale, SessionEvent, SessionId,
        Text, TurnEnding, TurnError, Usage,
    },
};

/// The source of events that are not in memory any more.
#[derive(Debug, Clone)]
pub(in crate::session) struct Replay {
    session: SessionId,
    /// The slot of the session, which has one feed while any reader is left.
    _slot: Arc<dyn Any + Send + Sync>,
    store: Arc<dyn Store>,
    /// How much is read at once.
    part: PartSize,
    languages: Languages,
    /// Whether the last read failed: the next one waits for a while.
    has_failed: bool,
}

impl Replay {
    /// Makes the replay for a reader of this session, which keeps the slot.
    pub(in crate::session) fn new(
        session: SessionId,
        slot: Arc<dyn Any + Send + Sync>,
        calls: &CallContext,
    ) -> Self {
        let store = calls.store.store().clone();
        let languages = calls.languages.clone();
        let part = PartSize {
            numbers: calls.limits.max_feed_events.max(1),
            bytes: calls.limits.max_replay_bytes,
        };
        Self { session, _slot: slot, store, part, languages, has_failed: false }
    }

    /// Copies the replay, with whether a read has just failed.
    pub(super) fn after(self, has_failed: bool) -> Self {
        Self { has_failed, ..self }
    }

    /// Reads events after a cursor up to another. Returns the cursor after which to read on, until
    /// all are read.
    pub(in crate::session) async fn read(
        &self,
        after: EventCursor,
        to: EventCursor,
    ) -> Result<(VecDeque<SessionEvent>, Option<EventCursor>), StoreError> {
        if self.has_failed {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        // The end of the entry's own turn may come after the cursor.
        let from = if after == after.end() { after.entry() + 1 } else { after.entry() };
        let part = self.store.transcript(&self.session, from, self.part).await?;
        let events = part.entries.iter().flat_map(|entry| events(entry, &self.languages));
        let events = events.filter(|event| event.cursor > after && event.cursor <= to).collect();
        let next = part.next.filter(|next| *next <= to.entry());
        Ok((events, next.map(|next| EventCursor::of_entry(next - 1).end())))
    }
}

/// Makes the events of an entry, and of the end of its turn.
fn events(entry: &StoredEntry, languages: &Languages) -> Vec<SessionEvent> {
    let StoredEntry { message, language, end } = entry;
    let locale = languages.locale(*language);
    let cursor = EventCursor::of_entry(message.seq);
    let event = |at, (cursor, kind)| SessionEvent { seq: 0, cursor, turn: message.turn, at, kind };
    let mut events = vec![event(message.at, (cursor, kind_of(message, locale)))];
    if let Some((at, StoredEnd { ending, error, usage })) = end {
        let (failed, ended) = kinds_of_end(*ending, error.as_ref(), *usage, locale);
        events.extend(failed.map(|kind| event(*at, (cursor.error(), kind))));
        events.push(event(*at, (cursor.end(), ended)));
    }
    events
}

/// Makes the event of an entry of the transcript.
pub(in crate::session) fn kind_of(message: &ChatMessage, locale: Locale) -> EventKind {
    match message.content.clone() {
        Content::User { text, key, origin } => EventKind::UserMessage { text, key, origin },
        Content::Model { text, ending, model, origin } => {
            EventKind::ModelMessage { text, ending, model, origin }
        }
        Content::ToolCall(record) => EventKind::ToolCallEnded { record },
        Content::Notice { notice } => {
            EventKind::SystemNotice { notice, text: Text::Notice(notice).in_locale(locale) }
        }
        Content::Cleared => EventKind::Cleared,
    }
}

/// Makes the events of the end of a turn: its error, if it has one, and the end.
pub(in crate::session) fn kinds_of_end(
    ending: TurnEnding,
    error: Option<&TurnError>,
    usage: Usage,
    locale: Locale,
) -> (Option<EventKind>, EventKind) {
    let failed =
        error.map(|error| EventKind::Error { error: error.clone(), text: error.in_locale(locale) });
    (failed, EventKind::TurnEnded { ending, usage })
}
