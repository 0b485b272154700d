//! A store that does not answer: no request waits for ever, a stream says that it lives, and what
//! is told is true.

use std::{future::pending, time::Duration};

use madang::store::port::{BoxFuture, Store, StoredSession};
use madang_testing::{MemoryStore, Read, SteppedStore, Steps};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    http::Request,
    support::{Setup, says},
};

/// Takes each step as the store does, and never reads a session.
#[derive(Debug)]
struct ReadsNoSession;

impl Steps for ReadsNoSession {
    fn session<'a>(
        &'a self,
        _: &'a dyn Store,
        _: &'a madang::SessionId,
    ) -> BoxFuture<'a, Read<Option<StoredSession>>> {
        Box::pin(pending())
    }
}

const SHORT: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread")]
async fn a_request_about_a_chat_that_does_not_answer_ends_and_its_stream_lives() {
    let store = SteppedStore::new(MemoryStore::new(), ReadsNoSession);
    let test = Setup::over(says("a"), store)
        .limits(|limits| {
            (limits.answer_timeout, limits.body_timeout) = (SHORT, SHORT);
            limits.max_wait = SHORT;
            limits.keep_alive = SHORT;
            limits.goodbye_timeout = SHORT;
        })
        .start()
        .await;
    test.open("s").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    let begun = Instant::now();
    let late = test.get("/v1/sessions/s").await;
    assert_eq!((late.status, &*late.problem()), (504, "unanswered"));
    assert!(begun.elapsed() >= SHORT * 2);
    let turn = Request::post("/v1/sessions/s/turns", &json!({ "text": "hi" }));
    let late = test.send(turn.header("prefer", "wait=9")).await;
    assert_eq!((late.status, &*late.problem()), (504, "unanswered"));
    assert_eq!(late.header("x-should-retry"), Some("false"), "without a key it may begin twice");
    for _ in 0..3 {
        events.until_comment("").await;
    }
    drop(events);
    drop(test);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_cannot_be_read_is_not_told_as_a_restart() {
    let store = MemoryStore::new();
    let test = Setup::over(says("a"), store.clone()).start().await;
    test.open("s").await;
    store.fail_next_load();
    let unread = test.get("/v1/sessions/s").await;
    assert_eq!((unread.status, &*unread.problem()), (503, "store"));
    test.get("/v1/sessions/s").await.ok(200);
    test.shutdown().await;
}
