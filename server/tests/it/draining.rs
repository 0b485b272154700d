//! A server that ends: nothing begins, what runs comes to its end, readers hear of it and come back
//! to the next one.

use std::time::Duration;

use madang::{UserId, store::SqliteStore};
use madang_server::{TokenEntry, TokenFile, TokenHolder, TokenScopes};
use madang_testing::{FakeTool, Gate, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::json;
use tokio::{net::TcpListener, time::Instant};

use crate::{
    http::{Connection, Frame, Request, StreamEnd},
    support::{Setup, says, until},
};

fn names(frames: &[Frame]) -> Vec<&str> {
    frames.iter().filter_map(|frame| frame.event.as_deref()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_runs_commits_its_reader_hears_it_and_the_next_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || SqliteStore::open(&path).await.unwrap();
    let gate = Gate::new();
    let tool = FakeTool::write("send").gate(&gate);
    let runs = tool.runs();
    let script = [ScriptedCompletion::call("send", &json!({}))];
    let mut test =
        Setup::over(ScriptedModel::repeating(script), store().await).tool(tool).start().await;
    test.open("s").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    test.post("/v1/sessions/s/turns", json!({ "text": "hi" })).await.ok(202);
    gate.arrived(1).await;
    test.stop();
    until(async || test.get("/readyz").await.status == 503).await;
    assert_eq!(test.get("/readyz").await.json(), json!({ "status": "draining" }));
    assert_eq!(test.get("/healthz").await.text(), "ok");
    let said = json!([{ "id": "m", "role": "user", "content": "hi", "parts": [] }]);
    for (path, body) in [
        ("/v1/sessions", json!({})),
        ("/v1/sessions/s/turns", json!({ "text": "hi" })),
        ("/v1/tools/send/calls", json!({})),
        ("/v1/chat/completions", json!({ "messages": said })),
        ("/ag-ui", json!({ "threadId": "t", "runId": "r", "messages": said })),
        ("/api/chat", json!({ "id": "t", "messages": said })),
    ] {
        let refused = test.post(path, body).await;
        assert_eq!((refused.status, &*refused.problem()), (503, "draining"), "{path}");
        assert_eq!(refused.header("retry-after"), Some("5"));
    }
    // What begins nothing goes on: a view, a reader that comes back, a question of how a turn
    // stands.
    let view = test.get("/v1/sessions/s").await.ok(200);
    assert_eq!(view["messages"][0]["text"], "hi");
    let turn = format!("/v1/sessions/s/turns/{}", view["turn"].as_str().unwrap());
    assert_eq!(test.get(&turn).await.ok(200)["status"], "running");
    let mut back = test.stream("/v1/sessions/s/events?after=0").await;
    gate.release();
    let (told_again, end) = back.end().await;
    assert_eq!(end, StreamEnd::Whole);
    assert_eq!(
        names(&told_again),
        ["user_message", "tool_call_proposed", "tool_call_ended", "bye"]
    );
    let (told, end) = events.end().await;
    assert_eq!(end, StreamEnd::Whole);
    assert_eq!(names(&told), ["user_message", "tool_call_proposed", "tool_call_ended", "bye"]);
    let bye = &told.last().unwrap().data;
    assert_eq!(bye["reason"], "draining");
    let retry = bye["retry_ms"].as_u64().unwrap();
    assert!((1_000..=5_000).contains(&retry), "{retry}");
    test.ended().await.unwrap();

    let cursor = told[told.len() - 2].id.clone().unwrap();
    let test = Setup::over(says("sent"), store().await).tool(FakeTool::write("send")).start().await;
    let interrupted = json!({ "status": "ready", "interrupted": 1 });
    assert_eq!(test.get("/readyz").await.ok(200), interrupted, "it sleeps still");
    let request = Request::get("/v1/sessions/s/events").header("last-event-id", &cursor);
    let mut events = request.bearer(test.kim.reveal()).stream(test.address).await;
    let told = events.until("turn_ended").await;
    let told: Vec<_> = names(&told).into_iter().filter(|name| *name != "text").collect();
    assert_eq!(told, ["turn_resumed", "model_message", "turn_ended"]);
    assert_eq!(runs.count(), 1);
    assert_eq!(test.get("/readyz").await.ok(200), json!({ "status": "ready", "interrupted": 0 }));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_dismissed_as_its_call_runs_to_its_end_does_not_go_on_in_the_next_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || SqliteStore::open(&path).await.unwrap();
    let gate = Gate::new();
    let script = [ScriptedCompletion::call("send", &json!({}))];
    let mut test = Setup::over(ScriptedModel::repeating(script), store().await)
        .tool(FakeTool::write("send").gate(&gate))
        .start()
        .await;
    test.open("s").await;
    let begun = test.post("/v1/sessions/s/turns", json!({ "text": "hi" })).await.ok(202);
    gate.arrived(1).await;
    test.stop();
    until(async || test.get("/readyz").await.status == 503).await;
    let turn = format!("/v1/sessions/s/turns/{}", begun["turn"].as_str().unwrap());
    let dismissed = test.post(&format!("{turn}/dismiss"), json!({})).await;
    assert_eq!(dismissed.ok(200), json!({ "dismissed": true }));
    gate.release();
    test.ended().await.unwrap();

    let (model, _never_asked) = model_pair();
    let test = Setup::over(model, store().await).tool(FakeTool::write("send")).start().await;
    test.get("/v1/sessions/s").await.ok(200);
    until(async || test.get(&turn).await.ok(200)["status"] == "ended").await;
    assert_eq!(test.get(&turn).await.ok(200)["ending"], "dismissed");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_waits_is_given_before_the_end() {
    let (model, mut script) = model_pair();
    let mut test = Setup::new(model).start().await;
    test.open("s").await;
    let address = test.address;
    let token = test.kim.reveal().to_owned();
    let waits = tokio::spawn(async move {
        Request::post("/v1/sessions/s/turns", &json!({ "text": "hi" }))
            .header("prefer", "wait=60")
            .bearer(&token)
            .send(address)
            .await
    });
    let _completion = script.next().await;
    test.stop();
    let answer = waits.await.unwrap();
    assert_eq!(answer.ok(202)["session"], "s", "the turn is left to the next start");
    test.ended().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_comes_while_the_server_ends_waits_for_the_next_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // As a parent keeps it that hands the socket to one process after the other.
    let kept = socket2::SockRef::from(&listener).try_clone().unwrap();
    let mut test = Setup::new(says("a")).start_on(listener).await;
    test.stop();
    test.ended().await.unwrap();
    let mut early = Connection::open(address).await;
    early.write(format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes()).await;
    let next = TcpListener::from_std(kept.into()).unwrap();
    let test = Setup::new(says("a")).start_on(next).await;
    assert_eq!(early.answer("GET").await.text(), "ok");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_stays_holds_the_end_up_for_a_while_only() {
    let mut test = Setup::new(says("a"))
        .limits(|limits| limits.goodbye_timeout = Duration::from_millis(200))
        .start()
        .await;
    let mut half = Connection::open(test.address).await;
    half.write(b"POST /v1/sessions HTTP/1.1\r\nhost: ").await;
    test.get("/healthz").await;
    let begun = Instant::now();
    test.stop();
    test.ended().await.unwrap();
    let took = begun.elapsed();
    assert!((200..5_000).contains(&took.as_millis()), "{took:?}");
    half.rest().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_token_ends_its_streams_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::new(folder.path().join("tokens"));
    let kim = || TokenHolder::User(UserId::new("kim").unwrap());
    let secret = file.add("laptop", kim(), TokenScopes::OF_PERSON, None).unwrap();
    let other = file.add("phone", kim(), TokenScopes::OF_PERSON, None).unwrap();
    let test = Setup::new(says("a"))
        .limits(|limits| limits.token_poll = Duration::from_millis(10))
        .options(|options| options.token_file(file.clone()))
        .start()
        .await;
    test.open("s").await;
    let of = |secret: &str| Request::get("/v1/sessions/s/events").bearer(secret);
    let mut laptop = of(secret.reveal()).stream(test.address).await;
    let mut phone = of(other.reveal()).stream(test.address).await;
    let with_cookie = Request::get("/v1/me").headers(&test.login(&secret).await);
    assert_eq!(with_cookie.clone().send(test.address).await.status, 200);
    assert!(file.remove("laptop").unwrap());
    let (told, end) = laptop.end().await;
    assert_eq!(told.last().unwrap().data["reason"], "token_expired");
    assert_eq!(end, StreamEnd::Whole);
    let refused = Request::get("/v1/me").bearer(secret.reveal()).send(test.address).await;
    assert_eq!(refused.status, 401);
    assert_eq!(with_cookie.send(test.address).await.status, 401, "a login dies with its token");
    test.say("s", "hi").await;
    phone.until("turn_ended").await;
    // A token that is made while the server runs counts soon.
    let fresh = file.add("laptop", kim(), TokenScopes::OF_PERSON, None).unwrap();
    until(async || {
        Request::get("/v1/me").bearer(fresh.reveal()).send(test.address).await.status == 200
    })
    .await;
    let entry = TokenEntry::new("x", kim(), TokenScopes::ALL, &fresh);
    assert_eq!(entry.sha256, fresh.digest());
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_lives_no_longer_than_its_login() {
    let test = Setup::new(says("a"))
        .limits(|limits| limits.cookie_life = Duration::from_millis(300))
        .start()
        .await;
    test.open("s").await;
    let request = Request::get("/v1/sessions/s/events").headers(&test.login(&test.kim).await);
    let mut events = request.clone().stream(test.address).await;
    let (told, _) = events.end().await;
    assert_eq!(told.last().unwrap().data["reason"], "token_expired");
    assert_eq!(request.send(test.address).await.status, 401);
    test.shutdown().await;
}
