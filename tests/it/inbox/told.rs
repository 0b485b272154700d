//! What an inbox tells, and on how many devices.

use futures_core::Stream;
use madang::model::Completion;

use super::*;

fn lee() -> UserId {
    UserId::new("lee").unwrap()
}

#[tokio::test]
async fn an_inbox_tells_what_is_open_in_all_sessions_and_of_calls_without_a_model() {
    let (test, mut script) = with_limits(|_| {}).await;
    let mut turns = Vec::new();
    for name in ["a", "b"] {
        let session = test.runtime.user("kim").unwrap().session(name).await.unwrap();
        turns.push(session.send("go").await.unwrap());
        let call = wanted("save", &json!({ "name": name }));
        script.next().await.finish(Completion { tool_calls: vec![call], ..Completion::default() });
    }
    let mut direct = save(&test.runtime, kim(), "c").await;
    open(&mut direct).await;
    let mut others = save(&test.runtime, lee(), "d").await;
    open(&mut others).await;
    let mut inbox = test.runtime.user_with_id(&kim()).inbox().await.unwrap();
    // Which of them asks first is not known.
    let mut requests = snapshot(&mut inbox).await;
    while requests.len() < 3 {
        requests.push(requested(&mut inbox).await);
    }
    let mut sessions: Vec<_> = requests.iter().map(|it| it.session.to_string()).collect();
    sessions.sort();
    assert_eq!(sessions, ["a", "b", direct.session().as_str()]);
    assert!(requests.iter().all(|request| request.user == kim() && !request.text.is_empty()));
    for request in &requests {
        decide(&test.runtime, request, Decision::Deny).await.unwrap();
        assert_eq!(ended(&mut inbox, request).await, decided(Decision::Deny));
    }
    for turn in turns {
        script.next().await.say("So not.");
        turn.ended().await.unwrap();
    }
    // The other user's request is open still, and was told to that user alone.
    let of_lee = snapshot(&mut test.runtime.user_with_id(&lee()).inbox().await.unwrap()).await;
    assert_eq!(of_lee.len(), 1);
    others.dismiss();
    others.ended().await;
    drop(inbox);
    test.shutdown().await;
}

#[tokio::test]
async fn a_request_is_decided_on_one_device_and_each_device_hears_it() {
    let (test, _) = with_limits(|_| {}).await;
    let mut devices =
        [inbox_of(&test.runtime, &kim()).await, inbox_of(&test.runtime, &kim()).await];
    let edit = Decision::Edit { arguments: json!({ "name": "other" }) };
    let no = Decision::DenyWith { message: "not now".into() };
    let decisions = [Decision::Approve, Decision::ApproveAlways, Decision::Deny, no, edit];
    for (number, decision) in decisions.into_iter().enumerate() {
        let call = save(&test.runtime, kim(), &format!("row {number}")).await;
        let request = requested(&mut devices[0]).await;
        assert_eq!((request.call, &request.session), (call.id(), call.session()));
        assert_eq!(requested(&mut devices[1]).await, request);
        decide(&test.runtime, &request, decision.clone()).await.unwrap();
        let late = decide(&test.runtime, &request, Decision::Approve).await;
        assert_eq!(late, Err(DecisionError::NotOpen));
        for device in &mut devices {
            assert_eq!(ended(device, &request).await, decided(decision.clone()));
        }
        call.ended().await;
    }
    drop(devices);
    test.shutdown().await;
}

#[tokio::test]
async fn a_decision_is_told_once_the_ledger_has_it() {
    let (test, _) = with_limits(|_| {}).await;
    let mut inbox = inbox_of(&test.runtime, &kim()).await;
    let call = save(&test.runtime, kim(), "a").await;
    let request = requested(&mut inbox).await;
    // The approval cannot be recorded, so no decision is told.
    test.store.fail_next_begin();
    let counts = decide(&test.runtime, &request, Decision::Approve).await;
    assert_eq!(counts, Err(DecisionError::NotRecorded));
    assert_eq!(ended(&mut inbox, &request).await, cancelled(CancelReason::Unreachable));
    call.ended().await;
    assert!(test.rows().is_empty());
    drop(inbox);
    test.shutdown().await;
}

#[tokio::test]
async fn an_inbox_is_a_stream_of_the_same_items() {
    fn stream(_: &impl Stream<Item = InboxItem>) {}
    let (test, _) = with_limits(|_| {}).await;
    let mut inbox = inbox_of(&test.runtime, &kim()).await;
    stream(&inbox);
    let call = save(&test.runtime, kim(), "a").await;
    let polled = std::future::poll_fn(|context| std::pin::Pin::new(&mut inbox).poll_next(context));
    let item = timeout(PATIENCE, polled).await.unwrap();
    assert!(matches!(item, Some(InboxItem::ApprovalRequested { .. })), "{item:?}");
    call.dismiss();
    call.ended().await;
    drop(inbox);
    test.shutdown().await;
}
