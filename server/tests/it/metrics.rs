//! The metrics say what happened: streams that went on, events that a slow reader missed,
//! decisions, open requests.

use std::time::Duration;

use madang::Limits;
use madang_testing::{FakeTool, ScriptedCompletion, ScriptedModel, model_pair};
use metrics::{LocalRecorderGuard, set_default_local_recorder};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use serde_json::json;

use crate::{
    canaries::Caught,
    http::Request,
    support::{Setup, TestServer, says},
};

const INBOX: &str = "madang.server.inbox.waiting";

/// Records what is measured on this thread, which is all of a test on one thread.
fn record() -> (Snapshotter, LocalRecorderGuard<'static>) {
    let recorder: &'static DebuggingRecorder = Box::leak(Box::default());
    (recorder.snapshotter(), set_default_local_recorder(recorder))
}

/// Gives how names that begin so have changed since the last look at any name: name, labels, and
/// the sum or count.
fn look(recorded: &Snapshotter, begins: &str) -> Vec<String> {
    let line = |(key, _, _, value): (metrics_util::CompositeKey, _, _, DebugValue)| {
        let key = key.key();
        let labels: Vec<_> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let value = match value {
            DebugValue::Counter(count) => count.to_string(),
            DebugValue::Gauge(value) => value.to_string(),
            DebugValue::Histogram(values) => format!("{} values", values.len()),
        };
        (key.name().starts_with(begins), format!("{}{{{}}} {value}", key.name(), labels.join(",")))
    };
    let lines = recorded.snapshot().into_vec().into_iter().map(line);
    let mut lines: Vec<_> = lines.filter(|(is_it, _)| *is_it).map(|(_, line)| line).collect();
    lines.sort();
    lines
}

async fn resume(test: &TestServer, cursor: &str) -> u16 {
    let request = Request::get("/v1/sessions/s/events").header("last-event-id", cursor);
    request.bearer(test.kim.reveal()).head(test.address).await.status
}

#[tokio::test]
async fn a_stream_that_goes_on_is_counted_by_where_it_reads_on_and_by_how_it_went() {
    let (recorded, _recording) = record();
    let test = Setup::new(says("a")).start().await;
    test.open("s").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    test.say("s", "hi").await;
    let told = events.until("turn_ended").await;
    let cursor = told[0].id.clone().unwrap();
    assert_eq!(resume(&test, &cursor).await, 200);
    assert_eq!(resume(&test, "1").await, 200);
    assert_eq!(resume(&test, "99").await, 409);
    assert_eq!(
        look(&recorded, "madang.server.stream.resumes"),
        [
            "madang.server.stream.resumes{from=memory,outcome=goes_on} 1",
            "madang.server.stream.resumes{from=store,outcome=cursor_ahead} 1",
            "madang.server.stream.resumes{from=store,outcome=goes_on} 1",
        ]
    );
    test.shutdown().await;
}

#[tokio::test]
async fn what_a_slow_reader_missed_in_memory_and_what_was_streamed_otherwise_are_counted() {
    let (recorded, _recording) = record();
    let limits = Limits { max_feed_events: 4, ..Limits::default() };
    let (model, mut script) = model_pair();
    let test = Setup::new(model)
        .build(|builder| builder.limits(limits))
        .limits(|limits| limits.text_pace = Duration::from_secs(1))
        .start()
        .await;
    test.open("s").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    // Behind a piece of text the stream does not read for a second.
    test.post("/v1/sessions/s/turns", json!({ "text": "hi" })).await.ok(202);
    let completion = script.next().await;
    completion.delta("a");
    events.until("text").await;
    completion.say("a");
    for _ in 0..3 {
        let (_, ()) = tokio::join!(test.say("s", "hi"), async { script.next().await.say("a") });
    }
    for _ in 0..4 {
        events.until("turn_ended").await;
    }
    let body = json!({ "messages": [{ "role": "user", "content": "hi" }], "stream": true });
    let request = Request::post("/v1/chat/completions", &body).bearer(test.kim.reveal());
    let (_, ()) = tokio::join!(request.send(test.address), async {
        let completion = script.next().await;
        completion.delta("one");
        completion.say("other");
    });
    let told = look(&recorded, "madang.server.stream.");
    let lagged = told.iter().find_map(|line| line.strip_prefix("madang.server.stream.lagged{} "));
    let lagged: u64 = lagged.unwrap().parse().unwrap();
    assert!((1..=12).contains(&lagged), "{told:?}");
    for line in [
        "madang.server.stream.rewrites{surface=chat_completions} 1",
        "madang.server.stream.first_byte.duration{surface=native} 1 values",
    ] {
        assert!(told.iter().any(|said| said == line), "{line} in {told:?}");
    }
    test.shutdown().await;
}

#[tokio::test]
async fn the_span_of_a_request_has_its_trace_and_names_the_turn_that_it_began() {
    let logs = Caught::of_all_threads();
    let test = Setup::new(says("a")).start().await;
    test.open("s").await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let hi = json!([{ "id": "m", "role": "user", "content": "hi" }]);
    for (path, body) in [
        ("/v1/sessions/s/turns", json!({ "text": "hi" })),
        ("/v1/chat/completions", json!({ "messages": hi })),
    ] {
        let request = Request::post(path, &body).header("traceparent", &parent);
        let answer = test.send(request).await;
        let turn = answer.header("madang-turn").unwrap();
        let log = logs.text();
        let begins = format!("http.server{{trace={trace}");
        let names = format!("madang.turn.id={turn}");
        let is_it = |line: &&str| line.contains(&begins) && line.contains(&names);
        assert!(log.lines().find(is_it).is_some_and(|line| line.contains("answered")), "{log}");
    }
    test.shutdown().await;
}

#[tokio::test]
async fn open_requests_in_inboxes_and_decisions_are_counted() {
    let (recorded, _recording) = record();
    let script = [ScriptedCompletion::call("delete", &json!({})), ScriptedCompletion::text("done")];
    let tool = FakeTool::destructive("delete");
    let test = Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await;
    test.open("s").await;
    let mut inbox = test.stream("/v1/inbox/events").await;
    test.post("/v1/sessions/s/turns", json!({ "text": "hi" })).await.ok(202);
    let request = inbox.until("approval_requested").await.pop().unwrap().data;
    assert_eq!(look(&recorded, INBOX), ["madang.server.inbox.waiting{} 1"]);
    let path = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
    let yes = json!({ "digest": request["digest"], "decision": "approve" });
    test.post(&path, yes.clone()).await.ok(200);
    inbox.until("approval_ended").await;
    test.post(&path, yes).await.ok(200);
    let no = json!({ "digest": request["digest"], "decision": "deny" });
    assert_eq!(test.post(&path, no).await.status, 409);
    let mut told = look(&recorded, "madang.server.");
    told.retain(|line| line.starts_with(INBOX) || line.starts_with("madang.server.decisions"));
    assert_eq!(
        told,
        [
            "madang.server.decisions{surface=native,outcome=already} 1",
            "madang.server.decisions{surface=native,outcome=counts} 1",
            "madang.server.decisions{surface=native,outcome=not-open} 1",
            "madang.server.inbox.waiting{} -1",
        ]
    );
    test.shutdown().await;
}
