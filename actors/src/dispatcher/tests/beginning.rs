//! The callers for which a call begins, and when its handler counts as running.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::DispatcherEvent;
use crate::{
    approval::ConfirmMsg,
    dispatcher::{CancelCause, Cancellation, DispatchRequest},
    port::Resource,
    protocol::{Effect, OnDismiss},
    test_runtime::{TestRuntime, in_time, kind},
    testing::{FakeTool, Gate},
};

#[tokio::test]
async fn nothing_begins_for_a_caller_who_has_left() {
    for tool in [FakeTool::read("t"), FakeTool::write("t"), FakeTool::transactional("t")] {
        let runs = tool.runs();
        let test = TestRuntime::new([tool]).await;
        let closing = |request: &mut DispatchRequest| {
            request.cancellation.cancel(CancelCause::Suspended);
        };
        let mut call = test.begin_with("t", "{}", closing).await;
        let left = call.next().await;
        assert!(matches!(left, DispatcherEvent::Left { .. }), "{left:?}");
        assert_eq!((runs.count(), test.ledger().await), (0, Vec::new()));
    }
}

#[tokio::test]
async fn a_caller_who_leaves_ends_its_question_and_hears_no_result() {
    let gate = Gate::new();
    let tools = [FakeTool::destructive("mail"), FakeTool::write("post").gate(&gate)];
    let test = TestRuntime::new(tools).await;
    let leaves = CancellationToken::new();
    let of_caller = |request: &mut DispatchRequest| {
        request.cancellation = Cancellation::of_caller(leaves.clone(), CancellationToken::new());
    };
    let mut asked = test.begin_with("mail", "{}", of_caller).await;
    asked.approval_request().await;
    let mut running = test.begin_with("post", "{}", of_caller).await;
    in_time(gate.arrived(1)).await;
    leaves.cancel();
    gate.open();
    assert_eq!(kind(&asked.end().await), "dismissed, None");
    assert_eq!(kind(&running.end().await), "discarded, Committed");
    test.at_rest().await;
    let mut late = test.begin_with("post", "{}", of_caller).await;
    assert_eq!(kind(&late.end().await), "withdrawn, None", "nothing begins any more");
}

/// Else a person could resolve what the handler is about to do.
#[tokio::test]
async fn a_handler_is_known_to_run_before_the_ledger_says_so() {
    let test = TestRuntime::new([FakeTool::write("mail")]).await;
    let mut call = test.not_begun("mail", "{}").await;
    let paused = test.store.pause().await;
    test.dispatch(&call);
    let request = call.request.clone();
    in_time(async {
        while !test.handles.calls.is_running(request.call.id) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(test.ledger().await, []);
    drop(paused);
    let end = call.end().await;
    assert_eq!((kind(&end).as_str(), end.record.effect), ("ok, Committed", Effect::Committed));
    assert!(!test.handles.calls.is_running(request.call.id));
}

#[tokio::test]
async fn a_withdrawn_question_waits_for_no_person_any_more() {
    let test = TestRuntime::new([FakeTool::destructive("mail")]).await;
    let mut asked = test.begin_with("mail", "{}", |_| {}).await;
    asked.approval_request().await;
    let open = async || {
        let (reply, open) = oneshot::channel();
        let _ = test.handles.calls.confirm.send(ConfirmMsg::OpenRequests { reply });
        in_time(open).await.unwrap()
    };
    assert_eq!(open().await, 1);
    asked.cancel(CancelCause::Dismissed(OnDismiss::Stop));
    asked.end().await;
    assert_eq!(open().await, 0);
}

static ABOUT_TO_RUN: OnceLock<Arc<DispatchRequest>> = OnceLock::new();

/// The user leaves when the resource of the call is asked for: after its approval, before its
/// handler.
fn leaves_now(_: &Value) -> Option<Resource> {
    let stop = CancelCause::Dismissed(OnDismiss::Stop);
    ABOUT_TO_RUN.get()?.cancellation.clone().cancel(stop);
    None
}

#[tokio::test]
async fn a_call_that_is_dismissed_as_its_handler_is_about_to_begin_does_not_begin() {
    let tool = FakeTool::write("mail").resource(leaves_now);
    let runs = tool.runs();
    let test = TestRuntime::new([tool]).await;
    let mut call = test.not_begun("mail", "{}").await;
    ABOUT_TO_RUN.set(call.request.clone()).unwrap();
    test.dispatch(&call);
    assert_eq!((kind(&call.end().await).as_str(), runs.count()), ("withdrawn, None", 0));
    test.at_rest().await;
}
