//! Calls that were left before their end, and go on with what the ledger has of them.

use serde_json::json;

use super::{SHORT, runtime_with};
use crate::{
    dispatcher::{
        CancelCause::{self, Dismissed},
        Cancellation, DispatchRequest, DispatcherEvent,
    },
    ledger::CallState,
    port::LedgerRow,
    protocol::{CancelReason, Decision, OnDismiss, Timestamp},
    test_runtime::{OneCall, TestRuntime, in_time, kind},
    testing::{FakeTool, Gate, Runs},
};

/// Leaves a call, and gives what the ledger has of it.
async fn leave(test: &TestRuntime, call: &mut OneCall) -> LedgerRow {
    call.cancel(CancelCause::Suspended);
    while !matches!(call.next().await, DispatcherEvent::Left { .. }) {}
    let rows = test.ledger().await;
    rows.into_iter().find(|row| row.call == call.request.call.id).unwrap()
}

/// The same call, with this row of the ledger.
async fn again(test: &TestRuntime, call: &OneCall, row: &LedgerRow) -> OneCall {
    with(test, call, row, |_| {}).await
}

async fn with(
    test: &TestRuntime,
    call: &OneCall,
    row: &LedgerRow,
    change: impl FnOnce(&mut DispatchRequest),
) -> OneCall {
    let old = call.request.clone();
    let same = |request: &mut DispatchRequest| {
        let news = request.news.clone();
        *request = DispatchRequest {
            ledger_row: Some(Box::new(row.clone())),
            cancellation: Cancellation::default(),
            news,
            ..(*old).clone()
        };
        change(request);
    };
    test.begin_with("mail", "{}", same).await
}

pub(super) async fn mailing() -> (TestRuntime, Runs) {
    let tool = FakeTool::destructive("mail");
    let runs = tool.runs();
    (runtime_with(|_| {}, vec![tool]).await, runs)
}

/// Makes a call that is asked about, and left before the answer.
pub(super) async fn asked(test: &TestRuntime) -> (OneCall, LedgerRow) {
    let mut call = test.begin("mail", r#"{"to":"kim"}"#).await;
    call.approval_request().await;
    let row = leave(test, &mut call).await;
    assert_eq!(row.state, CallState::Awaiting);
    (call, row)
}

/// Makes a call that is approved, and left while another call had the only permit; the gate lets
/// that one go.
pub(super) async fn approved() -> (TestRuntime, Runs, Gate, OneCall, LedgerRow) {
    decided(Decision::Approve).await
}

async fn decided(decision: Decision) -> (TestRuntime, Runs, Gate, OneCall, LedgerRow) {
    let gate = Gate::new();
    let tool = FakeTool::destructive("mail").gate(&gate).with_spec(|spec| spec.max_concurrent(1));
    let runs = tool.runs();
    let test = runtime_with(|_| {}, vec![tool]).await;
    let mut first = test.begin("mail", "{}").await;
    let request = first.approval_request().await;
    test.decide(&request, Decision::Approve).await.unwrap();
    in_time(gate.arrived(1)).await;
    let mut call = test.begin("mail", r#"{"to":"kim"}"#).await;
    let request = call.approval_request().await;
    test.decide(&request, decision).await.unwrap();
    let row = leave(&test, &mut call).await;
    assert_eq!(row.state, CallState::Approved);
    gate.open();
    assert_eq!(kind(&first.end().await), "ok, Committed");
    (test, runs, gate, call, row)
}

#[tokio::test]
async fn a_question_that_was_left_is_asked_again_as_it_was() {
    let (test, runs) = mailing().await;
    let (call, row) = asked(&test).await;
    let mut call = again(&test, &call, &row).await;
    let request = call.approval_request().await;
    assert_eq!(Some(request.digest), row.digest);
    assert_eq!(Some(request.expires_at), row.expires_at);
    assert_eq!(request.arguments, json!({ "to": "kim" }).into());
    test.decide(&request, Decision::Approve).await.unwrap();
    assert_eq!(kind(&call.end().await), "ok, Committed");
    assert_eq!(runs.count(), 1);
    test.at_rest().await;
}

#[tokio::test]
async fn a_question_whose_arguments_or_text_were_changed_is_not_asked_again() {
    for change in [
        (|row| row.arguments = json!({ "to": "all" }).into()) as fn(&mut LedgerRow),
        |row| row.shown.as_mut().unwrap().text = "Nothing happens.".into(),
        |row| row.shown.as_mut().unwrap().consequence = "Nothing.".into(),
        |row| row.shown = None,
    ] {
        let (test, runs) = mailing().await;
        let (call, mut row) = asked(&test).await;
        change(&mut row);
        let end = again(&test, &call, &row).await.end().await;
        assert_eq!(kind(&end), "tool_changed, None");
        assert_eq!(runs.count(), 0);
        test.at_rest().await;
    }
}

#[tokio::test]
async fn a_question_that_expired_meanwhile_is_not_asked_again() {
    let (test, runs) = mailing().await;
    let (call, mut row) = asked(&test).await;
    row.expires_at = Some(Timestamp::from_millis(1));
    assert_eq!(kind(&again(&test, &call, &row).await.end().await), "expired, None");
    assert_eq!(runs.count(), 0);
    test.at_rest().await;
}

#[tokio::test]
async fn an_approval_that_was_left_is_used_once_and_without_a_question() {
    let (test, runs, _, call, row) = approved().await;
    let mut call = again(&test, &call, &row).await;
    let DispatcherEvent::Ended(end) = call.next().await else { panic!("no question again") };
    assert_eq!(kind(&end), "ok, Committed");
    assert_eq!(runs.count(), 2, "the other call, and this one");
    test.at_rest().await;
}

#[tokio::test]
async fn an_approval_whose_seal_does_not_fit_counts_for_nothing() {
    let (test, runs, _, call, mut row) = approved().await;
    row.expires_at = row.expires_at.map(|at| at.after(SHORT));
    assert_eq!(kind(&again(&test, &call, &row).await.end().await), "approval_not_sealed, None");
    assert_eq!(runs.count(), 1, "the other call");
    test.at_rest().await;
}

#[tokio::test]
async fn what_was_left_does_not_go_on_behind_a_dismissal_and_says_what_it_was() {
    let (test, runs) = mailing().await;
    for mode in [OnDismiss::Stop, OnDismiss::Finish] {
        let (call, row) = asked(&test).await;
        let dismissed =
            |request: &mut DispatchRequest| request.cancellation.cancel(Dismissed(mode));
        let end = with(&test, &call, &row, dismissed).await.end().await;
        assert_eq!(kind(&end), format!("{}, None", CancelReason::Dismissed.name()));
    }
    assert_eq!(runs.count(), 0);
    test.at_rest().await;
    let (test, runs, _, call, row) = approved().await;
    let dismissed =
        |request: &mut DispatchRequest| request.cancellation.cancel(Dismissed(OnDismiss::Stop));
    let end = with(&test, &call, &row, dismissed).await.end().await;
    assert_eq!(kind(&end), format!("{}, None", CancelReason::Withdrawn.name()), "no question");
    assert_eq!(runs.count(), 1, "the other call");
    test.at_rest().await;
}

/// How a call ends instead of going on, which is what the ledger has of it.
async fn ends_as_stored(
    test: &TestRuntime,
    (call, row): &(OneCall, LedgerRow),
    change: impl FnOnce(&mut DispatchRequest),
) -> String {
    let end = with(test, call, row, change).await.end().await;
    let rows = test.ledger().await;
    let stored = rows.iter().find(|row| row.call == call.request.call.id).unwrap();
    assert_eq!((&end.record.arguments, &end.record.asked), (&stored.arguments, &stored.asked));
    kind(&end)
}

#[tokio::test]
async fn what_does_not_go_on_is_told_with_the_arguments_that_the_ledger_has() {
    let dismissed =
        |mode| move |request: &mut DispatchRequest| request.cancellation.cancel(Dismissed(mode));
    let (test, _) = mailing().await;
    for mode in [OnDismiss::Stop, OnDismiss::Finish] {
        let left = asked(&test).await;
        assert_eq!(ends_as_stored(&test, &left, dismissed(mode)).await, "dismissed, None");
    }
    let left = asked(&test).await;
    let gone = |request: &mut DispatchRequest| request.call.name = "gone".into();
    assert_eq!(ends_as_stored(&test, &left, gone).await, "unknown_tool, None");
    let left = asked(&test).await;
    let beyond = |request: &mut DispatchRequest| request.beyond = Some(1);
    assert_eq!(ends_as_stored(&test, &left, beyond).await, "too_many_calls, None");

    for mode in [OnDismiss::Stop, OnDismiss::Finish] {
        let edit = Decision::Edit { arguments: json!({ "to": "lee" }) };
        let (test, _, _, call, row) = decided(edit).await;
        let ended = ends_as_stored(&test, &(call, row), dismissed(mode)).await;
        assert!(ended == "withdrawn, None" || ended == "dismissed, None", "{ended}");
    }
    let edit = Decision::Edit { arguments: json!({ "to": "lee" }) };
    let (test, _, _, call, mut row) = decided(edit).await;
    row.expires_at = row.expires_at.map(|at| at.after(SHORT));
    let ended = ends_as_stored(&test, &(call, row), |_| {}).await;
    assert_eq!(ended, "approval_not_sealed, None");
}

#[tokio::test]
async fn a_call_that_goes_on_waits_for_its_permit_and_a_new_one_is_refused() {
    let gate = Gate::new();
    let tools = vec![FakeTool::destructive("mail"), FakeTool::write("post").gate(&gate)];
    let test = runtime_with(|limits| limits.max_running_calls = 1, tools).await;
    let (call, row) = asked(&test).await;
    let mut other = test.begin("post", "{}").await;
    in_time(gate.arrived(1)).await;
    assert_eq!(kind(&test.call("mail", "{}").await), "overloaded, None");
    let mut call = again(&test, &call, &row).await;
    gate.open();
    assert_eq!(kind(&other.end().await), "ok, Committed");
    let request = call.approval_request().await;
    test.decide(&request, Decision::Approve).await.unwrap();
    assert_eq!(kind(&call.end().await), "ok, Committed");
    test.at_rest().await;
}

#[tokio::test]
async fn a_yes_told_to_count_is_run_though_the_turn_stops_while_it_waits_for_its_permit() {
    let gate = Gate::new();
    let tool = FakeTool::destructive("mail").gate(&gate).with_spec(|spec| spec.max_concurrent(1));
    let runs = tool.runs();
    let test = runtime_with(|_| {}, vec![tool]).await;
    let mut calls = Vec::new();
    for _ in 0..2 {
        let mut call = test.begin("mail", "{}").await;
        let request = call.approval_request().await;
        test.decide(&request, Decision::Approve).await.unwrap();
        in_time(gate.arrived(1)).await;
        calls.push(call);
    }
    let [first, second] = &mut calls[..] else { panic!("two calls") };
    second.cancel(Dismissed(OnDismiss::Stop));
    tokio::task::yield_now().await;
    gate.open();
    assert_eq!(kind(&first.end().await), "ok, Committed");
    assert_eq!(kind(&second.end().await), "discarded, Committed");
    assert_eq!(runs.count(), 2);
    test.at_rest().await;
}
