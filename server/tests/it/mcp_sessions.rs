//! A session of an older revision belongs to its user, ends when it is idle, and has a bound.

use std::time::Duration;

use madang_testing::{FakeTool, Gate, ScriptedModel};
use serde_json::json;

use crate::{
    http::StreamEnd,
    mcp::ledger,
    mcp_client::{Session, code, forms, initialize, nothing, result, setup, until_method},
    support::{Setup, until},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_another_user_is_not_there() {
    let (setup, runs) = setup();
    let test = setup.start().await;
    let session = Session::begin(&test, test.kim.reveal(), &nothing()).await;
    let lee = test.lee.reveal();
    let foreign = session.with(lee);
    let mut unknown = foreign.clone();
    unknown.id = "00000000-0000-4000-8000-000000000000".to_owned();
    for send in [
        |session: &Session| session.call(1, "write"),
        |session: &Session| session.ping(),
        |session: &Session| {
            session.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        },
        |session: &Session| session.post(&json!({ "jsonrpc": "2.0", "id": 0, "result": {} })),
        |session: &Session| session.stream(),
        |session: &Session| session.stream().header("last-event-id", "0"),
        |session: &Session| session.delete(),
    ] {
        let told = async |session: &Session| {
            let mut answer = send(session).send(test.address).await;
            assert_eq!((answer.status, &*answer.problem()), (404, "not-found"));
            let mut body = answer.json();
            body.as_object_mut().unwrap().remove("trace");
            answer.headers.retain(|(name, _)| name != "date" && name != "content-length");
            (answer.headers, body)
        };
        assert_eq!(told(&foreign).await, told(&unknown).await);
    }
    assert_eq!(result(&session.ping().send(test.address).await), json!({}), "it goes on");
    assert_eq!((ledger(&test, lee).await.len(), runs.count()), (0, 0));
    assert_eq!(session.delete().send(test.address).await.status, 202);
    assert_eq!(session.ping().send(test.address).await.status, 404);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_have_a_bound_for_a_user_and_for_all() {
    let (setup, _) = setup();
    let bounds = |limits: &mut madang_server::ServerLimits| {
        (limits.max_mcp_sessions, limits.max_mcp_sessions_per_user) = (3, 2);
    };
    let test = setup.limits(bounds).start().await;
    let kim = test.kim.reveal();
    let lee = test.lee.reveal();
    let first = Session::begin(&test, kim, &nothing()).await;
    let _second = Session::begin(&test, kim, &nothing()).await;
    let full = initialize(&test, kim, &nothing()).await;
    assert_eq!((full.status, &*full.problem()), (429, "too-many"));
    assert_eq!((&full.json()["bound"], &full.json()["max"]), (&json!("mcp_sessions"), &json!(2)));
    let _third = Session::begin(&test, lee, &nothing()).await;
    let full = initialize(&test, lee, &nothing()).await;
    assert_eq!((full.status, &*full.problem()), (503, "overloaded"));
    assert!(full.header("retry-after").is_some());
    assert_eq!(first.delete().send(test.address).await.status, 202);
    Session::begin(&test, lee, &nothing()).await;
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_it_is_idle_and_not_while_a_stream_is_open() {
    let (setup, _) = setup();
    let idle = Duration::from_millis(300);
    let limits = |limits: &mut madang_server::ServerLimits| {
        (limits.mcp_session_idle, limits.max_mcp_sessions_per_user) = (idle, 2);
    };
    let test = setup.limits(limits).start().await;
    let none = nothing();
    let kim = test.kim.reveal();
    let kept = Session::begin(&test, kim, &none).await;
    let stream = kept.stream().stream(test.address).await;
    let session = Session::begin(&test, kim, &none).await;
    // Each finds room once the one before it has ended: two whole lives, while the stream is open.
    for _ in 0..2 {
        assert_eq!(initialize(&test, kim, &none).await.status, 429);
        until(async || initialize(&test, kim, &none).await.status == 200).await;
    }
    assert_eq!(session.ping().send(test.address).await.status, 404);
    assert_eq!(kept.ping().send(test.address).await.status, 200);
    drop(stream);
    until(async || {
        // A look at it keeps it for another while.
        tokio::time::sleep(idle * 2).await;
        kept.ping().send(test.address).await.status == 404
    })
    .await;
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_lives_no_longer_than_streams_do() {
    let (setup, _) = setup();
    let life = |limits: &mut madang_server::ServerLimits| {
        limits.stream_life = Duration::from_millis(300);
    };
    let test = setup.limits(life).start().await;
    let session = Session::begin(&test, test.kim.reveal(), &forms()).await;
    let mut alone = session.stream().stream(test.address).await;
    let mut calls = session.call(1, "remove").stream(test.address).await;
    let asked = until_method(&mut calls, "elicitation/create").await;
    assert_eq!(alone.end().await.1, StreamEnd::Whole);
    assert_eq!(calls.end().await.1, StreamEnd::BrokenOff, "it does not look complete");
    // Its client comes back behind what it heard last, and hears the end.
    let resumed = session.stream().header("last-event-id", "1/0");
    let mut resumed = resumed.stream(test.address).await;
    session.answer(&test, &asked, crate::mcp_client::yes()).await;
    let told = crate::mcp_client::until_result(&mut resumed).await;
    assert_eq!(told["structuredContent"], json!({ "what": "it" }));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_dismisses_its_open_question() {
    let (setup, runs) = setup();
    let test = setup.start().await;
    let session = Session::begin(&test, test.kim.reveal(), &forms()).await;
    let mut calls = session.call(1, "remove").stream(test.address).await;
    until_method(&mut calls, "elicitation/create").await;
    let ends = tokio::time::Instant::now();
    assert_eq!(session.delete().send(test.address).await.status, 202);
    let inbox = async || test.get("/v1/inbox").await.ok(200)["approval_requests"].clone();
    until(async || inbox().await == json!([])).await;
    // The library would wait for answers, and another device could say yes meanwhile.
    assert!(ends.elapsed() < Duration::from_secs(4), "{:?}", ends.elapsed());
    let (_, end) = calls.end().await;
    assert_eq!(end, StreamEnd::Whole);
    assert_eq!(runs.count(), 0);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_a_bound_of_calls_at_once() {
    let gate = Gate::new();
    let test = Setup::new(ScriptedModel::new([]))
        .tool(FakeTool::write("slow").gate(&gate))
        .limits(|limits| limits.request_burst = 1_000)
        .start()
        .await;
    let session = Session::begin(&test, test.kim.reveal(), &nothing()).await;
    let mut open = Vec::new();
    for id in 1..=64 {
        open.push(session.call(id, "slow").stream(test.address).await);
    }
    let refused = session.call(65, "slow").send(test.address).await;
    assert_eq!(code(&refused), -32_050, "{refused:?}");
    gate.open();
    for mut stream in open {
        stream.end().await;
    }
    let free = session.call(66, "slow").send(test.address).await;
    assert_eq!(result(&free)["structuredContent"], json!({ "what": "it" }));
    test.shutdown().await;
}
