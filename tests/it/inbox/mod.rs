//! An inbox: a person sees and decides on any device what is asked in any session, and hears how it
//! ended.
//!
//! - `told` tests what an inbox tells, and on how many devices.
//! - `ends` tests requests that end without a person, and the death of an actor.
//! - `bounds` tests that inboxes cost a bounded amount, whatever their readers do.

mod bounds;
mod ends;
mod told;

use std::sync::Arc;

use madang::{
    Asks, Call, Limits, RunningCall, Runtime, UserId,
    approval::{ApprovalEnd, ApprovalRequest, Decision, Inbox, InboxItem},
    error::DecisionError,
    tool::CancelReason,
};
use madang_testing::{HandScript, RuntimeHooks as _, model_pair};
use serde_json::json;
use tokio::time::timeout;

use crate::support::{PATIENCE, TestRuntime, kim, wanted};

/// A test runtime whose model is driven by hand.
async fn with_limits(change: impl FnOnce(&mut Limits)) -> (TestRuntime, HandScript) {
    let (model, script) = model_pair();
    let mut limits = Limits::default();
    change(&mut limits);
    (TestRuntime::with_limits(model, limits).await, script)
}

async fn item(inbox: &mut Inbox) -> InboxItem {
    let item = timeout(PATIENCE, inbox.next()).await.expect("the inbox tells in time");
    item.expect("the runtime has not shut down")
}

async fn snapshot(inbox: &mut Inbox) -> Vec<Arc<ApprovalRequest>> {
    let item = item(inbox).await;
    let InboxItem::Snapshot { requests } = item else { panic!("no snapshot but {item:?}") };
    requests
}

async fn requested(inbox: &mut Inbox) -> Arc<ApprovalRequest> {
    let item = item(inbox).await;
    let InboxItem::ApprovalRequested { request } = item else { panic!("no request but {item:?}") };
    request
}

/// Waits for the end of this request, which must be what the inbox tells next.
async fn ended(inbox: &mut Inbox, of: &ApprovalRequest) -> ApprovalEnd {
    let item = item(inbox).await;
    let InboxItem::ApprovalEnded { call, session, end } = item else {
        panic!("no end but {item:?}")
    };
    assert_eq!((call, &session), (of.call, &of.session));
    (*end).clone()
}

/// An inbox that has told what is open.
async fn inbox_of(runtime: &Runtime, user: &UserId) -> Inbox {
    let mut inbox = runtime.user_with_id(user).inbox().await.unwrap();
    snapshot(&mut inbox).await;
    inbox
}

/// Begins a call without a model that asks.
async fn save(runtime: &Runtime, user: UserId, name: &str) -> RunningCall {
    let call = Call::new(user, "save", json!({ "name": name }).to_string()).asks(Asks::User);
    runtime.begin(call).await.unwrap()
}

/// The open request of a call.
async fn open(call: &mut RunningCall) -> Arc<ApprovalRequest> {
    let request = timeout(PATIENCE, call.request()).await.expect("it asks in time");
    request.expect("it has not ended")
}

async fn decide(
    runtime: &Runtime,
    request: &ApprovalRequest,
    decision: Decision,
) -> Result<(), DecisionError> {
    runtime.user_with_id(&request.user).decide(request.call, request.digest, decision).await
}

/// Decides, as often as the request must be asked again first.
async fn decide_in_the_end(runtime: &Runtime, request: &ApprovalRequest, decision: Decision) {
    let decided = async {
        while decide(runtime, request, decision.clone()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, decided).await.expect("the request is asked again in time");
}

fn decided(decision: Decision) -> ApprovalEnd {
    ApprovalEnd::Decided { decision }
}

fn cancelled(reason: CancelReason) -> ApprovalEnd {
    ApprovalEnd::Cancelled { reason }
}
