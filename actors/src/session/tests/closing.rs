//! A session that is asked to close ends when nothing of it runs any more, and not before.

use ractor::Actor;
use tokio::sync::oneshot;

use super::{by_hand, calling};
use crate::{
    port::Store,
    protocol::{Bound, CallResult, EventCursor, EventKind, Notice, SessionEvent},
    session::{
        SessionActor, SessionMsg, SessionRequest, SessionSlot, StreamItem, WakeSnapshot,
        msg::Resumption, transcript::Chat,
    },
    test_runtime::in_time,
    testing::{FakeTool, Gate},
};

fn closes(slot: &SessionSlot) -> oneshot::Receiver<()> {
    let (reply, closes) = oneshot::channel();
    slot.awake().unwrap().cast(SessionMsg::Close { reply }).unwrap();
    closes
}

#[tokio::test]
async fn it_waits_for_the_calls_that_run_and_tells_how_they_ended() {
    let gate = Gate::new();
    let (runtime, mut script) = by_hand([FakeTool::write("mail").gate(&gate)]).await;
    let slot = runtime.slot("s").await;
    let mut reads = slot.feed().subscribe();
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail", "mail"]));
    in_time(gate.arrived(1)).await;
    runtime.context.closing.cancel();
    let closes = closes(&slot);
    gate.open();
    in_time(closes).await.expect("it ends in order");
    let told = std::iter::from_fn(|| reads.try_next()).filter_map(|item| match item {
        StreamItem::Event(event) => Some(event.kind.clone()),
        StreamItem::Text { .. }
        | StreamItem::Thinking { .. }
        | StreamItem::Progress { .. }
        | StreamItem::Lagged { .. }
        | StreamItem::ReplayFailed => None,
    });
    let is_end = |kind: &EventKind| matches!(kind, EventKind::ToolCallEnded { record } if record.result == CallResult::Shown);
    assert_eq!(told.filter(is_end).count(), 1, "the other is left to the next start");
    assert!(in_time(end).await.is_err(), "and so is the turn");
    let stored = runtime.store.session(slot.session()).await.unwrap().unwrap();
    assert!(stored.open_turn.is_some());
}

#[tokio::test]
async fn it_tells_what_was_stored_for_a_turn_that_it_leaves_to_the_next_start() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    runtime.ask(&slot, "go").await.unwrap();
    let _speaks = script.next().await;
    let stored = runtime.store.session(slot.session()).await.unwrap().unwrap();
    let open = stored.open_turn.unwrap();
    let mut reads = slot.feed().subscribe();
    let turn = open.turn;
    let at = runtime.context.calls.clock.now();
    let notice = Notice::EffectUnknown;
    let kind = EventKind::SystemNotice { notice, text: String::new() };
    let news = vec![SessionEvent { seq: 0, cursor: EventCursor::of_entry(2), turn, at, kind }];
    let permit = runtime.context.calls.admission.wait(Bound::RunningTurns, slot.user()).await;
    let resumption = Resumption {
        open: open.clone(),
        calls: Vec::new(),
        stops_loop: false,
        waits: false,
        permit: Some(permit),
    };
    runtime.context.closing.cancel();
    let snapshot = WakeSnapshot {
        slot: slot.clone(),
        context: runtime.context.clone(),
        chat: Chat::default(),
        unpublished: news,
        open_turn: Some(open),
        resumption: Some(resumption.into()),
    };
    Actor::spawn(None, SessionActor, snapshot).await.unwrap();
    let told = in_time(reads.next()).await.unwrap();
    assert!(matches!(told, StreamItem::Event(event) if event.cursor == EventCursor::of_entry(2)));
}

#[tokio::test]
async fn it_finishes_the_clearing_that_is_on_its_way() {
    let (runtime, _script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    runtime.state(&slot).await;
    let paused = runtime.store.pause().await;
    let (reply, cleared) = oneshot::channel();
    runtime.send(&slot, SessionRequest::Clear { reply });
    let mut closes = closes(&slot);
    for _ in 0..100 {
        tokio::task::yield_now().await; // time enough to end, if it did not wait
    }
    closes.try_recv().expect_err("it waits for the store");
    drop(paused);
    in_time(cleared).await.unwrap().expect("the caller hears that it is clear");
    in_time(closes).await.unwrap();
}
