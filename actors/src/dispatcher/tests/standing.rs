//! What a standing approval covers, and what it does not.

use std::sync::Arc;

use serde_json::Value;

use super::runtime_with;
use crate::{
    dispatcher::{DispatchRequest, DispatcherEvent},
    port::Resource,
    protocol::{Approval, Decision, SessionId, TurnId},
    test_runtime::{OneCall, TestRuntime, kind},
    testing::FakeTool,
};

fn named(arguments: &Value) -> Option<Resource> {
    arguments["to"].as_str().map(Resource::new)
}

/// A session in which calls follow one another.
struct Chat<'a> {
    test: &'a TestRuntime,
    session: SessionId,
    turn: TurnId,
    seq: u64,
}

impl Chat<'_> {
    async fn next(&mut self, tool: &str, arguments: &str) -> OneCall {
        self.seq += 1;
        let session = self.session.clone();
        let turn = self.turn;
        let seq = self.seq;
        let here = |request: &mut DispatchRequest| {
            (request.session, request.turn, request.seq) = (session, turn, seq);
        };
        self.test.begin_with(tool, arguments, here).await
    }

    /// The user is asked, and says no.
    async fn is_asked(&mut self, tool: &str, arguments: &str) {
        let mut call = self.next(tool, arguments).await;
        let request = call.approval_request().await;
        self.test.decide(&request, Decision::Deny).await.unwrap();
        assert_eq!(kind(&call.end().await), "denied, None", "{tool} {arguments}");
    }
}

/// The user is asked, and says always.
async fn allow_always(test: &TestRuntime, mut call: OneCall) -> OneCall {
    let request = call.approval_request().await;
    test.decide(&request, Decision::ApproveAlways).await.unwrap();
    assert_eq!(kind(&call.end().await), "ok, Committed");
    call
}

#[tokio::test]
async fn a_standing_approval_covers_its_tool_resource_and_session_as_often_as_it_says() {
    let tools = ["mail", "wipe"].map(|name| FakeTool::destructive(name).resource(named));
    let test = runtime_with(|limits| limits.max_standing_uses = 2, tools.into()).await;
    let first = allow_always(&test, test.begin("mail", r#"{"to":"kim"}"#).await).await;
    let request: Arc<DispatchRequest> = first.request.clone();
    let session = request.session.clone();
    let turn = request.turn;
    let always = request.call.id;
    let mut chat = Chat { test: &test, session, turn, seq: 1 };
    for use_of in 1..=2 {
        let mut covered = chat.next("mail", r#"{"to":"kim","text":"again"}"#).await;
        let DispatcherEvent::Ended(end) = covered.next().await else {
            panic!("no person is asked, use {use_of}");
        };
        assert_eq!(kind(&end), "ok, Committed");
        let Some(Approval::Standing { by_call, number, resource, .. }) = end.record.approval else {
            panic!("it rests on the standing approval: {:?}", end.record.approval);
        };
        assert_eq!((by_call, number, resource.is_some()), (always, use_of, true));
        chat.is_asked("mail", r#"{"to":"lee"}"#).await;
        chat.is_asked("mail", "{}").await;
        chat.is_asked("wipe", r#"{"to":"kim"}"#).await;
        let elsewhere = test.begin("mail", r#"{"to":"kim"}"#).await.approval_request().await;
        test.decide(&elsewhere, Decision::Deny).await.unwrap();
    }
    chat.is_asked("mail", r#"{"to":"kim"}"#).await;
    test.at_rest().await;
}

#[tokio::test]
async fn a_standing_approval_without_a_resource_covers_no_call_on_one() {
    let tool = FakeTool::destructive("mail").resource(named);
    let test = runtime_with(|_| {}, vec![tool]).await;
    let first = allow_always(&test, test.begin("mail", "{}").await).await;
    let session = first.request.session.clone();
    let turn = first.request.turn;
    let mut chat = Chat { test: &test, session, turn, seq: 1 };
    chat.is_asked("mail", r#"{"to":"lee"}"#).await;
    assert_eq!(kind(&chat.next("mail", "{}").await.end().await), "ok, Committed");
    test.at_rest().await;
}

#[tokio::test]
async fn an_approval_of_another_session_or_tool_does_not_hide_one_that_covers_the_call() {
    let tools = ["mail", "wipe"].map(FakeTool::destructive);
    let test = runtime_with(|_| {}, tools.into()).await;
    allow_always(&test, test.begin("wipe", "{}").await).await;
    let here = allow_always(&test, test.begin("mail", "{}").await).await;
    let session = here.request.session.clone();
    let turn = here.request.turn;
    let mut chat = Chat { test: &test, session, turn, seq: 1 };
    allow_always(&test, chat.next("wipe", "{}").await).await;
    for tool in ["wipe", "mail"] {
        let event = chat.next(tool, "{}").await.next().await;
        assert!(matches!(event, DispatcherEvent::Ended(_)), "{tool}: {event:?}");
    }
    test.at_rest().await;
}

#[tokio::test]
async fn an_approval_on_another_resource_does_not_hide_the_one_that_covers_the_call() {
    let tool = FakeTool::destructive("mail").resource(named);
    let test = runtime_with(|_| {}, vec![tool]).await;
    let kim = r#"{"to":"kim"}"#;
    let lee = r#"{"to":"lee"}"#;
    let first = allow_always(&test, test.begin("mail", kim).await).await;
    let session = first.request.session.clone();
    let turn = first.request.turn;
    let mut chat = Chat { test: &test, session, turn, seq: 1 };
    allow_always(&test, chat.next("mail", lee).await).await;
    for arguments in [lee, kim] {
        let event = chat.next("mail", arguments).await.next().await;
        assert!(matches!(event, DispatcherEvent::Ended(_)), "{arguments}: {event:?}");
    }
    test.at_rest().await;
}
