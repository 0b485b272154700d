//! Readers that come back to where they were in a feed: stored events come once, and progress once
//! while the feed lives.

use std::{sync::Arc, time::Duration};

use proptest::prelude::*;
use serde_json::json;
use tokio::sync::oneshot;

use super::reading::{come_back, is_kept, runtime, sleep, story, subscribe, turn};
use crate::{
    protocol::{
        EventCursor, EventKind, FeedCursor, FeedEpoch, Limits, SessionEvent, Timestamp, TurnId,
    },
    session::{Durability, SessionRequest, SessionSlot, StreamItem, Subscription},
    test_runtime::{TestRuntime, in_time},
    testing::{FakeTool, ScriptedCompletion, ScriptedModel},
};

/// A reader that remembers what it was told, and where it was.
struct Reader {
    events: Subscription,
    at: FeedCursor,
    /// The stored events, in the order in which they came.
    stored: Vec<(EventCursor, EventKind)>,
    /// The number of the next event of this feed, where nothing is missed.
    next: Option<(FeedEpoch, u64)>,
    progress: usize,
}

impl Reader {
    fn new(runtime: &TestRuntime, slot: &Arc<SessionSlot>) -> Self {
        let at = FeedCursor::default();
        let events = subscribe(runtime, slot);
        Self { events, at, stored: Vec::new(), next: None, progress: 0 }
    }

    async fn comes_back(&mut self, runtime: &TestRuntime, slot: &Arc<SessionSlot>) {
        self.events = come_back(runtime, slot, self.at).await;
        let epoch = self.events.epoch();
        // What was missed behind the last event is said again. By a cursor of another feed, this
        // one may have forgotten progress of which nothing tells.
        let told = self.at.published.filter(|(of, _)| *of == epoch).map_or(0, |(_, seq)| seq + 1);
        self.next = self.next.filter(|(of, _)| *of == epoch).map(|(of, next)| (of, next.min(told)));
    }

    /// Takes an item, which must be the next one.
    fn take(&mut self, item: StreamItem) {
        let epoch = self.events.epoch();
        match item {
            StreamItem::Event(event) => self.take_event(&event, epoch),
            StreamItem::Lagged { from, to } => {
                if let Some((of, next)) = self.next.filter(|(of, next)| *of == epoch && *next > 0) {
                    assert_eq!(from, next, "all between is missed, and no more");
                    self.next = Some((of, to));
                }
            }
            StreamItem::Text { .. } | StreamItem::Thinking { .. } | StreamItem::Progress { .. } => {
            }
            StreamItem::ReplayFailed => panic!("the store can be read"),
        }
    }

    fn take_event(&mut self, event: &SessionEvent, epoch: FeedEpoch) {
        self.at = FeedCursor::after(event, epoch);
        if event.seq > 0 {
            match self.next {
                Some((of, next)) if of == epoch && next > 0 => {
                    assert_eq!(event.seq, next, "nothing is told twice or left out");
                }
                _ => {}
            }
            self.next = Some((epoch, event.seq + 1));
        }
        if is_kept(event) {
            self.stored.push((event.cursor, event.kind.clone()));
        } else {
            self.progress += 1;
        }
    }

    async fn reads(&mut self, mut items: usize) {
        while items > 0
            && let Ok(Some(item)) =
                tokio::time::timeout(Duration::from_millis(2), self.events.next()).await
        {
            items -= 1;
            self.take(item);
        }
    }

    async fn reads_to(&mut self, to: EventCursor) {
        while self.stored.last().is_none_or(|(cursor, _)| *cursor < to) {
            let item = in_time(self.events.next()).await.expect("the screen stays open");
            self.take(item);
        }
    }
}

fn cursors(reader: &Reader) -> Vec<String> {
    reader.stored.iter().map(|(cursor, _)| cursor.to_string()).collect()
}

/// A runtime whose turns tell as much progress as anything else.
async fn progressing(max_feed_events: usize) -> TestRuntime {
    let limits = Limits { max_feed_events, ..Limits::default() };
    let look = || ScriptedCompletion::call("look", &json!({}));
    let model = ScriptedModel::repeating([look(), look(), look(), ScriptedCompletion::text("So.")]);
    TestRuntime::with_tools(limits, model, [FakeTool::read("look")]).await
}

/// What is told of the first turn of `runtime`: it calls a tool, so one of these is progress.
const FIRST_TURN: [&str; 4] = ["1", "2", "3", "3.2"];

#[tokio::test]
async fn over_sleep_a_reader_goes_on_in_its_feed_and_is_told_no_progress_twice() {
    let runtime = runtime(64).await;
    let slot = runtime.slot("s").await;
    let mut reader = Reader::new(&runtime, &slot);
    turn(&runtime, &slot).await;
    for items in [2, 1, usize::MAX] {
        reader.reads(items).await;
        sleep(&runtime, &slot).await;
        reader.comes_back(&runtime, &slot).await;
    }
    reader.reads_to(EventCursor::of_entry(3).end()).await;
    assert_eq!((cursors(&reader), reader.progress), (FIRST_TURN.map(str::to_owned).into(), 1));
    turn(&runtime, &slot).await;
    reader.reads_to(EventCursor::of_entry(5).end()).await;
    assert_eq!(cursors(&reader)[4..], ["4", "5", "5.2"]);
}

#[tokio::test]
async fn by_the_bare_cursor_progress_is_told_again() {
    let runtime = runtime(64).await;
    let slot = runtime.slot("s").await;
    let mut reader = Reader::new(&runtime, &slot);
    turn(&runtime, &slot).await;
    reader.reads(2).await;
    assert_eq!((cursors(&reader), reader.progress), (vec!["1".to_owned()], 1));
    reader.at.published = None;
    reader.comes_back(&runtime, &slot).await;
    reader.reads_to(EventCursor::of_entry(3).end()).await;
    assert_eq!((cursors(&reader), reader.progress), (FIRST_TURN.map(str::to_owned).into(), 2));
}

#[tokio::test]
async fn a_reader_that_comes_back_to_a_ring_that_forgot_hears_so_and_reads_what_is_stored() {
    let runtime = runtime(2).await;
    let slot = runtime.slot("s").await;
    let mut reader = Reader::new(&runtime, &slot);
    turn(&runtime, &slot).await;
    reader.reads_to(EventCursor::of_entry(3).end()).await;
    let told = reader.stored.len();
    let at = reader.at;
    let (epoch, last) = at.published.expect("the last event came from the feed");
    turn(&runtime, &slot).await;
    turn(&runtime, &slot).await;
    reader.comes_back(&runtime, &slot).await;
    let Some(StreamItem::Lagged { from, to }) = in_time(reader.events.next()).await else {
        panic!("it is told first");
    };
    assert_eq!((from, epoch), (last + 1, reader.events.epoch()));
    reader.next = Some((epoch, to));
    let end = story(&runtime, &slot).await;
    reader.reads_to(end.last().unwrap().0).await;
    assert_eq!(reader.stored[told..], end[told..]);
    assert_eq!(reader.stored.len(), end.len());
}

#[tokio::test]
async fn a_new_feed_tells_all_progress_that_it_has_and_what_is_stored_once() {
    let runtime = runtime(64).await;
    let slot = runtime.slot("s").await;
    let mut reader = Reader::new(&runtime, &slot);
    turn(&runtime, &slot).await;
    reader.reads_to(EventCursor::of_entry(3).end()).await;
    sleep(&runtime, &slot).await;
    let fresh = runtime.fresh_slot(&slot);
    // The next turns are told in another feed, whose numbers begin anew.
    for _ in 0..3 {
        turn(&runtime, &fresh).await;
    }
    assert!(reader.at.published.is_some_and(|(_, seq)| seq == 5));
    reader.comes_back(&runtime, &fresh).await;
    let story = story(&runtime, &fresh).await;
    reader.reads_to(story.last().unwrap().0).await;
    assert_eq!(reader.stored, story);
    assert_eq!(reader.progress, 2, "that of the first turn, and that of the fourth");
}

#[tokio::test]
async fn a_number_that_the_feed_has_not_reached_counts_for_nothing() {
    let runtime = runtime(64).await;
    let slot = runtime.slot("s").await;
    let mut reader = Reader::new(&runtime, &slot);
    turn(&runtime, &slot).await;
    reader.at =
        FeedCursor { published: Some((reader.events.epoch(), 99)), ..FeedCursor::default() };
    reader.comes_back(&runtime, &slot).await;
    reader.reads_to(EventCursor::of_entry(3).end()).await;
    assert_eq!(cursors(&reader), FIRST_TURN);
}

#[tokio::test]
async fn what_is_stored_comes_by_the_cursor_alone_whatever_the_feed_has_told() {
    let runtime = runtime(64).await;
    let slot = runtime.slot("s").await;
    let mut reader = Reader::new(&runtime, &slot);
    turn(&runtime, &slot).await;
    // A cursor ahead of the number beside it: what is stored up to there is not told again.
    reader.at = FeedCursor {
        stored: EventCursor::of_entry(2),
        published: Some((reader.events.epoch(), 1)),
    };
    reader.comes_back(&runtime, &slot).await;
    reader.reads_to(EventCursor::of_entry(3).end()).await;
    assert_eq!(cursors(&reader), FIRST_TURN[2..]);

    // An event from before the session woke has the first cursor, and tells nothing of what is
    // stored.
    sleep(&runtime, &slot).await;
    let fresh = runtime.fresh_slot(&slot);
    let mut reader = Reader::new(&runtime, &fresh);
    let id = TurnId::new(uuid::Uuid::nil());
    let at = Timestamp::from_millis(1);
    fresh.feed().publish(id, at, Durability::Transient, EventKind::TurnResumed);
    reader.reads(1).await;
    assert_eq!(reader.at.to_string(), format!("0@{}.1", reader.events.epoch()));
    reader.comes_back(&runtime, &fresh).await;
    reader.reads_to(EventCursor::of_entry(3).end()).await;
    assert_eq!((cursors(&reader), reader.progress), (FIRST_TURN.map(str::to_owned).into(), 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn wherever_a_reader_leaves_and_comes_back_each_feed_tells_it_each_event_once(
        capacity in 1..8_usize,
        steps in prop::collection::vec((0..9_u8, 0..6_usize), 1..24),
    ) {
        let threads = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        threads.block_on(async {
            let runtime = progressing(capacity).await;
            let mut slot = runtime.slot("s").await;
            let mut reader = Reader::new(&runtime, &slot);
            for (step, items) in steps {
                match step {
                    0..=2 => turn(&runtime, &slot).await,
                    3 => {
                        let (reply, cleared) = oneshot::channel();
                        runtime.send(&slot, SessionRequest::Clear { reply });
                        in_time(cleared).await.unwrap().unwrap();
                    }
                    4 => sleep(&runtime, &slot).await,
                    5 => {
                        sleep(&runtime, &slot).await;
                        slot = runtime.fresh_slot(&slot);
                        reader.comes_back(&runtime, &slot).await;
                    }
                    6 => reader.comes_back(&runtime, &slot).await,
                    _ => reader.reads(items).await,
                }
            }
            let story = story(&runtime, &slot).await;
            if let Some((end, _)) = story.last() {
                reader.reads_to(*end).await;
            }
            assert_eq!(reader.stored, story);
        });
    }
}
