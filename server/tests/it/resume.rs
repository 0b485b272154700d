//! A stream goes on behind its cursor: nothing twice, nothing lost, over connections, restarts and
//! slowness.

use madang::{Limits, model::Completion};
use madang_testing::{ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::{Value, json};

use crate::{
    http::{EventReader, Frame, Request, StreamEnd},
    support::{Setup, TestServer, says},
};

/// The types and cursors of stored events, one a line.
fn stored(frames: &[Frame]) -> Vec<String> {
    lines(frames).into_iter().filter(|line| !line.starts_with("text")).collect()
}

/// The types and cursors of frames, one a line.
fn lines(frames: &[Frame]) -> Vec<String> {
    let line = |frame: &Frame| {
        let event = frame.event.clone().unwrap();
        let id = frame.id.clone().unwrap_or_default();
        assert_eq!(frame.data["type"], *event, "the type stands in both places");
        let cursor = id.split('@').next().unwrap_or_default().to_owned();
        format!("{event} {cursor}").trim().to_owned()
    };
    frames.iter().map(line).collect()
}

async fn from(test: &TestServer, session: &str, id: &str) -> EventReader {
    let request = Request::get(&format!("/v1/sessions/{session}/events"));
    request.header("last-event-id", id).bearer(test.kim.reveal()).stream(test.address).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_tells_a_turn_with_cursors_and_its_text_with_offsets() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    test.open("s").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    let first = events.frame().await.unwrap();
    assert_eq!(first.other, [": madang"], "the first bytes come before the session has woken");
    let retry = events.frame().await.unwrap().other[0].clone();
    let retry: u64 = retry.strip_prefix("retry: ").unwrap().parse().unwrap();
    assert!((1_000..=5_000).contains(&retry), "{retry}");
    for (name, value) in [("cache-control", "no-store, no-transform"), ("x-accel-buffering", "no")]
    {
        assert!(events.headers.contains(&(name.to_owned(), value.to_owned())), "{name}");
    }
    test.post("/v1/sessions/s/turns", json!({ "text": "안녕" })).await.ok(202);
    let completion = script.next().await;
    completion.delta("안녕");
    let mut told = events.until("text").await;
    assert_eq!(told.last().unwrap().data["text"], "안녕");
    completion.delta("하세요");
    told.extend(events.until("text").await);
    assert_eq!(told.last().unwrap().data["at"], "안녕".len());
    completion.say("안녕하세요");
    told.extend(events.until("turn_ended").await);
    assert_eq!(
        lines(&told),
        ["user_message 1", "text", "text", "model_message 2", "turn_ended 2.2"]
    );
    assert!(
        told.iter().all(|frame| frame.id.is_some() == (frame.event.as_deref() != Some("text")))
    );
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_hears_each_event_once() {
    let script = [ScriptedCompletion::call("look", &json!({})), ScriptedCompletion::text("seen")];
    let test = Setup::new(ScriptedModel::repeating(script))
        .tool(madang_testing::FakeTool::read("look"))
        .start()
        .await;
    test.open("s").await;
    test.say("s", "one").await;
    test.say("s", "two").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    let mut all = events.until("turn_ended").await;
    all.extend(events.until("turn_ended").await);
    let of = |frames: &[Frame]| -> Vec<Value> {
        frames.iter().map(|frame| frame.data.clone()).collect()
    };
    for (at, frame) in all.iter().enumerate().filter(|(_, frame)| frame.id.is_some()) {
        if at + 1 == all.len() {
            continue;
        }
        let mut back = from(&test, "s", frame.id.as_deref().unwrap()).await;
        let mut rest = back.until("turn_ended").await;
        if rest.len() < all.len() - at - 1 {
            rest.extend(back.until("turn_ended").await);
        }
        assert_eq!(of(&rest), of(&all[at + 1..]), "behind {:?}", frame.id);
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_names_the_cursor_as_well_and_the_header_goes_before_it() {
    let test = Setup::new(says("a")).start().await;
    test.open("s").await;
    test.say("s", "one").await;
    let mut events = test.stream("/v1/sessions/s/events?after=1").await;
    assert_eq!(lines(&events.until("turn_ended").await), ["model_message 2", "turn_ended 2.2"]);
    let request = Request::get("/v1/sessions/s/events?after=0").header("last-event-id", "2");
    let mut events = request.bearer(test.kim.reveal()).stream(test.address).await;
    assert_eq!(lines(&events.until("turn_ended").await), ["turn_ended 2.2"]);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_stored_events_come_once_and_a_foreign_epoch_hides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let open = async || madang::store::SqliteStore::open(&path).await.unwrap();
    let test = Setup::over(says("a"), open().await).start().await;
    test.open("s").await;
    test.say("s", "one").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    let told = events.until("model_message").await;
    let cursor = told.last().unwrap().id.clone().unwrap();
    test.shutdown().await;

    let test = Setup::over(says("b"), open().await).start().await;
    let mut events = from(&test, "s", &cursor).await;
    assert_eq!(lines(&events.until("turn_ended").await), ["turn_ended 2.2"]);
    test.say("s", "two").await;
    let rest = events.until("turn_ended").await;
    assert_eq!(stored(&rest), ["user_message 3", "model_message 4", "turn_ended 4.2"]);
    // The same cursor with the number of another feed's event must not hide what this feed tells.
    let far = format!("{}@{:x}.999999", "2.2", u64::MAX);
    let mut events = from(&test, "s", &far).await;
    assert_eq!(stored(&events.until("turn_ended").await), stored(&rest));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_that_is_none_or_of_another_database_is_refused() {
    let test = Setup::new(says("a")).start().await;
    test.open("s").await;
    test.say("s", "one").await;
    for cursor in ["x", "1.3", "1@", "1@zz.1", "-1", "1@5f"] {
        let answer = test.get(&format!("/v1/sessions/s/events?after={cursor}")).await;
        assert_eq!((answer.status, &*answer.problem()), (400, "malformed"), "{cursor}");
    }
    for cursor in ["3", "2.2@5f1c.7", "99"] {
        let path = format!("/v1/sessions/s/events?after={cursor}");
        if cursor.starts_with("2.2") {
            let _ = test.stream(&path).await; // exactly at the end
            continue;
        }
        let answer = test.get(&path).await;
        assert_eq!((answer.status, &*answer.problem()), (409, "cursor-ahead"), "{cursor}");
        assert_eq!(answer.json()["cursor"], "2.2");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_behind_the_ring_hears_that_it_lagged_and_then_what_is_stored() {
    let limits = Limits { max_feed_events: 4, ..Limits::default() };
    let test = Setup::new(says("a")).build(|builder| builder.limits(limits)).start().await;
    test.open("s").await;
    for _ in 0..5 {
        test.say("s", "text").await;
    }
    let mut events = from(&test, "s", "1").await;
    let mut told = Vec::new();
    for _ in 0..5 {
        told.extend(events.until("turn_ended").await);
    }
    let cursors = stored(&told);
    let expected: Vec<_> = (1..=5_u64)
        .flat_map(|turn| {
            let user = 2 * turn - 1;
            let model = 2 * turn;
            [
                format!("user_message {user}"),
                format!("model_message {model}"),
                format!("turn_ended {model}.2"),
            ]
        })
        .skip(1)
        .collect();
    assert_eq!(cursors, expected);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turns_own_stream_ends_with_the_turn_and_can_be_joined_by_its_key() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    test.open("s").await;
    let request = Request::post("/v1/sessions/s/turns", &json!({ "text": "hi" }))
        .header("accept", "text/event-stream")
        .header("idempotency-key", "\"k\"")
        .bearer(test.kim.reveal());
    let mut first = request.clone().stream(test.address).await;
    let completion = script.next().await;
    completion.delta("Hel");
    first.until("text").await;
    drop(first); // the client goes, the turn goes on
    let mut second = request.clone().stream(test.address).await;
    completion.say("Hello");
    let (told, end) = second.end().await;
    assert_eq!(stored(&told), ["user_message 1", "model_message 2", "turn_ended 2.2"]);
    assert_eq!(end, StreamEnd::Whole);
    let (told, _) = request.stream(test.address).await.end().await;
    assert_eq!(
        lines(&told),
        ["user_message 1", "model_message 2", "turn_ended 2.2"],
        "it has ended"
    );
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dismissed_reader_is_told_so() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    test.open("s").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    let body = json!({ "text": "hi", "on_dismiss": "finish" });
    let turn = test.post("/v1/sessions/s/turns", body).await.ok(202)["turn"].clone();
    let turn = turn.as_str().unwrap();
    let completion = script.next().await;
    let path = format!("/v1/sessions/s/turns/{turn}/dismiss");
    assert_eq!(test.post(&path, json!({})).await.ok(200), json!({ "dismissed": true }));
    let (told, end) = events.end().await;
    let last = told.last().unwrap();
    assert_eq!((last.event.as_deref(), &last.data["reason"]), (Some("bye"), &json!("dismissed")));
    assert_eq!(end, StreamEnd::Whole);
    completion.finish(Completion::text("too late"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_lives_for_a_while_and_then_says_so() {
    let test = Setup::new(says("a"))
        .limits(|limits| limits.stream_life = std::time::Duration::from_millis(50))
        .start()
        .await;
    test.open("s").await;
    let (told, end) = test.stream("/v1/sessions/s/events").await.end().await;
    assert_eq!(told.last().unwrap().data["reason"], "too_long");
    assert_eq!(end, StreamEnd::Whole);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_stream_sends_comments() {
    let test = Setup::new(says("a"))
        .limits(|limits| limits.keep_alive = std::time::Duration::from_millis(20))
        .start()
        .await;
    test.open("s").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    for _ in 0..2 {
        events.frame().await.unwrap(); // the greeting, and when to come back
    }
    for _ in 0..3 {
        assert_eq!(events.frame().await.unwrap().other, [":"]);
    }
    test.shutdown().await;
}
