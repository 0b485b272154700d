//! Calls that work on the same resource: one after the other, over all sessions and tools; others
//! are not concerned.

use serde_json::Value;

use super::{LONG_ENOUGH, SHORT, hasty, runtime_with};
use crate::{
    dispatcher::{
        CancelCause::{self, Dismissed},
        DispatcherEvent,
    },
    port::Resource,
    protocol::{Decision, Effect, OnDismiss},
    test_runtime::{TestRuntime, in_time, kind},
    testing::{End, FakeTool, Gate},
};

/// The argument `on` names it.
fn named(arguments: &Value) -> Option<Resource> {
    arguments["on"].as_str().map(Resource::new)
}

fn two_at_once(arguments: &Value) -> Option<Resource> {
    Some(named(arguments)?.at_once(2))
}

const A: &str = r#"{"on":"a"}"#;
const B: &str = r#"{"on":"b"}"#;

/// Each call has a session of its own.
#[tokio::test]
async fn calls_on_one_resource_run_one_after_the_other_whatever_their_session_and_tool() {
    let gate = Gate::new();
    let tools = [
        FakeTool::write("mail").resource(named).gate(&gate),
        FakeTool::transactional("save").resource(named),
    ];
    let test = TestRuntime::new(tools).await;
    let mut first = test.begin("mail", A).await;
    in_time(gate.arrived(1)).await;
    let mut second = test.begin("mail", A).await;
    let mut third = test.begin("save", A).await;
    // Neither another resource nor none waits; nor does the transaction, which the third does not
    // hold.
    assert_eq!(kind(&test.call("save", B).await), "ok, Committed");
    assert_eq!(kind(&test.call("save", "{}").await), "ok, Committed");
    let mut beside = test.begin("mail", B).await;
    in_time(gate.arrived(2)).await;
    assert_eq!(test.handles.calls.permits.resources(), 2);
    gate.release();
    assert_eq!(kind(&first.end().await), "ok, Committed");
    in_time(gate.arrived(3)).await;
    assert_eq!(test.store.connection().values()["save"], serde_json::json!({}), "not the third");
    gate.open();
    for call in [&mut beside, &mut second, &mut third] {
        assert_eq!(kind(&call.end().await), "ok, Committed");
    }
    test.at_rest().await;
    assert_eq!(test.handles.calls.permits.resources(), 0, "no unused key is kept");
}

#[tokio::test]
async fn as_many_calls_run_at_once_on_a_resource_as_it_says() {
    let gate = Gate::new();
    let test = TestRuntime::new([FakeTool::write("mail").resource(two_at_once).gate(&gate)]).await;
    let mut calls =
        [test.begin("mail", A).await, test.begin("mail", A).await, test.begin("mail", A).await];
    in_time(gate.arrived(2)).await;
    // A call that is not concerned comes to its handler, and the third has not.
    let mut beside = test.begin("mail", B).await;
    in_time(gate.arrived(3)).await;
    assert_eq!(test.handles.calls.permits.resources(), 2);
    gate.release();
    in_time(gate.arrived(4)).await;
    gate.open();
    for call in calls.iter_mut().chain([&mut beside]) {
        assert_eq!(kind(&call.end().await), "ok, Committed");
    }
    test.at_rest().await;
}

#[tokio::test]
async fn waiting_for_a_resource_takes_no_permit_of_the_tool() {
    let gate = Gate::new();
    let held = FakeTool::write("hold").resource(named).gate(&gate);
    let few = FakeTool::write("mail").resource(named).with_spec(|spec| spec.max_concurrent(1));
    let test = TestRuntime::new([held, few]).await;
    let mut holding = test.begin("hold", A).await;
    in_time(gate.arrived(1)).await;
    let mut waiting = test.begin("mail", A).await;
    assert_eq!(kind(&test.call("mail", B).await), "ok, Committed");
    gate.open();
    assert_eq!(kind(&holding.end().await), "ok, Committed");
    assert_eq!(kind(&waiting.end().await), "ok, Committed");
    test.at_rest().await;
}

#[tokio::test]
async fn a_call_waiting_for_its_resource_does_not_begin_once_its_screen_or_runtime_closes() {
    let gate = Gate::new();
    let tool = FakeTool::write("mail").resource(named).gate(&gate);
    let runs = tool.runs();
    let test = TestRuntime::new([tool]).await;
    let mut running = test.begin("mail", A).await;
    in_time(gate.arrived(1)).await;
    let mut dismissed = test.begin("mail", A).await;
    let mut left = test.begin("mail", A).await;
    let mut last = test.begin("mail", A).await;
    dismissed.cancel(Dismissed(OnDismiss::Stop));
    assert_eq!(kind(&dismissed.end().await), "withdrawn, None");
    left.cancel(CancelCause::Suspended);
    let event = left.next().await;
    assert!(matches!(event, DispatcherEvent::Left { .. }), "{event:?}");
    last.cancel(Dismissed(OnDismiss::Finish));
    gate.open();
    assert_eq!(kind(&running.end().await), "ok, Committed");
    assert_eq!(kind(&last.end().await), "discarded, Committed", "it was to finish");
    assert_eq!(runs.count(), 2);
    // The call that was left has no end, as it should.
    test.context.tasks.close();
    in_time(test.context.tasks.wait()).await;
    assert_eq!(test.handles.calls.permits.resources(), 0);
}

#[tokio::test]
async fn a_handler_that_panics_or_is_cut_off_gives_its_resource_back() {
    let stuck = Gate::new();
    let tools = vec![
        FakeTool::write("panics").resource(named).end(End::Panic("secret")),
        FakeTool::transactional("cut_off").resource(named).gate(&stuck),
        FakeTool::write("mail").resource(named),
        FakeTool::write("lost").resource(|_| panic!("secret: in the tool's own predicate")),
    ];
    let test = runtime_with(|limits| limits.transaction_deadline = SHORT, tools).await;
    for (tool, end) in [
        ("panics", "handler_error, Unknown"),
        ("mail", "ok, Committed"),
        ("cut_off", "timeout, None"),
        ("mail", "ok, Committed"),
        ("lost", "handler_error, None"),
    ] {
        assert_eq!(kind(&test.call(tool, A).await), end, "{tool}");
    }
    test.at_rest().await;
    assert_eq!(test.handles.calls.permits.resources(), 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_resource_has_an_end_also_with_an_approval_in_hand() {
    let stuck = Gate::new();
    let tools = vec![
        FakeTool::write("hold").resource(named).gate(&stuck),
        hasty(FakeTool::write("mail")).resource(named),
        FakeTool::destructive("send").resource(named),
    ];
    let limits = |limits: &mut crate::protocol::Limits| {
        limits.approval_timeout = LONG_ENOUGH;
    };
    let test = runtime_with(limits, tools).await;
    let mut holding = test.begin("hold", A).await;
    in_time(stuck.arrived(1)).await;
    assert_eq!(kind(&test.call("mail", A).await), "overloaded, None");
    let mut asked = test.begin("send", A).await;
    let request = asked.approval_request().await;
    test.decide(&request, Decision::Approve).await.unwrap();
    assert_eq!(kind(&asked.end().await), "overloaded, None");
    stuck.open();
    assert_eq!(kind(&holding.end().await), "ok, Committed");
    let rows = test.at_rest().await;
    assert_eq!(rows[0].effect, Some(Effect::Committed));
    assert_eq!(test.handles.calls.permits.resources(), 0);
}

/// What the user typed decides, not what the model had asked for.
#[tokio::test]
async fn an_edited_call_waits_for_the_resource_that_it_will_work_on() {
    let gate = Gate::new();
    let tools = [
        FakeTool::write("hold").resource(named).gate(&gate),
        FakeTool::destructive("send").resource(named).parameters(serde_json::json!({
            "type": "object", "properties": { "on": { "type": "string" } },
        })),
    ];
    let test = TestRuntime::new(tools).await;
    let mut holding = test.begin("hold", A).await;
    in_time(gate.arrived(1)).await;
    let mut asked = test.begin("send", A).await;
    let request = asked.approval_request().await;
    let arguments = serde_json::json!({ "on": "b" });
    test.decide(&request, Decision::Edit { arguments }).await.unwrap();
    assert_eq!(kind(&asked.end().await), "ok, Committed");
    gate.open();
    assert_eq!(kind(&holding.end().await), "ok, Committed");
    test.at_rest().await;
}
