//! Which question a screen shows: the first of those that are open, as it was asked last.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::json;

use super::{by_hand, calling};
use crate::{
    dispatcher::DispatcherEvent,
    protocol::{
        ApprovalEnd, ApprovalRequest, CancelReason, Decision, Digest, Timestamp, TurnEnding,
    },
    session::SessionMsg,
    test_runtime::in_time,
    testing::{FakeTool, Gate, Probe},
};

/// Two calls of one turn that wait for a person at once, as the session is told of them.
#[tokio::test]
async fn a_question_is_shown_until_it_ends_and_then_the_next_one() {
    let gate = Gate::new();
    let tools = ["look", "list"].map(|name| FakeTool::read(name).gate(&gate));
    let (runtime, mut script) = by_hand(tools).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["look", "list"]));
    in_time(gate.arrived(2)).await;
    let calls: Vec<_> = runtime.ledger().await.iter().map(|row| row.call).collect();
    let [first, second] = [calls[0], calls[1]].map(|call| ApprovalRequest {
        call,
        session: slot.session().clone(),
        user: slot.user().clone(),
        tool: "look".into(),
        arguments: json!({}).into(),
        consequence: "Looks.".into(),
        text: "look\n  Looks.".into(),
        digest: Digest::new([1; 32]),
        expires_at: Timestamp::from_millis(1),
    });
    let tells = |news| slot.awake().unwrap().cast(SessionMsg::Dispatcher(news)).unwrap();
    let asks = |request: &ApprovalRequest| {
        tells(DispatcherEvent::ApprovalRequested { request: Box::new(request.clone()) });
    };
    let shown = async || runtime.state(&slot).await.approval_request;
    asks(&first);
    assert_eq!(shown().await.as_ref(), Some(&first));
    asks(&second);
    assert_eq!(shown().await.as_ref(), Some(&first), "it is open still");
    // As after the loss of the asking calls: the same once more, with more time to answer.
    let second = ApprovalRequest { expires_at: Timestamp::from_millis(9), ..second };
    asks(&second);
    let end_of_first = ApprovalEnd::Decided { decision: Decision::Approve };
    tells(DispatcherEvent::ApprovalEnded { call: first.call, end: end_of_first });
    assert_eq!(shown().await.as_ref(), Some(&second));
    gate.open();
    script.next().await.say("Seen.");
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
    // The turn goes on, and the person is asked again.
    let again = probe.approval_request().await;
    runtime.decide(&again, Decision::Deny).await.unwrap();
    script.next().await.say("Not sent.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
    probe.until_turns_ended(1).await;
    let lines = probe.lines();
    let mut behind = lines.lines().skip_while(|line| !line.starts_with("asked mail"));
    assert_eq!(behind.nth(1), Some("question ended Unreachable"), "{lines}");
}

#[tokio::test]
async fn late_news_of_a_question_of_a_turn_that_is_over_is_not_told_in_the_next_turn() {
    let (runtime, mut script) = by_hand([FakeTool::destructive("mail")]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    let request = probe.approval_request().await;
    runtime.decide(&request, Decision::Deny).await.unwrap();
    script.next().await.say("Not sent.");
    in_time(end).await.unwrap();
    let end = runtime.ask(&slot, "and now?").await.unwrap();
    let completion = script.next().await;
    let ended = ApprovalEnd::Cancelled { reason: CancelReason::Expired };
    for late in [
        DispatcherEvent::ApprovalRequested { request: Box::new(request.clone()) },
        DispatcherEvent::ApprovalEnded { call: request.call, end: ended },
    ] {
        slot.awake().unwrap().cast(SessionMsg::Dispatcher(late)).unwrap();
        assert_eq!(runtime.state(&slot).await.approval_request, None, "no call waits for a person");
    }
    completion.say("Still not sent.");
    in_time(end).await.unwrap();
    probe.until_turns_ended(2).await;
    let lines = probe.lines();
    assert_eq!(lines.matches("asked mail").count(), 1, "{lines}");
    assert_eq!(lines.matches("answered Deny").count(), 1, "{lines}");
    assert!(!lines.contains("question ended"), "{lines}");
}
