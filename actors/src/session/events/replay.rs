//! The replay of events that a reader missed, made from what the store has.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use crate::session::{SessionSlot, Subscription};
use crate::{
    port::{Store, StoreError, StoredEnd, StoredEntry},
    protocol::{
        ChatMessage, Content, EventCursor, EventKind, Languages, Limits, Locale, SessionEvent,
        Text, TurnEnding, TurnError, Usage,
    },
};

/// The source of events that are not in memory any more. It keeps the slot, so that the session has one feed while any
/// reader is left.
#[derive(Debug, Clone)]
pub(crate) struct Replay {
    slot: Arc<SessionSlot>,
    store: Arc<dyn Store>,
    /// The number of entries that are read at once.
    max_entries: usize,
    languages: Languages,
    /// Whether the last read failed: the next one waits for a while.
    has_failed: bool,
}

impl SessionSlot {
    /// Subscribes from here on. Missed events are read from the store.
    #[must_use]
    pub fn subscribe(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        limits: &Limits,
        languages: &Languages,
    ) -> Subscription {
        self.feed().subscribe().with(self.replay(store, limits, languages))
    }

    /// Subscribes from here on, and does not count as the first subscriber of a resumed turn.
    #[must_use]
    pub fn watch(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        limits: &Limits,
        languages: &Languages,
    ) -> Subscription {
        self.feed().watch().with(self.replay(store, limits, languages))
    }

    /// Subscribes behind a cursor. The session must have woken since the slot was made, or earlier events count as
    /// missed.
    #[must_use]
    pub fn subscribe_after(
        self: &Arc<Self>,
        cursor: EventCursor,
        store: &Arc<dyn Store>,
        limits: &Limits,
        languages: &Languages,
    ) -> Subscription {
        self.feed().subscribe_after(cursor, self.replay(store, limits, languages))
    }

    pub(crate) fn replay(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        limits: &Limits,
        languages: &Languages,
    ) -> Replay {
        Replay::new(self.clone(), store.clone(), limits.max_feed_events, languages.clone())
    }
}

impl Replay {
    pub(crate) fn new(
        slot: Arc<SessionSlot>,
        store: Arc<dyn Store>,
        max_entries: usize,
        languages: Languages,
    ) -> Self {
        Self { slot, store, max_entries: max_entries.max(1), languages, has_failed: false }
    }

    /// Copies the replay, with whether a read has just failed.
    pub(crate) fn after(self, has_failed: bool) -> Self {
        Self { has_failed, ..self }
    }

    /// Reads events behind a cursor up to another. Gives the cursor behind which to read on, until all are read.
    pub(crate) async fn read(
        &self,
        after: EventCursor,
        to: EventCursor,
    ) -> Result<(VecDeque<SessionEvent>, Option<EventCursor>), StoreError> {
        if self.has_failed {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        // The end of the entry's own turn may be behind the cursor.
        let from = if after == after.end() { after.entry() + 1 } else { after.entry() };
        let part = self.store.transcript(self.slot.session(), from, self.max_entries).await?;
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
pub(crate) fn kind_of(message: &ChatMessage, locale: Locale) -> EventKind {
    match message.content.clone() {
        Content::User { text } => EventKind::UserMessage { text },
        Content::Model { text, ending } => EventKind::ModelMessage { text, ending },
        Content::ToolCall(record) => EventKind::ToolCallEnded { record },
        Content::Notice { notice } => {
            EventKind::SystemNotice { notice, text: Text::Notice(notice).in_locale(locale) }
        }
        Content::Cleared => EventKind::Cleared,
    }
}

/// Makes the events of the end of a turn: its error, if it has one, and the end.
pub(crate) fn kinds_of_end(
    ending: TurnEnding,
    error: Option<&TurnError>,
    usage: Usage,
    locale: Locale,
) -> (Option<EventKind>, EventKind) {
    let failed = error.map(|error| {
        let text = match error {
            TurnError::TooManyRounds => Text::TooManyRounds.in_locale(locale),
            TurnError::Model { kind, .. } => Text::ModelFailed(kind).in_locale(locale),
            TurnError::Store => Text::TurnNotStored.in_locale(locale),
            TurnError::CutOff => Text::TurnCutOff.in_locale(locale),
        };
        EventKind::Error { error: error.clone(), text }
    });
    (failed, EventKind::TurnEnded { ending, usage })
}
