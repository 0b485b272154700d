//! An end that is on its way to the store is published after it is there, whatever else the session
//! receives.

use super::by_hand;
use crate::{
    port::{PartSize, Store, StoreError},
    protocol::{EventKind, Timestamp, TurnEnding, TurnId, Usage},
    session::{
        SessionMsg, StreamItem, TurnEnd,
        msg::{Outgoing, Purpose},
    },
    test_runtime::in_time,
};

#[tokio::test]
async fn if_another_write_of_the_turn_failed_the_stored_end_is_the_one_that_is_told() {
    the_stored_end_is_told(|turn| {
        (
            Outgoing::new(Purpose::Resume(turn)),
            StoreError::refused("a step that went before the end"),
        )
    })
    .await;
}

#[tokio::test]
async fn where_the_store_could_not_say_whether_it_has_the_end_it_tells_that_end_later() {
    the_stored_end_is_told(|turn| {
        let end =
            TurnEnd { turn, ending: TurnEnding::Answered, error: None, usage: Usage::default() };
        let purpose = Purpose::End(Box::new((end, Timestamp::from_millis(1))));
        (Outgoing::new(purpose), StoreError::Silent)
    })
    .await;
}

/// Lets the session hear of a failure while the end of its turn waits for its commit.
async fn the_stored_end_is_told(failure: impl FnOnce(TurnId) -> (Outgoing, StoreError)) {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    runtime.state(&slot).await;
    let mut reads = slot.subscribe(&runtime.handles.calls);
    let end = runtime.ask(&slot, "hi").await.unwrap();
    let completion = script.next().await;
    let paused = runtime.store.pause().await;
    completion.say("Hello.");
    in_time(async {
        while runtime.state(&slot).await.is_streaming {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let open = runtime.store.session(slot.session()).await.unwrap().unwrap().open_turn.unwrap();
    let (written, cause) = failure(open.turn);
    let failed = SessionMsg::Stored { written, result: Err(cause) };
    slot.awake().unwrap().cast(failed).unwrap();
    let mut end = end;
    assert!(end.try_recv().is_err(), "neither way is known yet");
    drop(paused);
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
    in_time(async {
        loop {
            let Some(StreamItem::Event(event)) = reads.next().await else { continue };
            if let EventKind::TurnEnded { ending, .. } = &event.kind {
                break assert_eq!(*ending, TurnEnding::Answered);
            }
        }
    })
    .await;
    runtime.state(&slot).await;
    let part = runtime.store.transcript(slot.session(), 0, PartSize::ALL).await.unwrap();
    let ends = part.entries.iter().filter_map(|entry| entry.end.as_ref());
    let ends: Vec<_> = ends.map(|(_, end)| end.ending).collect();
    assert_eq!(ends, [TurnEnding::Answered]);
    assert!(reads.try_next().is_none(), "it ended once");
    runtime.at_rest().await;
}
