//! What happens in a session: written once, read by any number of subscribers at their own pace.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::watch;

use crate::protocol::{
    CompletionDelta, CompletionId, EventCursor, EventKind, SessionEvent, Timestamp, TurnId,
};
use crate::session::{Subscription, events::replay::Replay};

/// What an event tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The entry of the transcript with this number.
    Entry(u64),
    /// How a turn ended, which the store has.
    End,
    /// Something that the store does not tell again.
    Transient,
}

/// The feed of one session: a ring of events and the text that is being spoken.
#[derive(Debug)]
pub struct Feed {
    recent: Mutex<Recent>,
    pub(crate) changed: watch::Sender<()>,
    max_events: usize,
    max_streaming_bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Recent {
    /// The number of the first event that is kept; events are numbered from 1.
    pub(crate) first: u64,
    pub(crate) events: VecDeque<Kept<Arc<SessionEvent>>>,
    /// Where the story stood when the session first woke behind this feed; `None` before.
    pub(crate) begins: Option<EventCursor>,
    /// How far the story was told.
    pub(crate) published_up_to: EventCursor,
    /// How far it is not in memory any more.
    pub(crate) gone: EventCursor,
    pub(crate) speaking: Option<CompletionId>,
    pub(crate) text: Beginning,
    pub(crate) thinking: Beginning,
    /// Subscriptions older than this hear nothing more.
    pub(crate) audience: u64,
    /// Where the turn began to go on to which nobody has listened yet, and how far the story was told then.
    pub(crate) unheard: Option<(u64, EventCursor)>,
}

/// An event, and whether the store has what it tells.
#[derive(Debug)]
pub(crate) struct Kept<E> {
    pub(crate) event: E,
    pub(crate) is_stored: bool,
}

/// A text of which the beginning is kept, without holes.
#[derive(Debug, Default)]
pub(crate) struct Beginning {
    pub(crate) text: String,
    is_cut: bool,
}

impl Beginning {
    /// Keeps the piece, unless it or one before it does not fit.
    fn push(&mut self, piece: &str, max_bytes: usize) -> bool {
        self.is_cut |= self.text.len() + piece.len() > max_bytes;
        if !self.is_cut {
            self.text.push_str(piece);
        }
        !self.is_cut
    }
}

impl Feed {
    /// An empty feed that keeps this many events and bytes of text.
    #[must_use]
    pub fn new(max_events: usize, max_streaming_bytes: usize) -> Arc<Self> {
        let recent = Recent {
            first: 1,
            events: VecDeque::new(),
            begins: None,
            published_up_to: EventCursor::START,
            gone: EventCursor::START,
            speaking: None,
            text: Beginning::default(),
            thinking: Beginning::default(),
            audience: 0,
            unheard: None,
        };
        Arc::new(Self {
            recent: Mutex::new(recent),
            changed: watch::Sender::new(()),
            max_events,
            max_streaming_bytes,
        })
    }

    /// From now on only this completion is heard.
    pub fn begin(&self, completion: CompletionId) {
        let mut recent = self.recent();
        recent.silence();
        recent.speaking = Some(completion);
    }

    /// Called by the model's thread for each piece. Never waits; a late completion is not heard.
    pub fn push(&self, completion: CompletionId, delta: CompletionDelta<'_>) {
        let mut recent = self.recent();
        if recent.speaking != Some(completion) {
            return;
        }
        let (kept, piece) = match delta {
            CompletionDelta::Text(piece) => (&mut recent.text, piece),
            CompletionDelta::Thinking(piece) => (&mut recent.thinking, piece),
            CompletionDelta::Began => return,
        };
        if !kept.push(piece, self.max_streaming_bytes) {
            return; // the message at the end has it all
        }
        drop(recent);
        self.changed.send_replace(());
    }

    /// What has been spoken of the completion that speaks now.
    #[must_use]
    pub fn spoken(&self) -> String {
        self.recent().text.text.clone()
    }

    /// Ends the speaking and gives what had been spoken: no late delta is heard.
    pub fn silence(&self) -> String {
        self.recent().silence()
    }

    /// The session wakes: the store has its story up to here, and what is told from now on comes behind that. Later wakings
    /// find the feed where it was.
    pub(crate) fn begins_at(&self, cursor: EventCursor) {
        let mut recent = self.recent();
        if recent.begins.is_none() {
            (recent.begins, recent.published_up_to, recent.gone) = (Some(cursor), cursor, cursor);
        }
    }

    /// How far the story was told behind this feed; `None` before the session first woke.
    pub(crate) fn published_up_to(&self) -> Option<EventCursor> {
        let recent = self.recent();
        recent.begins.map(|_| recent.published_up_to)
    }

    /// Tells an event that was read from the store, at its cursor.
    pub(crate) fn republish(&self, event: SessionEvent) {
        let SessionEvent { kind, cursor, turn, at, .. } = event;
        let is_end = matches!(kind, EventKind::Error { .. } | EventKind::TurnEnded { .. });
        let durability = if is_end { Durability::End } else { Durability::Entry(cursor.entry()) };
        self.publish(turn, at, durability, kind);
    }

    /// Tells an event.
    pub fn publish(&self, turn: TurnId, at: Timestamp, durability: Durability, kind: EventKind) {
        let mut recent = self.recent();
        if matches!(kind, EventKind::ModelMessage { .. }) {
            // The message replaces the streamed text in one step.
            recent.silence();
        }
        let seq = recent.next();
        if kind == EventKind::TurnResumed {
            recent.unheard = Some((seq, recent.published_up_to));
        } else if matches!(kind, EventKind::TurnEnded { .. }) {
            recent.unheard = None;
        }
        recent.published_up_to = match (durability, &kind) {
            (Durability::Entry(seq), _) => EventCursor::of_entry(seq),
            (Durability::End, EventKind::Error { .. }) => recent.published_up_to.error(),
            (Durability::End, _) => recent.published_up_to.end(),
            (Durability::Transient, _) => recent.published_up_to,
        };
        let event = Arc::new(SessionEvent { seq, cursor: recent.published_up_to, turn, at, kind });
        recent.events.push_back(Kept { event, is_stored: durability != Durability::Transient });
        if recent.events.len() > self.max_events
            && let Some(oldest) = recent.events.pop_front()
        {
            recent.first += 1;
            recent.gone = oldest.event.cursor;
        }
        drop(recent);
        self.changed.send_replace(());
    }

    /// Ends every subscription that there is: a closed screen hears nothing more.
    pub fn close_subscriptions(&self) {
        self.recent().audience += 1;
        self.changed.send_replace(());
    }

    /// Reads from here on; the first who listens to a turn that goes on after a start, from where that began to.
    #[must_use]
    pub fn subscribe(self: &Arc<Self>) -> Subscription {
        let mut recent = self.recent();
        let unheard = recent.unheard.take();
        let next = unheard.map_or_else(|| recent.next(), |(seq, _)| seq);
        let mut subscription = Subscription::from(self, next, &recent);
        if let Some((_, cursor)) = unheard {
            // The ring may have forgotten what lies behind it.
            subscription.read_to = Some(cursor);
        }
        subscription
    }

    /// Reads on behind a cursor, once the session has woken. What is not in memory is read from this replay.
    pub(crate) fn subscribe_after(
        self: &Arc<Self>,
        cursor: EventCursor,
        replay: Replay,
    ) -> Subscription {
        let mut recent = self.recent();
        recent.unheard = None;
        let is_read =
            |kept: &Kept<Arc<SessionEvent>>| kept.is_stored && kept.event.cursor <= cursor;
        let read = recent.events.iter().rposition(is_read).map_or(0, |last| last as u64 + 1);
        let mut subscription = Subscription::from(self, recent.first + read, &recent);
        subscription.read_to = Some(cursor);
        subscription.behind = (cursor < recent.gone).then_some((cursor, recent.gone));
        subscription.with(replay)
    }

    /// Reads from here on, and is not counted as somebody who listens.
    #[must_use]
    pub fn watch(self: &Arc<Self>) -> Subscription {
        let recent = self.recent();
        Subscription::from(self, recent.next(), &recent)
    }

    pub(crate) fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().expect("no code under this lock panics")
    }
}

impl Recent {
    /// The number of the event that comes next.
    fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    fn silence(&mut self) -> String {
        self.speaking = None;
        self.thinking = Beginning::default();
        std::mem::take(&mut self.text).text
    }
}
