//! One reader's position in a feed: a cursor, not a queue.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::watch;
use tracing::warn;

use crate::protocol::{CompletionId, EventCursor, SessionEvent};
use crate::session::{
    events::feed::{Feed, Kept, Recent},
    events::replay::Replay,
};

/// One reader's position in a feed. A slow reader costs its own position, and while it catches up a
/// part of the transcript.
#[derive(Debug, Clone)]
pub struct Subscription {
    feed: Arc<Feed>,
    changed: watch::Receiver<()>,
    next: u64,
    audience: u64,
    heard: Heard,
    /// How far it has read the story; `None` where that is where the session's next waking begins.
    pub(crate) read_to: Option<EventCursor>,
    /// What it missed and has not read: behind the first place, up to the second.
    pub(crate) behind: Option<(EventCursor, EventCursor)>,
    /// What it missed and has been read from the store.
    missed: VecDeque<SessionEvent>,
    replay: Option<Replay>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Heard {
    completion: Option<CompletionId>,
    text: usize,
    thinking: usize,
}

impl Subscription {
    /// Reads from this event on.
    pub(crate) fn from(feed: &Arc<Feed>, next: u64, recent: &Recent) -> Self {
        let before =
            next.checked_sub(recent.first + 1).and_then(|place| usize::try_from(place).ok());
        let before = before.and_then(|place| recent.events.get(place));
        let read_to = before.map_or(recent.gone, |kept| kept.event.cursor);
        Self {
            next,
            read_to: recent.begins.map(|_| read_to),
            behind: None,
            missed: VecDeque::new(),
            replay: None,
            audience: recent.audience,
            heard: Heard { completion: recent.speaking, text: 0, thinking: 0 },
            changed: feed.changed.subscribe(),
            feed: feed.clone(),
        }
    }

    /// Reads what it misses from this replay.
    pub(crate) fn with(mut self, replay: Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    /// Waits for what comes next; `None` when this screen was closed. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<StreamItem> {
        self.read(true).await
    }

    /// Reads what is there already, from the store too; `None` when no more is. Dropping the future loses nothing.
    pub async fn rest(&mut self) -> Option<StreamItem> {
        self.read(false).await
    }

    async fn read(&mut self, waits: bool) -> Option<StreamItem> {
        loop {
            self.changed.borrow_and_update();
            match self.ready() {
                Ready::Item(item) => return Some(item),
                Ready::Closed => return None,
                Ready::Missed(replay, after, to) => match replay.read(after, to).await {
                    Ok((missed, rest)) => {
                        self.missed = missed;
                        self.behind = rest.map(|after| (after, to));
                        self.replay = Some(replay.after(false));
                    }
                    Err(cause) => {
                        warn!(%cause, "failed to read what a subscriber missed");
                        self.replay = Some(replay.after(true));
                        return Some(StreamItem::ReplayFailed);
                    }
                },
                Ready::Nothing if waits => self.changed.changed().await.ok()?,
                Ready::Nothing => return None,
            }
        }
    }

    /// Gives what is in memory already.
    pub fn try_next(&mut self) -> Option<StreamItem> {
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
            self.read_to = Some(event.cursor);
            return Ready::Item(StreamItem::Event(Arc::new(event)));
        }
        if let (Some((after, to)), Some(replay)) = (self.behind, &self.replay) {
            return Ready::Missed(replay.clone(), after, to);
        }
        if self.next < recent.first {
            let lagged = StreamItem::Lagged { from: self.next, to: recent.first };
            self.next = recent.first;
            let after = self.read_to.or(recent.begins).unwrap_or(recent.gone);
            self.behind = (after < recent.gone).then_some((after, recent.gone));
            return Ready::Item(lagged);
        }
        let place = usize::try_from(self.next - recent.first).expect("at most max_events are kept");
        if let Some(Kept { event, .. }) = recent.events.get(place) {
            self.next += 1;
            self.read_to = Some(event.cursor);
            return Ready::Item(StreamItem::Event(event.clone()));
        }
        if self.heard.completion != recent.speaking {
            self.heard = Heard { completion: recent.speaking, text: 0, thinking: 0 };
        }
        if let Some(new) =
            recent.thinking.text.get(self.heard.thinking..).filter(|new| !new.is_empty())
        {
            self.heard.thinking += new.len();
            return Ready::Item(StreamItem::Thinking(new.to_owned()));
        }
        if let Some(new) = recent.text.text.get(self.heard.text..).filter(|new| !new.is_empty()) {
            self.heard.text += new.len();
            return Ready::Item(StreamItem::Text(new.to_owned()));
        }
        Ready::Nothing
    }
}

enum Ready {
    Item(StreamItem),
    Missed(Replay, EventCursor, EventCursor),
    Nothing,
    Closed,
}

/// What a subscriber reads.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StreamItem {
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
    ReplayFailed,
}
