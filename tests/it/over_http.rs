//! The example `axum` answers a thousand chats at once, and tells refused callers when to come
//! again.

use std::time::Duration;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode, header::RETRY_AFTER},
};
use madang::{Limits, Runtime};
use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
use tower::ServiceExt as _;

#[path = "../../examples/axum.rs"]
#[expect(dead_code, reason = "its `main` serves until it is stopped")]
mod example;

const CHATS: usize = 1_000;
const ROOM: usize = 600;

async fn asked(app: Router, path: String, text: &'static str) -> (StatusCode, Option<u64>, String) {
    let request = Request::post(path).body(Body::from(text)).unwrap();
    let response = app.oneshot(request).await.unwrap();
    let later = response.headers().get(RETRY_AFTER);
    let later = later.map(|seconds| seconds.to_str().unwrap().parse().unwrap());
    let status = response.status();
    let body = to_bytes(response.into_body(), 10_000).await.unwrap();
    (status, later, String::from_utf8(body.to_vec()).unwrap())
}

/// Asks until it is answered, and counts the refusals.
async fn insists(app: Router, number: usize) -> usize {
    let path = format!("/chat/user-{number}/chat-{number}");
    for refusals in 0.. {
        match asked(app.clone(), path.clone(), "hi").await {
            (StatusCode::TOO_MANY_REQUESTS, Some(later), _) => {
                tokio::time::sleep(Duration::from_secs(later)).await;
            }
            (status, later, body) => {
                assert_eq!((status, later, &*body), (StatusCode::OK, None, "Good day."));
                return refusals;
            }
        }
    }
    unreachable!("the loop ends with an answer")
}

#[tokio::test(start_paused = true)]
async fn a_thousand_chats_are_answered_and_some_are_asked_to_come_again() {
    let limits = Limits { max_running_turns: ROOM, ..Limits::default() };
    let answer = ScriptedCompletion::text("Good day.").after(Duration::from_millis(50));
    let builder = Runtime::builder().model(ScriptedModel::repeating([answer])).limits(limits);
    let runtime = builder.store(MemoryStore::new()).start().await.unwrap();
    let app = example::app(runtime.clone());

    let chats: Vec<_> = (0..CHATS).map(|n| tokio::spawn(insists(app.clone(), n))).collect();
    let mut refusals = 0;
    for chat in chats {
        refusals += chat.await.unwrap();
    }
    assert!(refusals >= CHATS - ROOM, "{refusals} refusals");
    runtime.shutdown().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_asked_is_a_bad_request_and_a_failed_turn_a_bad_gateway() {
    let model = ScriptedModel::new([]);
    let runtime = Runtime::builder().model(model).store(MemoryStore::new()).start().await.unwrap();
    let app = example::app(runtime.clone());
    let of = |path: &str, text| asked(app.clone(), path.to_owned(), text);
    assert_eq!(of("/chat/kim/a", " ").await.0, StatusCode::BAD_REQUEST);
    assert_eq!(of("/chat/kim/a", "hi").await.0, StatusCode::BAD_GATEWAY);
    assert_eq!(of("/chat/lee/a", "hi").await.0, StatusCode::BAD_REQUEST, "the chat is another's");
    runtime.shutdown().await.unwrap();
}
