//! Which question a screen shows: the first of those that are open, as it was asked last.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use uuid::Uuid;

use super::{by_hand, calling};
use crate::{
    dispatcher::DispatcherEvent,
    protocol::{ApprovalRequest, CallId, Decision, EventKind, TurnError},
    session::SessionMsg,
    test_runtime::in_time,
    testing::{FakeTool, Gate, Probe},
};

#[tokio::test]
async fn a_question_is_shown_until_it_ends_and_then_the_next_one() {
    let gate = Gate::new();
    let (runtime, mut script) = by_hand([FakeTool::destructive("mail").gate(&gate)]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    let request = probe.approval_request().await;
    let shown = async || runtime.state(&slot).await.approval_request;
    assert_eq!(shown().await.as_ref(), Some(&request));
    let asks = |request: &ApprovalRequest| {
        let asked = DispatcherEvent::ApprovalRequested { request: Box::new(request.clone()) };
        slot.awake().unwrap().cast(SessionMsg::Dispatcher(asked)).unwrap();
    };
    let next = ApprovalRequest { call: CallId::new(Uuid::from_u128(1)), ..request.clone() };
    asks(&next);
    assert_eq!(shown().await.as_ref(), Some(&request), "it is open still");
    // As after the loss of the asking calls: the same once more, with more time to answer.
    let expires_at = next.expires_at.after(std::time::Duration::from_secs(9));
    let next = ApprovalRequest { expires_at, ..next };
    asks(&next);
    runtime.decide(&request, Decision::Approve).await.unwrap();
    let is_published = |kind: &EventKind| matches!(kind, EventKind::ApprovalEnded { .. });
    probe.until(|events| events.iter().any(|event| is_published(&event.kind))).await;
    assert_eq!(shown().await.as_ref(), Some(&next));
    gate.open();
    script.next().await.say("Sent.");
    in_time(end).await.unwrap();
    assert_eq!(shown().await, None, "the turn is over");
}

#[tokio::test]
async fn a_question_ends_before_its_call_does_though_the_call_breaks_down() {
    static BREAKS: AtomicBool = AtomicBool::new(false);
    let tool = FakeTool::destructive("mail").resource(|_| {
        assert!(!BREAKS.load(Relaxed), "on purpose");
        None
    });
    let gate = Gate::new();
    let (runtime, mut script) = by_hand([tool, FakeTool::write("post").gate(&gate)]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail", "post"]));
    let request = probe.approval_request().await;
    BREAKS.store(true, Relaxed);
    runtime.decide(&request, Decision::ApproveAlways).await.unwrap_err();
    in_time(gate.arrived(1)).await;
    assert_eq!(runtime.state(&slot).await.approval_request, None, "no call waits for an answer");
    gate.open();
    script.next().await.say("Not sent.");
    in_time(end).await.unwrap();
    probe.until_turns_ended(1).await;
    let lines = probe.lines();
    let asked_to_ended = lines.lines().skip_while(|line| !line.starts_with("asked"));
    let [asked, ended, call] = asked_to_ended.take(3).collect::<Vec<_>>()[..] else { panic!() };
    assert!(asked.starts_with("asked mail"), "{lines}");
    assert_eq!(ended, "question ended Unreachable", "{lines}");
    assert!(call.starts_with("call mail"), "{lines}");
}

#[tokio::test]
async fn a_question_ends_though_its_call_breaks_down_and_that_cannot_be_recorded() {
    static BREAKS: AtomicBool = AtomicBool::new(false);
    let tool = FakeTool::destructive("mail").resource(|_| {
        assert!(!BREAKS.load(Relaxed), "on purpose");
        None
    });
    let (runtime, mut script) = by_hand([tool]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    let request = probe.approval_request().await;
    BREAKS.store(true, Relaxed);
    runtime.store.fail_next_begin();
    runtime.decide(&request, Decision::ApproveAlways).await.unwrap_err();
    assert_eq!(in_time(end).await.unwrap().error, Some(TurnError::Store));
    probe.until_turns_ended(1).await;
    let lines = probe.lines();
    let mut behind = lines.lines().skip_while(|line| !line.starts_with("asked mail"));
    assert_eq!(behind.nth(1), Some("question ended Unreachable"), "{lines}");
}
