//! The ConfirmActor: one winner for each request, and an end for each without a decision.

use std::{future::pending, sync::Arc, time::Duration};

use ractor::{Actor, ActorRef};
use serde_json::json;
use tokio::{
    sync::oneshot::{self, Receiver},
    time::Instant,
};
use uuid::Uuid;

use super::{CheckedDecision, ConfirmActor, ConfirmMsg};
use crate::{
    mailbox::Address,
    protocol::{
        ApprovalRequest, CallId, Decision, DecisionError, Digest, Limits, SessionId, Timestamp,
        UserId,
    },
    registry::{RegisteredTool, ToolRegistry},
    testing::FakeTool,
};

async fn confirm() -> ActorRef<ConfirmMsg> {
    ConfirmActor::spawn(None, ConfirmActor, ()).await.unwrap().0
}

fn request(call: u128) -> ApprovalRequest {
    ApprovalRequest {
        call: CallId::new(Uuid::from_u128(call)),
        session: SessionId::new("s").unwrap(),
        user: UserId::new("kim").unwrap(),
        tool: "add_habit".into(),
        arguments: json!({}).into(),
        consequence: "".into(),
        text: "".into(),
        digest: Digest::new([7; 32]),
        expires_at: Timestamp::from_millis(0),
    }
}

fn tool() -> Arc<RegisteredTool> {
    let mut registry = ToolRegistry::new();
    registry.register(FakeTool::destructive("add_habit")).unwrap();
    registry.get("add_habit").unwrap().clone()
}

fn ask(actor: &ActorRef<ConfirmMsg>, call: u128) -> Receiver<Option<CheckedDecision>> {
    let (reply, decision) = oneshot::channel();
    let due = Instant::now() + Duration::from_secs(60);
    let request = Arc::new(request(call));
    actor.cast(ConfirmMsg::Ask { request, tool: tool(), due, reply }).unwrap();
    decision
}

async fn approve(actor: &ActorRef<ConfirmMsg>, call: u128) -> Receiver<Result<(), DecisionError>> {
    let ApprovalRequest { call, digest, user, .. } = request(call);
    let limits = Limits::default();
    let checked = CheckedDecision::check(Decision::Approve, pending(), &limits).await;
    let (decision, counts) = checked.unwrap();
    actor.cast(ConfirmMsg::Decide { call, digest, user, decision }).unwrap();
    counts
}

#[tokio::test(start_paused = true)]
async fn one_decision_wins_and_counts_once_it_is_recorded() {
    let actor = confirm().await;
    let decision = ask(&actor, 1);
    let mut first = approve(&actor, 1).await;
    let second = approve(&actor, 1).await;
    assert_eq!(second.await.unwrap(), Err(DecisionError::NotOpen));
    assert!(first.try_recv().is_err(), "it does not count before it is recorded");
    let decision = decision.await.unwrap().expect("a person decided");
    assert_eq!(*decision.get(), Decision::Approve);
    decision.tell(Ok(()));
    assert_eq!(first.await.unwrap(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_decision_expires_at_its_time() {
    let actor = confirm().await;
    let begin = Instant::now();
    let decision = ask(&actor, 1);
    assert!(decision.await.unwrap().is_none());
    assert_eq!(begin.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_withdrawn_request_is_not_open_and_no_decision_reaches_its_call() {
    let actor = confirm().await;
    let first = ask(&actor, 1);
    actor.cast(ConfirmMsg::Withdraw { call: request(1).call }).unwrap();
    assert!(first.await.is_err(), "no decision reaches it any more");
    let (reply, open) = oneshot::channel();
    let second = ask(&actor, 2);
    actor.cast(ConfirmMsg::OpenRequests { reply }).unwrap();
    assert_eq!(open.await.unwrap(), 1);
    assert!(second.await.unwrap().is_none());
}

#[tokio::test]
async fn a_no_may_say_as_much_as_is_allowed_and_not_a_byte_more() {
    let confirm = Address::new(confirm().await);
    let limits = Limits { max_denial_bytes: 10, ..Limits::default() };
    let ApprovalRequest { call, digest, user, .. } = request(1);
    let told = async |message: &str| {
        let decision = Decision::DenyWith { message: message.into() };
        super::decide(&confirm, &user, call, digest, decision, &limits).await
    };
    // Measured with its quotation marks, as the model reads it. No request is open, so none of them
    // counts.
    assert_eq!(told("12345678").await, Err(DecisionError::NotOpen));
    let too_long = DecisionError::MessageTooLong { bytes: 11, max_bytes: 10 };
    assert_eq!(told("123456789").await, Err(too_long));
}
