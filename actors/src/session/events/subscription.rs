//! One reader's position in a feed: a cursor, not a queue.

use std::{collections::VecDeque, sync::Arc};

use serde::Serialize;
use tokio::sync::watch;
use tracing::warn;

use crate::protocol::{
    CallId, CompletionId, EventCursor, FeedCursor, FeedEpoch, SessionEvent, ToolProgress, TurnId,
};
use crate::session::{
    events::feed::{Beginning, Feed, PublishedEvent, Recent},
    events::replay::Replay,
};

/// The position of one reader in a feed. A slow reader costs its own position and, while it catches
/// up, a part of the transcript.
#[derive(Debug, Clone)]
pub struct Subscription {
    feed: Arc<Feed>,
    changed: watch::Receiver<()>,
    next: u64,
    audience: u64,
    streamed: Streamed,
    /// The number of the last report of progress that it has read.
    reports: u64,
    /// The cursor up to which it has read. `None` if that is the beginning of the session's next
    /// waking.
    read_to: Option<EventCursor>,
    /// The missed events that are not read yet: after the first cursor, up to the second.
    pub(in crate::session) behind: Option<(EventCursor, EventCursor)>,
    /// The missed events that were read from the store.
    missed: VecDeque<SessionEvent>,
    replay: Option<Replay>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Streamed {
    completion: Option<CompletionId>,
    text: usize,
    thinking: usize,
}

impl Feed {
    /// Subscribes from now on. The first subscriber of a turn that goes on after a crash reads from
    /// where the turn went on.
    #[must_use]
    pub fn subscribe(self: &Arc<Self>) -> Subscription {
        let mut recent = self.recent();
        let unheard = recent.unheard.take();
        let next = unheard.map_or_else(|| recent.next(), |(seq, _)| seq);
        let mut subscription = Subscription::from(self, next, &recent);
        if let Some((_, cursor)) = unheard {
            // The ring may have lost the events after the cursor.
            subscription.read_to = Some(cursor);
        }
        subscription
    }

    /// Subscribes after a cursor. The session must have woken before. Events that are not in memory
    /// come from this replay. If this feed has published events to the reader before, the reader
    /// continues after the last of them.
    pub(in crate::session) fn subscribe_after(
        self: &Arc<Self>,
        FeedCursor { stored: cursor, published }: FeedCursor,
        replay: Replay,
    ) -> Subscription {
        let mut recent = self.recent();
        recent.unheard = None;
        let is_read = |kept: &PublishedEvent<Arc<SessionEvent>>| {
            kept.is_stored && kept.event.cursor <= cursor
        };
        let read = recent.events.iter().rposition(is_read).map_or(0, |last| last as u64 + 1);
        let unread = recent.first + read;
        let untold = published
            .filter(|(epoch, seq)| *epoch == self.epoch && *seq < recent.next())
            .map(|(_, seq)| seq + 1);
        // If the ring no longer has them, the reader lags like any other that is too slow.
        let lags = untold.filter(|untold| *untold < recent.first);
        let next = lags.unwrap_or_else(|| untold.unwrap_or_default().max(unread));
        let mut subscription = Subscription::from(self, next, &recent);
        subscription.read_to = Some(cursor);
        let is_behind = lags.is_none() && cursor < recent.gone;
        subscription.behind = is_behind.then_some((cursor, recent.gone));
        subscription.with(replay)
    }

    /// Subscribes from now on, without counting as the first subscriber of a resumed turn.
    #[must_use]
    pub fn watch(self: &Arc<Self>) -> Subscription {
        let recent = self.recent();
        Subscription::from(self, recent.next(), &recent)
    }
}

impl Subscription {
    /// Makes a subscription that reads from this event on.
    fn from(feed: &Arc<Feed>, next: u64, recent: &Recent) -> Self {
        let before =
            next.checked_sub(recent.first + 1).and_then(|index| usize::try_from(index).ok());
        let before = before.and_then(|index| recent.events.get(index));
        let read_to = before.map_or(recent.gone, |kept| kept.event.cursor);
        Self {
            next,
            read_to: recent.begins.map(|_| read_to),
            behind: None,
            missed: VecDeque::new(),
            replay: None,
            audience: recent.audience,
            streamed: Streamed { completion: recent.speaking, text: 0, thinking: 0 },
            reports: 0,
            changed: feed.changed.subscribe(),
            feed: feed.clone(),
        }
    }

    /// Returns the name of the feed. It stays the same while anything of the session is in memory.
    #[must_use]
    pub fn epoch(&self) -> FeedEpoch {
        self.feed.epoch
    }

    /// Returns whether a dismissal, or the deletion of the session, has ended the subscription.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_over(&self.feed.recent())
    }

    const fn is_over(&self, recent: &Recent) -> bool {
        recent.is_closed || self.audience < recent.audience
    }

    /// Returns whether the next event comes from the store, where it was read for this reader
    /// alone.
    #[must_use]
    pub fn reads_store(&self) -> bool {
        self.behind.is_some() || !self.missed.is_empty()
    }

    /// Sets the replay from which missed events are read.
    pub(in crate::session) fn with(mut self, replay: Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    /// Waits for the next item. Returns `None` after this subscription was closed. Dropping the
    /// future loses nothing.
    pub async fn next(&mut self) -> Option<StreamItem> {
        self.read(true).await
    }

    /// Reads an item that is already there, in memory or in the store, or returns `None` if none is
    /// left. Dropping the future loses nothing.
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

    /// Returns the next item if it is already in memory.
    pub fn try_next(&mut self) -> Option<StreamItem> {
        match self.ready() {
            Ready::Item(item) => Some(item),
            Ready::Closed | Ready::Missed(..) | Ready::Nothing => None,
        }
    }

    fn ready(&mut self) -> Ready {
        let recent = self.feed.recent();
        if self.is_over(&recent) {
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
        let index = usize::try_from(self.next - recent.first).expect("at most max_events are kept");
        if let Some(PublishedEvent { event, .. }) = recent.events.get(index) {
            self.next += 1;
            self.read_to = Some(event.cursor);
            return Ready::Item(StreamItem::Event(event.clone()));
        }
        if let Some((number, turn, call, progress)) = recent.progress.after(self.reports) {
            self.reports = number;
            return Ready::Item(StreamItem::Progress { turn, call, progress });
        }
        if self.streamed.completion != recent.speaking {
            self.streamed = Streamed { completion: recent.speaking, text: 0, thinking: 0 };
        }
        let Some(completion) = recent.speaking else { return Ready::Nothing };
        if let Some((at, text)) = piece(&recent.thinking, &mut self.streamed.thinking) {
            return Ready::Item(StreamItem::Thinking { completion, at, text });
        }
        if let Some((at, text)) = piece(&recent.text, &mut self.streamed.text) {
            return Ready::Item(StreamItem::Text { completion, at, text });
        }
        Ready::Nothing
    }
}

/// Returns what was streamed after this many bytes, with its offset, and counts it as read.
fn piece(streamed: &Beginning, read: &mut usize) -> Option<(usize, String)> {
    let at = *read;
    let new = streamed.text.get(at..).filter(|new| !new.is_empty())?;
    *read += new.len();
    Some((at, new.to_owned()))
}

enum Ready {
    Item(StreamItem),
    Missed(Replay, EventCursor, EventCursor),
    Nothing,
    Closed,
}

/// An item of a subscription. As JSON each names its type, and an event is written as itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StreamItem {
    /// The next piece of the model's text. The message that follows replaces all pieces.
    Text {
        /// The completion that streams it.
        completion: CompletionId,
        /// The offset of the piece in the text of its completion, in bytes. At 0 the reader begins
        /// the text anew. Any other piece comes directly after the last one of this subscription.
        at: usize,
        /// The piece itself.
        text: String,
    },
    /// The next piece of the model's thinking.
    Thinking {
        /// The completion that streams it.
        completion: CompletionId,
        /// The offset of the piece in the thinking of its completion, as in [`Text`](Self::Text).
        at: usize,
        /// The piece itself.
        text: String,
    },
    /// The progress of a running call. A slow reader receives the newest report of each call, and
    /// none after its end.
    #[serde(rename = "tool_progress")]
    Progress {
        /// The turn of the call.
        turn: TurnId,
        /// The call that runs.
        call: CallId,
        /// How far its handler has come, in its own words.
        #[serde(flatten)]
        progress: ToolProgress,
    },
    /// The subscriber was too slow, and these events are no longer in memory. The stored ones
    /// follow, in order. The others reported only progress.
    Lagged {
        /// The number of the first missed event.
        from: u64,
        /// The number of the first event still in memory.
        to: u64,
    },
    /// The missed events could not be read from the store. The subscription tries again.
    ReplayFailed,
    /// An event of the session.
    #[serde(untagged)]
    Event(Arc<SessionEvent>),
}
