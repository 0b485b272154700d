//! What happens in a session: written once, read by any number of subscribers at their own pace.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::watch;
use tracing::warn;

use super::archive::Archive;
use crate::protocol::{
    CompletionDelta, CompletionId, EventKind, EventPlace, SessionEvent, Timestamp, TurnId,
};

/// What a subscriber reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// Something happened.
    Event(Arc<SessionEvent>),
    /// The model goes on speaking: only what is new. The message that follows replaces it all.
    Text(String),
    /// The model goes on thinking aloud.
    Thinking(String),
    /// The subscriber was too slow: these events are gone from memory. What the store keeps of them follows, in order; the
    /// rest only told how things went.
    Lagged {
        /// The first that was missed.
        from: u64,
        /// The first that is still there.
        to: u64,
    },
    /// What was missed could not be read from the store. It is tried again.
    Unread,
}

/// What an event tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The entry of the transcript with this number.
    Entry(u64),
    /// How a turn ended, which the store has.
    End,
    /// Something that the store does not tell again.
    Progress,
}

/// The feed of one session: a ring of events and the text that is being spoken.
#[derive(Debug)]
pub struct Feed {
    recent: Mutex<Recent>,
    changed: watch::Sender<()>,
    max_events: usize,
    max_streaming_bytes: usize,
}

#[derive(Debug)]
struct Recent {
    /// The number of the first event that is kept; events are numbered from 1.
    first: u64,
    events: VecDeque<Kept<Arc<SessionEvent>>>,
    /// Where the story stood when the session first woke behind this feed; `None` before.
    begun: Option<EventPlace>,
    /// How far the story was told.
    told: EventPlace,
    /// How far it is not in memory any more.
    gone: EventPlace,
    speaking: Option<CompletionId>,
    text: Beginning,
    thinking: Beginning,
    /// Subscriptions older than this hear nothing more.
    audience: u64,
    /// Where the turn began to go on to which nobody has listened yet.
    unheard: Option<u64>,
}

/// An event, and whether the store has what it tells.
#[derive(Debug)]
struct Kept<E> {
    event: E,
    is_stored: bool,
}

/// A text of which the beginning is kept, without holes.
#[derive(Debug, Default)]
struct Beginning {
    text: String,
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
            begun: None,
            told: EventPlace::START,
            gone: EventPlace::START,
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
    pub(super) fn begins_at(&self, place: EventPlace) {
        let mut recent = self.recent();
        if recent.begun.is_none() {
            (recent.begun, recent.told, recent.gone) = (Some(place), place, place);
        }
    }

    /// How far the story was told behind this feed; `None` before the session first woke.
    pub(super) fn told(&self) -> Option<EventPlace> {
        let recent = self.recent();
        recent.begun.map(|_| recent.told)
    }

    /// The end that was told before the store had it is there now.
    pub(super) fn has_told_end(&self) {
        let mut recent = self.recent();
        recent.told = recent.told.end();
    }

    /// Tells an event that was read from the store, at its place.
    pub(super) fn tell_again(&self, event: SessionEvent) {
        let SessionEvent { kind, place, turn, at, .. } = event;
        let is_end = matches!(kind, EventKind::Error { .. } | EventKind::TurnEnded { .. });
        let told = if is_end { Told::End } else { Told::Entry(place.entry()) };
        self.tell(turn, at, told, kind);
    }

    /// Tells an event.
    pub fn tell(&self, turn: TurnId, at: Timestamp, told: Told, kind: EventKind) {
        let mut recent = self.recent();
        if matches!(kind, EventKind::ModelMessage { .. }) {
            // The message replaces the streamed text in one step.
            recent.silence();
        }
        let seq = recent.next();
        if kind == EventKind::TurnResumed {
            recent.unheard = Some(seq);
        } else if matches!(kind, EventKind::TurnEnded { .. }) {
            recent.unheard = None;
        }
        recent.told = match (told, &kind) {
            (Told::Entry(seq), _) => EventPlace::of_entry(seq),
            (Told::End, EventKind::Error { .. }) => recent.told.error(),
            (Told::End, _) => recent.told.end(),
            (Told::Progress, _) => recent.told,
        };
        let event = Arc::new(SessionEvent { seq, place: recent.told, turn, at, kind });
        recent.events.push_back(Kept { event, is_stored: told != Told::Progress });
        if recent.events.len() > self.max_events
            && let Some(oldest) = recent.events.pop_front()
        {
            recent.first += 1;
            recent.gone = oldest.event.place;
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
        let next = recent.unheard.take().unwrap_or_else(|| recent.next());
        self.subscribe_from(next, &recent)
    }

    /// Reads on behind a place, once the session has woken. What is not in memory is read from this archive.
    pub(super) fn subscribe_after(
        self: &Arc<Self>,
        place: EventPlace,
        archive: Archive,
    ) -> Subscription {
        let mut recent = self.recent();
        recent.unheard = None;
        let is_read = |kept: &Kept<Arc<SessionEvent>>| kept.is_stored && kept.event.place <= place;
        let read = recent.events.iter().rposition(is_read).map_or(0, |last| last as u64 + 1);
        let mut subscription = self.subscribe_from(recent.first + read, &recent);
        subscription.read_to = Some(place);
        subscription.behind = (place < recent.gone).then_some((place, recent.gone));
        subscription.with(archive)
    }

    /// Reads from here on, and is not counted as somebody who listens.
    #[must_use]
    pub fn watch(self: &Arc<Self>) -> Subscription {
        let recent = self.recent();
        self.subscribe_from(recent.next(), &recent)
    }

    fn subscribe_from(self: &Arc<Self>, next: u64, recent: &Recent) -> Subscription {
        let before =
            next.checked_sub(recent.first + 1).and_then(|place| usize::try_from(place).ok());
        let before = before.and_then(|place| recent.events.get(place));
        let read_to = before.map_or(recent.gone, |kept| kept.event.place);
        Subscription {
            next,
            read_to: recent.begun.map(|_| read_to),
            behind: None,
            missed: VecDeque::new(),
            archive: None,
            audience: recent.audience,
            heard: Heard { completion: recent.speaking, text: 0, thinking: 0 },
            changed: self.changed.subscribe(),
            feed: self.clone(),
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
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

/// One reader's place in a feed: a cursor, not a queue. A slow reader costs its own position, and while it catches up a
/// part of the transcript.
#[derive(Debug)]
pub struct Subscription {
    feed: Arc<Feed>,
    changed: watch::Receiver<()>,
    next: u64,
    audience: u64,
    heard: Heard,
    /// How far it has read the story; `None` where that is where the session's next waking begins.
    read_to: Option<EventPlace>,
    /// What it missed and has not read: behind the first place, up to the second.
    behind: Option<(EventPlace, EventPlace)>,
    /// What it missed and has been read from the store.
    missed: VecDeque<SessionEvent>,
    archive: Option<Archive>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Heard {
    completion: Option<CompletionId>,
    text: usize,
    thinking: usize,
}

impl Subscription {
    /// Reads what it misses from this archive.
    pub(super) fn with(mut self, archive: Archive) -> Self {
        self.archive = Some(archive);
        self
    }

    /// Waits for what comes next; `None` when this screen was closed. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Item> {
        loop {
            self.changed.borrow_and_update();
            match self.ready() {
                Ready::Item(item) => return Some(item),
                Ready::Closed => return None,
                Ready::Missed(archive, after, to) => match archive.read(after, to).await {
                    Ok((missed, rest)) => {
                        self.missed = missed;
                        self.behind = rest.map(|after| (after, to));
                    }
                    Err(cause) => {
                        warn!(%cause, "failed to read what a subscriber missed");
                        self.archive = Some(archive.after_a_failure());
                        return Some(Item::Unread);
                    }
                },
                Ready::Nothing => self.changed.changed().await.ok()?,
            }
        }
    }

    /// Gives what is in memory already.
    pub fn try_next(&mut self) -> Option<Item> {
        match self.ready() {
            Ready::Item(item) => Some(item),
            Ready::Closed | Ready::Missed(..) | Ready::Nothing => None,
        }
    }

    fn ready(&mut self) -> Ready {
        let recent = self.feed.recent();
        if self.audience < recent.audience {
            return Ready::Closed;
        }
        if let Some(event) = self.missed.pop_front() {
            self.read_to = Some(event.place);
            return Ready::Item(Item::Event(Arc::new(event)));
        }
        if let (Some((after, to)), Some(archive)) = (self.behind, &self.archive) {
            return Ready::Missed(archive.clone(), after, to);
        }
        if self.next < recent.first {
            let lagged = Item::Lagged { from: self.next, to: recent.first };
            self.next = recent.first;
            let after = self.read_to.or(recent.begun).unwrap_or(recent.gone);
            self.behind = (after < recent.gone).then_some((after, recent.gone));
            return Ready::Item(lagged);
        }
        let place = usize::try_from(self.next - recent.first).expect("at most max_events are kept");
        if let Some(Kept { event, .. }) = recent.events.get(place) {
            self.next += 1;
            self.read_to = Some(event.place);
            return Ready::Item(Item::Event(event.clone()));
        }
        if self.heard.completion != recent.speaking {
            self.heard = Heard { completion: recent.speaking, text: 0, thinking: 0 };
        }
        if let Some(new) =
            recent.thinking.text.get(self.heard.thinking..).filter(|new| !new.is_empty())
        {
            self.heard.thinking += new.len();
            return Ready::Item(Item::Thinking(new.to_owned()));
        }
        if let Some(new) = recent.text.text.get(self.heard.text..).filter(|new| !new.is_empty()) {
            self.heard.text += new.len();
            return Ready::Item(Item::Text(new.to_owned()));
        }
        Ready::Nothing
    }
}

enum Ready {
    Item(Item),
    Missed(Archive, EventPlace, EventPlace),
    Nothing,
    Closed,
}
