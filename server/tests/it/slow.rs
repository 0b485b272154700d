//! Clients that send slowly, read slowly or not at all hold up no other client, and do not stay.

use std::time::Duration;

use madang::model::{self, Completion};
use madang_testing::{ScriptedCompletion, ScriptedModel};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    http::{Connection, Request},
    support::{Setup, says, until},
};

const SHORT: Duration = Duration::from_millis(200);

#[tokio::test(flavor = "multi_thread")]
async fn half_a_head_a_silent_connection_and_an_idle_one_are_closed() {
    let test = Setup::new(says("a")).limits(|limits| limits.head_timeout = SHORT).start().await;
    let whole = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", test.address);
    for sent in ["", "GET /healthz HTT", "GET /healthz HTTP/1.1\r\nhost: x\r\nx-half: ", &*whole] {
        let begun = Instant::now();
        let mut connection = Connection::open(test.address).await;
        connection.write(sent.as_bytes()).await;
        connection.rest().await;
        let took = begun.elapsed();
        assert!(took >= SHORT && took < Duration::from_secs(10), "{sent:?}: {took:?}");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let test = Setup::new(says("a")).limits(|limits| limits.body_timeout = SHORT).start().await;
    let mut connection = Connection::open(test.address).await;
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 10\r\n\r\n{{",
        test.address,
        test.kim.reveal()
    );
    connection.write(head.as_bytes()).await;
    let answer = connection.answer("POST").await;
    assert_eq!((answer.status, &*answer.problem()), (408, "too-slow"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_does_not_read_is_ended_and_its_permit_is_free_again() {
    // Texts so long that the buffers of both ends are full soon.
    let test = Setup::new(says(&"x".repeat(100_000)))
        .limits(|limits| {
            limits.stall_timeout = SHORT;
            limits.max_streams_per_user = 1;
        })
        .start()
        .await;
    test.open("s").await;
    let asked = Request::get("/v1/sessions/s/events").bearer(test.kim.reveal());
    let reader = asked.clone().unread(test.address).await;
    let full = test.get("/v1/sessions/s/events").await;
    assert_eq!((full.status, &*full.problem()), (429, "too-many"));
    for _ in 0..30 {
        test.say("s", "more").await;
    }
    // It held the only permit; once it is ended, another reader has it.
    until(async || asked.clone().head(test.address).await.status == 200).await;
    drop(reader);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fast_model_makes_few_frames_and_no_piece_is_lost() {
    let fast = model::from_fn("fast", async |_, deltas| {
        let mut text = String::new();
        for number in 0..400 {
            let piece = format!("{number} ");
            deltas.text(&piece);
            text.push_str(&piece);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(Completion::text(text))
    });
    let test = Setup::new(fast).start().await;
    test.open("s").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    let begun = Instant::now();
    test.post("/v1/sessions/s/turns", json!({ "text": "count" })).await.ok(202);
    let told = events.until("model_message").await;
    let pace = madang_server::ServerLimits::default().text_pace;
    let most = begun.elapsed().as_millis() / pace.as_millis() + 2;
    let pieces: Vec<_> =
        told.iter().filter(|frame| frame.event.as_deref() == Some("text")).collect();
    assert!(pieces.len() >= 2 && pieces.len() as u128 <= most, "{} of {most}", pieces.len());
    let said: String = pieces.iter().map(|frame| frame.data["text"].as_str().unwrap()).collect();
    let whole = told.last().unwrap().data["text"].as_str().unwrap().to_owned();
    assert!(whole.starts_with(&said), "the pieces are the beginning of the message");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_slows_no_other() {
    let script = [ScriptedCompletion::text("x".repeat(60_000))];
    let test = Setup::new(ScriptedModel::repeating(script))
        .limits(|limits| limits.goodbye_timeout = SHORT)
        .start()
        .await;
    test.open("s").await;
    let _idle = test.stream("/v1/sessions/s/events").await; // reads nothing more
    let mut reader = test.stream("/v1/sessions/s/events").await;
    for _ in 0..10 {
        test.say("s", "more").await;
        reader.until("turn_ended").await;
    }
    test.shutdown().await;
}
