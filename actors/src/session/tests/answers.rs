//! What a person learns of an answer is what holds, even if the store's own answer is lost or late.

use super::{by_hand, calling};
use crate::{
    ledger::CallState,
    port::{LedgerFilter, LedgerRow, Store},
    protocol::{ApprovalEnd, ApprovalRequest, Decision, DecisionError, EventKind},
    session::SessionSlot,
    test_runtime::{TestRuntime, in_time},
    testing::{FakeTool, Probe},
};

async fn standing_approvals(runtime: &TestRuntime, slot: &SessionSlot) -> Vec<LedgerRow> {
    let session = Some(slot.session().clone());
    let filter = LedgerFilter { session, ..LedgerFilter::standing_approvals() };
    runtime.store.calls(&filter).await.unwrap()
}

async fn row(runtime: &TestRuntime, request: &ApprovalRequest) -> LedgerRow {
    let filter = LedgerFilter::call(request.call);
    runtime.store.calls(&filter).await.unwrap().pop().unwrap()
}

fn has_ended(probe: &Probe) -> bool {
    probe.events().iter().any(|event| matches!(event.kind, EventKind::ApprovalEnded { .. }))
}

#[tokio::test]
async fn an_answer_whose_record_was_written_counts_though_the_stores_reply_was_lost() {
    for decision in [Decision::Approve, Decision::ApproveAlways, Decision::Deny] {
        let tool = FakeTool::destructive("mail");
        let runs = tool.runs();
        let (runtime, mut script) = by_hand([tool]).await;
        let slot = runtime.slot("s").await;
        let mut probe = Probe::new(slot.feed().subscribe());
        let end = runtime.ask(&slot, "go").await.unwrap();
        script.next().await.finish(calling("", &["mail"]));
        let request = probe.approval_request().await;
        runtime.store.lose_next_commit_reply();
        runtime.decide(&request, decision.clone()).await.unwrap();
        script.next().await.say("Well.");
        in_time(end).await.unwrap();
        let is_yes = decision != Decision::Deny;
        assert_eq!(runs.count(), usize::from(is_yes), "{decision:?}");
        assert_eq!(row(&runtime, &request).await.approval.is_some(), is_yes);
        let stands = usize::from(decision == Decision::ApproveAlways);
        assert_eq!(standing_approvals(&runtime, &slot).await.len(), stands, "{decision:?}");
        let end = ApprovalEnd::Decided { decision };
        probe
            .until(|events| {
                let told = |kind: &EventKind| matches!(kind, EventKind::ApprovalEnded { end: told, .. } if *told == end);
                events.iter().any(|event| told(&event.kind))
            })
            .await;
    }
}

#[tokio::test]
async fn a_decision_that_could_not_be_recorded_is_told_as_undecided_and_nothing_stands() {
    for decision in [Decision::Approve, Decision::ApproveAlways, Decision::Deny] {
        let tool = FakeTool::destructive("mail");
        let runs = tool.runs();
        let (runtime, mut script) = by_hand([tool]).await;
        let slot = runtime.slot("s").await;
        let mut probe = Probe::new(slot.feed().subscribe());
        let end = runtime.ask(&slot, "go").await.unwrap();
        script.next().await.finish(calling("", &["mail"]));
        let request = probe.approval_request().await;
        runtime.store.fail_next_begin();
        let told = runtime.decide(&request, decision.clone()).await;
        assert_eq!(told, Err(DecisionError::NotRecorded));
        if decision == Decision::Deny {
            // The turn goes on, and the person is asked again.
            assert!(!probe.lines().contains("answered"), "{}", probe.lines());
            let again = probe.approval_request().await;
            assert_eq!(row(&runtime, &again).await.decided_by, None);
            assert_eq!(runs.count(), 0);
            runtime.decide(&again, Decision::Deny).await.unwrap();
            script.next().await.say("Not sent.");
            in_time(end).await.unwrap();
            continue;
        }
        script.next().await.say("Well."); // a yes that the store lacks leaves a call that fails
        in_time(end).await.unwrap();
        probe.until_turns_ended(1).await;
        assert!(!probe.lines().contains("answered"), "{}", probe.lines());
        assert!(has_ended(&probe), "{}", probe.lines());
        assert_eq!((runs.count(), standing_approvals(&runtime, &slot).await.len()), (0, 0));
        let row = row(&runtime, &request).await;
        assert_eq!((row.approval, row.decided_by), (None, None), "{decision:?}");
    }
}

#[tokio::test]
async fn a_question_whose_record_was_written_is_asked_though_the_stores_reply_was_lost() {
    let (runtime, mut script) =
        by_hand([FakeTool::destructive("mail"), FakeTool::read("look")]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    let completion = script.next().await;
    runtime.store.lose_next_commit_reply();
    completion.finish(calling("", &["mail"]));
    let request = probe.approval_request().await;
    assert_eq!(row(&runtime, &request).await.state, CallState::Awaiting);
    runtime.decide(&request, Decision::Approve).await.unwrap();
    script.next().await.say("Sent.");
    in_time(end).await.unwrap();
}

#[tokio::test]
async fn the_end_of_a_question_is_published_behind_the_store() {
    for decision in [Decision::Approve, Decision::Deny] {
        let (runtime, mut script) = by_hand([FakeTool::destructive("mail")]).await;
        let slot = runtime.slot("s").await;
        let mut probe = Probe::new(slot.feed().subscribe());
        let end = runtime.ask(&slot, "go").await.unwrap();
        script.next().await.finish(calling("", &["mail"]));
        let request = probe.approval_request().await;
        let paused = runtime.store.pause().await;
        let answered = async {
            runtime.decide(&request, decision.clone()).await.unwrap();
        };
        let looks = async {
            for _ in 0..500 {
                tokio::task::yield_now().await; // time enough to tell it, if it did not wait
            }
            runtime.state(&slot).await;
            assert_eq!(row(&runtime, &request).await.state, CallState::Awaiting);
            assert!(
                runtime.state(&slot).await.approval_request.is_some(),
                "{decision:?}: it is open still"
            );
            drop(paused);
        };
        tokio::join!(answered, looks);
        script.next().await.say("Well.");
        in_time(end).await.unwrap();
        probe.until_turns_ended(1).await;
        assert!(has_ended(&probe));
    }
}
