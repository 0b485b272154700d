//! What happens in a session: written once, read by any number of subscribers at their own pace.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::watch;

use crate::protocol::{CompletionDelta, CompletionId, EventKind, SessionEvent, Timestamp, TurnId};

/// What a subscriber reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// Something happened.
    Event(Arc<SessionEvent>),
    /// The model goes on speaking: only what is new. The message that follows replaces it all.
    Text(String),
    /// The model goes on thinking aloud.
    Thinking(String),
    /// The subscriber was too slow: these events are gone from memory.
    Lagged {
        /// The first that was missed.
        from: u64,
        /// The first that is still there.
        to: u64,
    },
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
    events: VecDeque<Arc<SessionEvent>>,
    speaking: Option<CompletionId>,
    text: Kept,
    thinking: Kept,
    /// Subscriptions older than this hear nothing more.
    audience: u64,
    /// Where the turn began to go on to which nobody has listened yet.
    unheard: Option<u64>,
}

/// A text of which the beginning is kept, without holes.
#[derive(Debug, Default)]
struct Kept {
    text: String,
    is_cut: bool,
}

impl Kept {
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
            speaking: None,
            text: Kept::default(),
            thinking: Kept::default(),
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

    /// Tells an event.
    pub fn tell(&self, turn: TurnId, at: Timestamp, kind: EventKind) {
        let mut recent = self.recent();
        if matches!(kind, EventKind::ModelMessage { .. }) {
            // The message replaces the streamed text in one step.
            recent.silence();
        }
        let seq = recent.first + recent.events.len() as u64;
        if kind == EventKind::TurnResumed {
            recent.unheard = Some(seq);
        } else if matches!(kind, EventKind::TurnEnded { .. }) {
            recent.unheard = None;
        }
        recent.events.push_back(Arc::new(SessionEvent { seq, turn, at, kind }));
        if recent.events.len() > self.max_events {
            recent.events.pop_front();
            recent.first += 1;
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
        let next = recent.unheard.take();
        self.subscribe_from(next, &recent)
    }

    /// Reads from here on, and is not counted as somebody who listens.
    #[must_use]
    pub fn watch(self: &Arc<Self>) -> Subscription {
        self.subscribe_from(None, &self.recent())
    }

    fn subscribe_from(self: &Arc<Self>, next: Option<u64>, recent: &Recent) -> Subscription {
        Subscription {
            next: next.unwrap_or(recent.first + recent.events.len() as u64),
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
    fn silence(&mut self) -> String {
        self.speaking = None;
        self.thinking = Kept::default();
        std::mem::take(&mut self.text).text
    }
}

/// One reader's place in a feed: a cursor, not a queue. A slow reader costs nothing but its own position.
#[derive(Debug)]
pub struct Subscription {
    feed: Arc<Feed>,
    changed: watch::Receiver<()>,
    next: u64,
    audience: u64,
    heard: Heard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Heard {
    completion: Option<CompletionId>,
    text: usize,
    thinking: usize,
}

impl Subscription {
    /// Waits for what comes next; `None` when this screen was closed. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Item> {
        loop {
            self.changed.borrow_and_update();
            match self.ready() {
                Ready::Item(item) => return Some(item),
                Ready::Closed => return None,
                Ready::Nothing => self.changed.changed().await.ok()?,
            }
        }
    }

    /// Gives what is there already.
    pub fn try_next(&mut self) -> Option<Item> {
        match self.ready() {
            Ready::Item(item) => Some(item),
            Ready::Closed | Ready::Nothing => None,
        }
    }

    fn ready(&mut self) -> Ready {
        let recent = self.feed.recent();
        if self.audience < recent.audience {
            return Ready::Closed;
        }
        if self.next < recent.first {
            let lagged = Item::Lagged { from: self.next, to: recent.first };
            self.next = recent.first;
            return Ready::Item(lagged);
        }
        let place = usize::try_from(self.next - recent.first).expect("at most max_events are kept");
        if let Some(event) = recent.events.get(place) {
            self.next += 1;
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
    Nothing,
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Ending, TurnEnding, Usage};
    use uuid::Uuid;

    fn completion(n: u128) -> CompletionId {
        CompletionId::new(Uuid::from_u128(n))
    }

    fn tell(feed: &Feed, kind: EventKind) {
        feed.tell(TurnId::new(Uuid::nil()), Timestamp::from_millis(0), kind);
    }

    fn ended() -> EventKind {
        EventKind::TurnEnded { ending: TurnEnding::Answered, usage: Usage::default() }
    }

    fn rest(subscription: &mut Subscription) -> Vec<String> {
        let shown = |item| match item {
            Item::Event(event) => format!("event {}", event.seq),
            Item::Text(text) => format!("text {text}"),
            Item::Thinking(text) => format!("thinking {text}"),
            Item::Lagged { from, to } => format!("lagged {from} to {to}"),
        };
        std::iter::from_fn(|| subscription.try_next()).map(shown).collect()
    }

    #[test]
    fn text_is_read_once_however_slowly_and_late_deltas_are_not_heard() {
        let feed = Feed::new(8, 100);
        let (mut quick, mut slow) = (feed.subscribe(), feed.subscribe());
        feed.begin(completion(1));
        feed.push(completion(1), CompletionDelta::Text("Hel"));
        assert_eq!(rest(&mut quick), ["text Hel"]);
        feed.push(completion(1), CompletionDelta::Text("lo"));
        feed.push(completion(1), CompletionDelta::Thinking("hm"));
        feed.push(completion(2), CompletionDelta::Text("late"));
        assert_eq!(rest(&mut quick), ["thinking hm", "text lo"]);
        assert_eq!(rest(&mut slow), ["thinking hm", "text Hello"]);
        assert_eq!(feed.spoken(), "Hello");
        tell(&feed, EventKind::ModelMessage { text: "Hello!".into(), ending: Ending::Complete });
        feed.push(completion(1), CompletionDelta::Text("late"));
        assert_eq!(rest(&mut slow), ["event 1"]);
    }

    #[test]
    fn a_slow_reader_is_told_which_events_it_missed() {
        let feed = Feed::new(2, 100);
        let mut slow = feed.subscribe();
        for _ in 0..5 {
            tell(&feed, ended());
        }
        assert_eq!(rest(&mut slow), ["lagged 1 to 4", "event 4", "event 5"]);
    }

    #[tokio::test]
    async fn a_closed_screen_hears_nothing_more_and_a_new_one_does() {
        let feed = Feed::new(8, 100);
        let mut closed = feed.subscribe();
        feed.close_subscriptions();
        let mut opened = feed.subscribe();
        tell(&feed, ended());
        assert_eq!(closed.next().await, None);
        assert_eq!(rest(&mut opened), ["event 1"]);
    }

    #[test]
    fn the_first_who_listens_to_a_turn_that_goes_on_misses_nothing_of_it() {
        let feed = Feed::new(8, 100);
        tell(&feed, ended());
        tell(&feed, EventKind::TurnResumed);
        tell(&feed, EventKind::Cleared);
        let mut watching = feed.watch();
        let (mut first, mut second) = (feed.subscribe(), feed.subscribe());
        tell(&feed, ended());
        assert_eq!(rest(&mut first), ["event 2", "event 3", "event 4"]);
        assert_eq!(
            (rest(&mut second), rest(&mut watching)),
            (vec!["event 4".into()], vec!["event 4".into()])
        );
        tell(&feed, EventKind::TurnResumed);
        tell(&feed, ended());
        assert_eq!(rest(&mut feed.subscribe()), [""; 0], "it is over: the state has it all");
    }

    #[test]
    fn streaming_text_is_bounded_and_has_no_holes() {
        let feed = Feed::new(2, 4);
        feed.begin(completion(1));
        for piece in ["ab", "c", "def", "g"] {
            feed.push(completion(1), CompletionDelta::Text(piece));
        }
        assert_eq!(feed.spoken(), "abc");
    }
}
