//! The end of a call whose answer from the store was lost, or that has another end in the ledger.

use super::{going_on, holding_the_transaction};
use crate::{
    dispatcher::{DispatcherEvent, ask::request, check::check, ends_of_lost},
    ledger::{CallState, Transition},
    port::{LedgerRow, Store, StoreError, Write},
    protocol::{
        Approval, ApprovalEnd, CancelReason, Decision, DecisionError, Digest, Locale, Text,
        ToolOutcome,
    },
    test_runtime::{TestRuntime, in_time, kind},
    testing::{End, FakeTool, Gate},
};

#[tokio::test]
async fn what_the_ledger_was_not_found_to_have_is_told_as_not_recorded() {
    let test = TestRuntime::new([FakeTool::read("look")]).await;
    let store = test.store.clone();
    let mut call = test.begin_with("look", "{}", |_| store.lose_next_commit()).await;
    let end = call.end().await;
    assert_eq!((kind(&end).as_str(), end.is_recorded), ("store, None", false));
    assert_eq!(test.ledger().await, []);
}

#[tokio::test]
async fn a_question_whose_row_in_the_ledger_was_doubtful_is_asked_where_it_is_found_there() {
    let test = TestRuntime::new([FakeTool::destructive("mail")]).await;
    let store = test.store.clone();
    let mut call = test.begin_with("mail", "{}", |_| store.lose_next_commit_reply()).await;
    let asked = call.approval_request().await;
    test.decide(&asked, Decision::Approve).await.unwrap();
    assert_eq!(kind(&call.end().await), "ok, Committed");
    test.at_rest().await;
}

#[tokio::test]
async fn a_commit_that_fails_leaves_nothing_and_says_so() {
    let (test, mut call, gate) = holding_the_transaction().await;
    test.store.fail_next_commit();
    gate.open();
    let ended = call.end().await;
    assert_eq!((kind(&ended).as_str(), ended.is_recorded), ("store, None", true));
    assert!(test.store.connection().values().is_empty());
    test.at_rest().await;
}

#[tokio::test]
async fn a_commit_whose_reply_is_lost_is_told_by_the_ledger() {
    let (test, mut call, gate) = holding_the_transaction().await;
    test.store.lose_next_commit_reply();
    gate.open();
    assert_eq!(kind(&call.end().await), "ok, Committed");
    assert_eq!(test.store.connection().values().len(), 1);
    test.at_rest().await;
}

#[tokio::test]
async fn a_transaction_of_unknown_commit_is_not_told_as_undone() {
    let (test, mut call, gate) = holding_the_transaction().await;
    test.store.lose_next_commit();
    gate.open();
    let end = call.end().await;
    assert_eq!((kind(&end).as_str(), end.is_recorded), ("store, Unknown", false));
    assert!(test.store.connection().values().is_empty());
}

#[tokio::test]
async fn an_approval_that_only_the_ledger_has_is_told_with_the_end() {
    let test = TestRuntime::new([FakeTool::destructive("mail")]).await;
    let mut call = test.begin("mail", "{}").await;
    let asked = call.approval_request().await;
    test.store.lose_next_commit_reply();
    test.store.fail_next_links();
    let told = test.decide(&asked, Decision::Approve).await;
    assert_eq!(told, Err(DecisionError::NotKnown));
    let end = call.end().await;
    assert_eq!((kind(&end).as_str(), end.is_recorded), ("store, None", true));
    assert_eq!(end.record.approval, Some(Approval::Once));
    assert_eq!(end.record.approval, test.at_rest().await[0].approval);
}

#[tokio::test]
async fn a_call_whose_steps_were_all_acknowledged_is_not_looked_up() {
    let tools = [FakeTool::read("look"), FakeTool::write("mail"), FakeTool::transactional("save")];
    let test = TestRuntime::new(tools).await;
    let before = test.store.readings();
    for tool in ["look", "mail", "save"] {
        assert!(test.call(tool, "{}").await.is_recorded);
    }
    assert_eq!(test.store.readings(), before);
    test.at_rest().await;
}

#[tokio::test]
async fn an_end_that_could_not_be_recorded_says_what_is_known_of_it() {
    for (handler, expected, text) in [
        (End::Echo, "store, Unknown", Text::EndUnknown),
        (End::Refuse("no", "not done"), "store, None", Text::StoreFailed),
    ] {
        let gate = Gate::new();
        let test = TestRuntime::new([FakeTool::write("mail").gate(&gate).end(handler)]).await;
        let mut call = test.begin("mail", "{}").await;
        in_time(gate.arrived(1)).await;
        test.store.fail_next_begin();
        gate.open();
        let end = call.end().await;
        assert_eq!((kind(&end).as_str(), end.is_recorded), (expected, false));
        let Some(ToolOutcome::Err(told)) = end.record.outcome else { panic!("it is an error") };
        assert_eq!(told.reason, text.in_locale(Locale::EN));
    }
}

#[tokio::test]
async fn a_call_is_never_told_what_became_of_a_call_of_another_session() {
    let tool = FakeTool::write("mail");
    let runs = tool.runs();
    let test = TestRuntime::new([tool]).await;
    let first = test.call("mail", r#"{"to":"kim"}"#).await;
    assert_eq!(kind(&first), "ok, Committed");
    let id = first.record.id;
    let mut other = test.begin_with("mail", "{}", |request| request.call.id = id).await;
    let end = other.end().await;
    assert_eq!((kind(&end).as_str(), end.is_recorded), ("store, None", false));
    assert_eq!(runs.count(), 1);
}

/// As a session does that wakes meanwhile.
#[tokio::test]
async fn a_no_to_a_call_that_ended_otherwise_meanwhile_is_told_not_to_count() {
    let test = TestRuntime::new([FakeTool::destructive("mail")]).await;
    let mut call = test.begin("mail", "{}").await;
    let asked = call.approval_request().await;
    let row = test.ledger().await.remove(0);
    let lost = ends_of_lost(&test.handles.calls, &[&row], Locale::EN).remove(0);
    let session = row.session.clone();
    let at = test.handles.calls.clock.now();
    let ended = Write::Call { session, call: row.call, at, transition: Transition::Ended(lost) };
    test.handles.store.write(vec![ended]).await.unwrap();
    let told = test.decide(&asked, Decision::Deny).await;
    assert_eq!(told, Err(DecisionError::NotRecorded));
    let DispatcherEvent::ApprovalEnded { end, .. } = call.next().await else {
        panic!("the question ends before the call does");
    };
    assert_eq!(end, ApprovalEnd::Cancelled { reason: CancelReason::Unreachable });
    assert_eq!(kind(&call.end().await), "withdrawn, None", "the end that the ledger has");
    assert_eq!(test.at_rest().await[0].decided_by, None);
}

#[tokio::test]
async fn a_question_is_made_of_what_is_stored_only_where_that_is_what_would_run() {
    let (test, _) = going_on::mailing().await;
    let (call, row) = going_on::asked(&test).await;
    assert_eq!(row.state, CallState::Awaiting);
    let mut checked = check(call.request.clone(), &test.handles.calls).unwrap();
    checked.restore(row.arguments.clone(), row.shown.clone());
    let asked = request(row.clone(), &checked).unwrap();
    assert_eq!((Some(asked.digest), &asked.arguments), (row.digest, &row.arguments));
    for change in [
        (|row| row.digest = Some(Digest::new([1; 32]))) as fn(&mut LedgerRow),
        |row| row.digest = None,
        |row| row.arguments = serde_json::json!({ "to": "all" }).into(),
        |row| row.shown.as_mut().unwrap().text = "Nothing happens.".into(),
        |row| row.shown.as_mut().unwrap().consequence = "Nothing.".into(),
        |row| row.shown = None,
        |row| row.expires_at = None,
    ] {
        let mut stored = row.clone();
        change(&mut stored);
        let refused = request(stored, &checked);
        assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    }
    // The call has other arguments, or another text, than the digest that was stored of both.
    let other = serde_json::json!({ "to": "all" });
    checked.restore(other.into(), row.shown.clone());
    let stored = row.clone();
    let links = test.store.links(&row.session).await.unwrap().0;
    assert!(request(stored, &checked).is_err(), "{links:?}");
}
