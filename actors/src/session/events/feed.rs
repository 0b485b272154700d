//! The feed of a session's events: written once, read by any number of subscribers at their own
//! pace.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::watch;

use super::progress::CallsProgress;
use crate::mailbox::Recipient;
use crate::protocol::{
    CallId, CompletionDelta, CompletionId, EventCursor, EventKind, FeedCursor, FeedEpoch, Limits,
    ResolvedCall, SessionEvent, Timestamp, ToolProgress, TurnId, json_bytes,
};

/// Whether the store has what an event reports, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The store has it as the entry of the transcript with this number.
    Entry(u64),
    /// The store has it as the end of a turn.
    End,
    /// The store does not have it.
    Transient,
}

/// Whether there is an actor that takes a resolution into its chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum ActorTakes {
    /// The actor is awake, or wakes and will receive it.
    Yes,
    /// The session sleeps, and reads the resolution from the store when it wakes.
    No,
}

/// The feed of one session: a ring of events and the text that is being streamed.
#[derive(Debug)]
pub struct Feed {
    recent: Mutex<Recent>,
    pub(super) changed: watch::Sender<()>,
    pub(super) epoch: FeedEpoch,
    bounds: FeedBounds,
}

/// The bounds on what a feed keeps.
#[derive(Debug, Clone, Copy)]
pub struct FeedBounds {
    /// Events.
    pub events: usize,
    /// Bytes of these events. The last one is kept whatever its bytes are.
    pub event_bytes: usize,
    /// Bytes of text that is being streamed.
    pub streaming_bytes: usize,
}

impl FeedBounds {
    /// Returns the bounds of a session's feed.
    #[must_use]
    pub const fn of(limits: &Limits) -> Self {
        Self {
            events: limits.max_feed_events,
            event_bytes: limits.max_feed_bytes,
            streaming_bytes: limits.max_streaming_bytes,
        }
    }
}

#[derive(Debug)]
pub(super) struct Recent {
    /// The number of the oldest event in the ring; events are numbered from 1.
    pub(super) first: u64,
    pub(super) events: VecDeque<PublishedEvent<Arc<SessionEvent>>>,
    /// The bytes of the events in the ring.
    bytes: usize,
    /// The cursor at which the session first woke with this feed. `None` before that.
    pub(in crate::session) begins: Option<EventCursor>,
    /// The cursor of the last event published.
    pub(in crate::session) published_up_to: EventCursor,
    /// The cursor up to which events have left memory.
    pub(super) gone: EventCursor,
    pub(super) speaking: Option<CompletionId>,
    pub(super) text: Beginning,
    pub(super) thinking: Beginning,
    /// How far the calls of the turn have come.
    pub(super) progress: CallsProgress,
    /// The generation of subscriptions; older ones receive nothing more.
    pub(super) audience: u64,
    /// Whether all subscriptions have ended, also those that begin later.
    pub(super) is_closed: bool,
    /// The first event of a turn that goes on without a subscriber so far, and the cursor before
    /// it.
    pub(super) unheard: Option<(u64, EventCursor)>,
    /// The resolutions that were published and that the session's actor has not taken.
    untaken: Vec<ResolvedCall>,
}

/// All that a feed has published, at one moment.
#[derive(Debug)]
pub(in crate::session) struct PublishedSoFar {
    /// The position after the last event.
    pub(in crate::session) cursor: FeedCursor,
    /// The text that is being streamed.
    pub(in crate::session) text: String,
    /// The resolutions among the events that the session's actor has not taken.
    pub(in crate::session) resolved: Vec<ResolvedCall>,
}

/// An event, and whether the store has what it reports.
#[derive(Debug)]
pub(super) struct PublishedEvent<E> {
    pub(super) event: E,
    pub(super) is_stored: bool,
    /// Its bytes as JSON, or the most bytes that a feed may keep if there are more.
    bytes: usize,
}

/// The beginning of a text, without holes.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    pub(super) text: String,
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
    /// Makes an empty feed with these bounds.
    ///
    /// # Panics
    /// If the system has no random numbers.
    #[must_use]
    pub fn new(bounds: FeedBounds) -> Arc<Self> {
        let recent = Recent {
            first: 1,
            events: VecDeque::new(),
            bytes: 0,
            begins: None,
            published_up_to: EventCursor::START,
            gone: EventCursor::START,
            speaking: None,
            text: Beginning::default(),
            thinking: Beginning::default(),
            progress: CallsProgress::default(),
            audience: 0,
            is_closed: false,
            unheard: None,
            untaken: Vec::new(),
        };
        Arc::new(Self {
            recent: Mutex::new(recent),
            changed: watch::Sender::new(()),
            epoch: FeedEpoch::new(
                getrandom::u64().expect("the system has random numbers, of which ids are made too"),
            ),
            bounds,
        })
    }

    /// Accepts text only from this completion from now on.
    pub fn begin(&self, completion: CompletionId) {
        let mut recent = self.recent();
        recent.silence();
        recent.speaking = Some(completion);
    }

    /// Adds a piece of text from the model's thread. Never waits. Text of any other completion is
    /// ignored.
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
        if !kept.push(piece, self.bounds.streaming_bytes) {
            return; // the message at the end has the whole text
        }
        drop(recent);
        self.changed.send_replace(());
    }

    /// Makes the receiver of a call's reports. A report after the end of the call or its turn is
    /// ignored.
    pub(in crate::session) fn progress_of(
        self: &Arc<Self>,
        turn: TurnId,
        call: CallId,
    ) -> Recipient<ToolProgress> {
        self.recent().progress.expect(turn, call);
        let feed = Arc::downgrade(self);
        Recipient::function(move |report| {
            let Some(feed) = feed.upgrade() else { return false };
            let is_read = feed.recent().progress.report(call, report);
            if is_read {
                feed.changed.send_replace(());
            }
            is_read
        })
    }

    /// Returns all that was published so far, and takes the resolutions.
    pub(in crate::session) fn published_so_far(&self) -> PublishedSoFar {
        let mut recent = self.recent();
        let published = Some((self.epoch, recent.next() - 1));
        PublishedSoFar {
            cursor: FeedCursor { stored: recent.published_up_to, published },
            text: recent.text.text.clone(),
            resolved: std::mem::take(&mut recent.untaken),
        }
    }

    /// Takes the resolutions that were published since they were taken last.
    pub(in crate::session) fn take_resolved(&self) -> Vec<ResolvedCall> {
        std::mem::take(&mut self.recent().untaken)
    }

    /// Returns the text of the completion that streams now.
    #[must_use]
    pub fn spoken(&self) -> String {
        self.recent().text.text.clone()
    }

    /// Ends the streaming and returns its text. Later pieces are ignored.
    pub fn silence(&self) -> String {
        self.recent().silence()
    }

    /// Ends the streaming of this completion, unless another streams already.
    pub(in crate::session) fn silence_of(&self, completion: CompletionId) {
        let mut recent = self.recent();
        if recent.speaking == Some(completion) {
            recent.silence();
        }
    }

    /// Marks that the session wakes and that the store has its events up to here. Events published
    /// from now on come after that. A later waking does not change this. Returns the cursor of the
    /// last event published.
    pub(in crate::session) fn begins_at(&self, cursor: EventCursor) -> EventCursor {
        let mut recent = self.recent();
        if recent.begins.is_none() {
            (recent.begins, recent.published_up_to, recent.gone) = (Some(cursor), cursor, cursor);
            // What was published while the session slept, such as a resolution, comes after all
            // that the store has.
            for published in &mut recent.events {
                Arc::make_mut(&mut published.event).cursor = cursor;
            }
        }
        recent.published_up_to
    }

    /// Returns the cursor of the last event published, or `None` before the session first woke.
    pub(in crate::session) fn published_up_to(&self) -> Option<EventCursor> {
        let recent = self.recent();
        recent.begins.map(|_| recent.published_up_to)
    }

    /// Publishes an event that was read from the store, at its cursor.
    pub(in crate::session) fn republish(&self, event: SessionEvent) {
        let SessionEvent { kind, cursor, turn, at, .. } = event;
        let is_end = matches!(kind, EventKind::Error { .. } | EventKind::TurnEnded { .. });
        let durability = if is_end { Durability::End } else { Durability::Entry(cursor.entry()) };
        self.publish(turn, at, durability, kind);
    }

    /// Publishes an event.
    pub fn publish(&self, turn: TurnId, at: Timestamp, durability: Durability, kind: EventKind) {
        self.tell(self.recent(), (turn, at), durability, kind);
    }

    /// Publishes a resolution. An actor can take it at the same moment at which readers receive it,
    /// so its view has what its cursor says.
    pub(in crate::session) fn publish_resolved(
        &self,
        turn: TurnId,
        at: Timestamp,
        resolved: ResolvedCall,
        text: String,
        actor: ActorTakes,
    ) {
        let mut recent = self.recent();
        if actor == ActorTakes::Yes {
            recent.untaken.push(resolved.clone());
        }
        let kind = EventKind::ToolCallResolved { resolved, text };
        // Not stored as an event: a later reader of the call's entry reads it resolved.
        self.tell(recent, (turn, at), Durability::Transient, kind);
    }

    fn tell(
        &self,
        mut recent: MutexGuard<'_, Recent>,
        (turn, at): (TurnId, Timestamp),
        durability: Durability,
        kind: EventKind,
    ) {
        if matches!(kind, EventKind::ModelMessage { .. }) {
            // The message replaces the streamed text in one step.
            recent.silence();
        }
        recent.progress.on(&kind);
        let seq = recent.next();
        // Counting ends at the bound, so the longest event costs no more time than this.
        let max_bytes = self.bounds.event_bytes;
        let bytes = json_bytes(&kind, max_bytes).unwrap_or(max_bytes);
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
        let is_stored = durability != Durability::Transient;
        recent.bytes += bytes;
        recent.events.push_back(PublishedEvent { event, is_stored, bytes });
        while recent.keeps_more_than(self.bounds)
            && let Some(oldest) = recent.events.pop_front()
        {
            recent.first += 1;
            recent.bytes -= oldest.bytes;
            recent.gone = oldest.event.cursor;
        }
        drop(recent);
        self.changed.send_replace(());
    }

    /// Ends every present subscription, so that a dismissed reader receives nothing more.
    pub fn close_subscriptions(&self) {
        self.recent().audience += 1;
        self.changed.send_replace(());
    }

    /// Ends every present and later subscription, because there is nothing left to read.
    pub(in crate::session) fn close(&self) {
        self.recent().is_closed = true;
        self.changed.send_replace(());
    }

    pub(super) fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().expect("no code under this lock panics")
    }
}

impl Recent {
    /// Returns the number of the next event.
    pub(super) fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    fn keeps_more_than(&self, bounds: FeedBounds) -> bool {
        let is_full = self.events.len() > bounds.events || self.bytes > bounds.event_bytes;
        is_full && self.events.len() > 1
    }

    fn silence(&mut self) -> String {
        self.speaking = None;
        self.thinking = Beginning::default();
        std::mem::take(&mut self.text).text
    }
}
