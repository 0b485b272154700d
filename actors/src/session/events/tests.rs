//! A feed and its readers, without a session.

use std::sync::Arc;

use uuid::Uuid;

use crate::{
    protocol::{
        CallId, CompletionDelta, CompletionId, Ending, EntryOrigin, EventCursor, EventKind, Limits,
        Notice, Timestamp, ToolProgress, TurnEnding, TurnId, Usage,
    },
    session::{Durability, Feed, FeedBounds, StreamItem, Subscription},
    test_runtime::in_time,
};

fn completion(n: u128) -> CompletionId {
    CompletionId::new(Uuid::from_u128(n))
}

fn feed(events: usize, streaming_bytes: usize) -> Arc<Feed> {
    Feed::new(FeedBounds { events, event_bytes: usize::MAX, streaming_bytes })
}

fn publish(feed: &Feed, kind: EventKind) {
    feed.publish(TurnId::new(Uuid::nil()), Timestamp::from_millis(0), Durability::Transient, kind);
}

fn ended() -> EventKind {
    EventKind::TurnEnded { ending: TurnEnding::Answered, usage: Usage::default() }
}

fn rest(subscription: &mut Subscription) -> Vec<String> {
    let shown = |item| match item {
        StreamItem::Event(event) => format!("event {}", event.seq),
        StreamItem::Text { at, text, .. } => format!("text {at} {text}"),
        StreamItem::Thinking { at, text, .. } => format!("thinking {at} {text}"),
        StreamItem::Progress { progress, .. } => format!("progress {}", progress.done),
        StreamItem::Lagged { from, to } => format!("lagged {from} to {to}"),
        StreamItem::ReplayFailed => "unread".to_owned(),
    };
    std::iter::from_fn(|| subscription.try_next()).map(shown).collect()
}

#[test]
fn text_is_read_once_however_slowly_and_late_deltas_are_not_heard() {
    let feed = feed(8, 100);
    let mut quick = feed.subscribe();
    let mut slow = feed.subscribe();
    feed.begin(completion(1));
    feed.push(completion(1), CompletionDelta::Text("Hel"));
    assert_eq!(rest(&mut quick), ["text 0 Hel"]);
    feed.push(completion(1), CompletionDelta::Text("lo"));
    feed.push(completion(1), CompletionDelta::Thinking("hm"));
    feed.push(completion(2), CompletionDelta::Text("late"));
    assert_eq!(rest(&mut quick), ["thinking 0 hm", "text 3 lo"]);
    assert_eq!(rest(&mut slow), ["thinking 0 hm", "text 0 Hello"]);
    assert_eq!(feed.spoken(), "Hello");
    publish(
        &feed,
        EventKind::ModelMessage {
            text: "Hello!".into(),
            ending: Ending::Complete,
            model: None,
            origin: EntryOrigin::Chat,
        },
    );
    feed.push(completion(1), CompletionDelta::Text("late"));
    assert_eq!(rest(&mut slow), ["event 1"]);
}

#[test]
fn a_slow_reader_is_told_which_events_it_missed() {
    let feed = feed(2, 100);
    let mut slow = feed.subscribe();
    for _ in 0..5 {
        publish(&feed, ended());
    }
    assert_eq!(rest(&mut slow), ["lagged 1 to 4", "event 4", "event 5"]);
}

#[test]
fn a_ring_of_long_events_is_bounded_in_bytes_and_keeps_the_last_whatever_it_has() {
    let said = |bytes: usize| EventKind::SystemNotice {
        notice: Notice::SuggestClear,
        text: "x".repeat(bytes),
    };
    let limits = Limits { max_feed_events: 8, max_feed_bytes: 1_000, ..Limits::default() };
    let feed = Feed::new(FeedBounds::of(&limits));
    let heard = |published: &[usize]| {
        let mut slow = feed.subscribe();
        published.iter().for_each(|bytes| publish(&feed, said(*bytes)));
        rest(&mut slow).iter().filter(|item| item.starts_with("event")).count()
    };
    assert_eq!(heard(&[300, 300, 300]), 2, "each has some bytes beside its text");
    assert_eq!(heard(&[100, 100, 100, 100, 100]), 5);
    assert_eq!(heard(&[5_000]), 1);
    assert_eq!(heard(&[5_000, 100]), 1, "the long one is gone, and took no more than its room");
    assert_eq!(heard(&[0; 12]), 8);
}

#[test]
fn an_event_from_before_the_session_woke_stands_behind_all_that_is_stored() {
    let feed = feed(8, 100);
    let mut reads = feed.subscribe();
    publish(&feed, ended());
    feed.begins_at(EventCursor::of_entry(3));
    let Some(StreamItem::Event(event)) = reads.try_next() else { panic!("one event is there") };
    assert_eq!(event.cursor, EventCursor::of_entry(3));
}

#[tokio::test]
async fn a_closed_screen_hears_nothing_more_and_a_new_one_does() {
    let feed = feed(8, 100);
    let mut closed = feed.subscribe();
    feed.close_subscriptions();
    let mut opened = feed.subscribe();
    publish(&feed, ended());
    assert_eq!(closed.next().await, None);
    assert_eq!(rest(&mut opened), ["event 1"]);
}

#[test]
fn the_first_reader_of_a_turn_that_goes_on_misses_nothing_of_it() {
    let feed = feed(8, 100);
    publish(&feed, ended());
    publish(&feed, EventKind::TurnResumed);
    publish(&feed, EventKind::Cleared);
    let mut watching = feed.watch();
    let mut first = feed.subscribe();
    let mut second = feed.subscribe();
    publish(&feed, ended());
    assert_eq!(rest(&mut first), ["event 2", "event 3", "event 4"]);
    assert_eq!(
        (rest(&mut second), rest(&mut watching)),
        (vec!["event 4".into()], vec!["event 4".into()])
    );
    publish(&feed, EventKind::TurnResumed);
    publish(&feed, ended());
    assert_eq!(rest(&mut feed.subscribe()), [""; 0], "it is over: the state has it all");
}

/// A handler may go on behind the end of its turn, and so may its reports.
#[test]
fn behind_the_end_of_a_turn_no_call_of_it_reports() {
    let ends = [ended(), EventKind::TurnInterrupted { text: String::new() }];
    for end in ends {
        let feed = feed(8, 100);
        let mut reads = feed.subscribe();
        let reports = feed.progress_of(TurnId::new(Uuid::nil()), CallId::new(Uuid::nil()));
        assert!(reports.tell(ToolProgress::new(1.0)));
        assert_eq!(rest(&mut reads), ["progress 1"]);
        publish(&feed, end);
        assert!(!reports.tell(ToolProgress::new(2.0)), "nothing reads it");
        assert_eq!(rest(&mut reads), ["event 1"]);
    }
}

#[test]
fn streaming_text_is_bounded_and_has_no_holes() {
    let feed = feed(2, 4);
    feed.begin(completion(1));
    for piece in ["ab", "c", "def", "g"] {
        feed.push(completion(1), CompletionDelta::Text(piece));
    }
    assert_eq!(feed.spoken(), "abc");
    feed.begin(completion(2));
    for piece in ["abcde", "f"] {
        feed.push(completion(2), CompletionDelta::Text(piece));
    }
    assert_eq!(feed.spoken(), "", "nothing stands for its beginning");
}

#[test]
fn what_is_spoken_next_is_read_from_its_beginning() {
    let feed = feed(8, 100);
    let mut reader = feed.subscribe();
    for (number, said) in [(1, "Hello"), (2, "Hi")] {
        feed.begin(completion(number));
        feed.push(completion(number), CompletionDelta::Text(said));
        assert_eq!(rest(&mut reader), [format!("text 0 {said}")]);
    }
}

#[tokio::test]
async fn a_waiting_reader_is_woken_by_each_piece() {
    let feed = feed(8, 100);
    let mut waits = feed.subscribe();
    feed.begin(completion(1));
    for (at, text) in [(0, "Hel"), (3, "lo")] {
        let speaks = async { feed.push(completion(1), CompletionDelta::Text(text)) };
        let (item, ()) = tokio::join!(in_time(waits.next()), speaks);
        let completion = completion(1);
        let text = text.to_owned();
        assert_eq!(item, Some(StreamItem::Text { completion, at, text }));
    }
}

#[test]
fn each_piece_says_of_which_text_it_is_and_where_it_stands_in_that_in_bytes() {
    let feed = feed(8, 100);
    let mut reader = feed.subscribe();
    let mut said = Vec::new();
    for (number, pieces) in [(1, ["마", "당"]), (2, ["", "집"])] {
        feed.begin(completion(number));
        for text in pieces {
            feed.push(completion(number), CompletionDelta::Text(text));
            feed.push(completion(number), CompletionDelta::Thinking(text));
            said.extend(std::iter::from_fn(|| reader.try_next()));
        }
    }
    let mut late = feed.subscribe();
    said.extend(std::iter::from_fn(|| late.try_next()));
    let expected = [(1, 0, "마"), (1, 3, "당"), (2, 0, "집"), (2, 0, "집")];
    let expected = expected.into_iter().flat_map(|(number, at, text)| {
        let completion = completion(number);
        let text = text.to_owned();
        let thought = StreamItem::Thinking { completion, at, text: text.clone() };
        [thought, StreamItem::Text { completion, at, text }]
    });
    assert_eq!(said, expected.collect::<Vec<_>>());
}

#[test]
fn no_two_feeds_have_one_epoch_and_all_readers_of_one_know_it() {
    let epoch_of = |feed: &std::sync::Arc<Feed>| (feed.subscribe().epoch(), feed.watch().epoch());
    let feeds = [feed(8, 100), feed(8, 100)];
    let [(one, its), (other, _)] = [epoch_of(&feeds[0]), epoch_of(&feeds[1])];
    assert_eq!(one, its);
    assert_ne!(one, other);
}
