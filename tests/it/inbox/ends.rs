//! How requests end that no person decided, and what the death of an actor changes: nothing.

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use madang::{
    Asks,
    model::Completion,
    tool::{self, Resource, ToolContext, ToolResult},
};
use madang_actors::approval::ConfirmMsg;
use madang_testing::{MemoryConnection, MemoryStore, ScriptedModel, SessionHooks as _};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::*;

/// Waits until so many requests are open at the ConfirmActor.
async fn until_asked(test: &TestRuntime, count: usize) {
    let confirm = &test.runtime.actors().confirm;
    let asked = async {
        let open = |reply| ConfirmMsg::OpenRequests { reply };
        while confirm.ask(open, PATIENCE).await != Ok(count) {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, asked).await.expect("it is asked again in time");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_expires_is_told_as_expired() {
    let (test, _) = with_limits(|limits| limits.decision_timeout = Duration::from_millis(50)).await;
    let mut inbox = inbox_of(&test.runtime, &kim()).await;
    let call = save(&test.runtime, kim(), "a").await;
    let request = requested(&mut inbox).await;
    assert_eq!(ended(&mut inbox, &request).await, cancelled(CancelReason::Expired));
    call.ended().await;
    drop(inbox);
    test.shutdown().await;
}

#[tokio::test]
async fn a_request_whose_turn_or_call_is_dismissed_is_told_as_dismissed() {
    let (test, mut script) = with_limits(|_| {}).await;
    let mut inbox = inbox_of(&test.runtime, &kim()).await;
    let call = save(&test.runtime, kim(), "a").await;
    let request = requested(&mut inbox).await;
    call.dismiss();
    assert_eq!(ended(&mut inbox, &request).await, cancelled(CancelReason::Dismissed));
    call.ended().await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("go").await.unwrap();
    let asks = wanted("save", &json!({ "name": "b" }));
    script.next().await.finish(Completion { tool_calls: vec![asks], ..Completion::default() });
    let request = requested(&mut inbox).await;
    session.dismiss().await.unwrap();
    assert_eq!(ended(&mut inbox, &request).await, cancelled(CancelReason::Dismissed));
    turn.ended().await.unwrap();
    drop(inbox);
    test.shutdown().await;
}

#[tokio::test]
async fn the_death_of_the_confirm_actor_ends_no_request_in_an_inbox_and_leaves_none_open() {
    let (test, _) = with_limits(|_| {}).await;
    let mut inbox = inbox_of(&test.runtime, &kim()).await;
    let (one, other) =
        (save(&test.runtime, kim(), "a").await, save(&test.runtime, kim(), "b").await);
    let first = requested(&mut inbox).await;
    let second = requested(&mut inbox).await;
    for _ in 0..3 {
        test.runtime.actors().confirm.kill().await;
        // Opened meanwhile, an inbox tells both as open.
        let meanwhile =
            snapshot(&mut test.runtime.user_with_id(&kim()).inbox().await.unwrap()).await;
        assert_eq!(meanwhile.len(), 2);
        until_asked(&test, 2).await;
    }
    decide_in_the_end(&test.runtime, &first, Decision::Approve).await;
    assert_eq!(ended(&mut inbox, &first).await, decided(Decision::Approve));
    // Dismissed while no actor has the request, it ends all the same.
    let confirm = test.runtime.actors().confirm.clone();
    let gone = confirm.actor();
    gone.kill();
    let rest = if second.call == one.id() { &one } else { &other };
    rest.dismiss();
    assert_eq!(ended(&mut inbox, &second).await, cancelled(CancelReason::Dismissed));
    confirm.after(&gone).await;
    one.ended().await;
    other.ended().await;
    assert_eq!(snapshot(&mut test.runtime.user_with_id(&kim()).inbox().await.unwrap()).await, []);
    drop(inbox);
    test.shutdown().await;
}

#[tokio::test]
async fn a_request_stays_open_in_an_inbox_where_the_actor_of_its_session_dies() {
    let (test, mut script) = with_limits(|_| {}).await;
    let mut inbox = inbox_of(&test.runtime, &kim()).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("go").await.unwrap();
    let asks = wanted("save", &json!({ "name": "a" }));
    script.next().await.finish(Completion { tool_calls: vec![asks], ..Completion::default() });
    let request = requested(&mut inbox).await;
    session.kill();
    // The turn goes on, and asks the same.
    timeout(PATIENCE, async {
        let decision = || Decision::Approve;
        while decide(&test.runtime, &request, decision()).await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("it is asked again in time");
    assert_eq!(ended(&mut inbox, &request).await, decided(Decision::Approve));
    script.next().await.say("Saved.");
    turn.ended().await.unwrap();
    let mut call = save(&test.runtime, kim(), "b").await;
    assert_eq!(requested(&mut inbox).await, open(&mut call).await, "nothing else was told");
    call.dismiss();
    call.ended().await;
    drop(inbox);
    test.shutdown().await;
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

async fn nothing(_: Nothing, _: &mut MemoryConnection, _: &ToolContext) -> ToolResult<Value> {
    Ok(Value::Null)
}

#[tokio::test]
async fn a_request_whose_pipeline_panics_does_not_stay_open_in_an_inbox() {
    // It is asked for its resource when the question is written, and again when "always" is
    // recorded.
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    fn resource(_: &Nothing, _: &ToolContext) -> Option<Resource> {
        assert!(ASKED.fetch_add(1, Relaxed) < 1, "the tool breaks");
        None
    }
    let tool = tool::transactional("breaks", "Breaks.", nothing).resource(resource);
    let builder = Runtime::builder().model(ScriptedModel::new([])).store(MemoryStore::new());
    let runtime = builder.tool(tool).start().await.unwrap();
    let mut inbox = inbox_of(&runtime, &kim()).await;
    let call = runtime.begin(Call::new(kim(), "breaks", "{}").asks(Asks::User)).await.unwrap();
    let request = requested(&mut inbox).await;
    decide(&runtime, &request, Decision::ApproveAlways).await.unwrap_err();
    assert_eq!(ended(&mut inbox, &request).await, cancelled(CancelReason::Unreachable));
    assert_eq!(call.ended().await.record.approval, None);
    drop(inbox);
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn an_inbox_ends_with_the_runtime_and_calls_no_request_ended_that_stays_open() {
    let (test, mut script) = with_limits(|_| {}).await;
    let mut inbox = inbox_of(&test.runtime, &kim()).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let _ = session.send("go").await.unwrap();
    let asks = wanted("save", &json!({ "name": "a" }));
    script.next().await.finish(Completion { tool_calls: vec![asks], ..Completion::default() });
    requested(&mut inbox).await;
    let waits = tokio::spawn(async move { inbox.next().await });
    test.runtime.shutdown().await.unwrap();
    let last = timeout(PATIENCE, waits).await.expect("the inbox ends").unwrap();
    assert_eq!(last, None, "the request goes on after the next start");
    let closed = test.runtime.user_with_id(&kim()).inbox().await.unwrap_err();
    assert!(matches!(closed, madang::Error::Closed));
}
