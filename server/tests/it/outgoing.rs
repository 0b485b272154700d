//! What is on its way to readers is bounded: a chat comes in pages, and answers that a user does
//! not read leave room.

use serde_json::Value;

use crate::{
    http::Request,
    support::{Setup, TestServer, says, until},
};

/// Reads a chat from its last page to its first.
async fn pages(test: &TestServer, path: &str) -> Vec<Vec<Value>> {
    let mut pages = Vec::new();
    let mut next = Some(path.to_owned());
    while let Some(page) = next.take() {
        let answer = test.get(&page).await;
        let body = answer.ok(200);
        if let Some(list) = body.as_array() {
            let link = answer.header("link");
            next =
                link.and_then(|link| Some(link.strip_prefix('<')?.split_once('>')?.0.to_owned()));
            next = next.map(|query| format!("{path}{query}"));
            pages.insert(0, list.clone());
        } else {
            next = body["earlier"].as_u64().map(|entry| format!("{path}?before={entry}"));
            pages.insert(0, body["messages"].as_array().unwrap().clone());
        }
    }
    pages
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_chat_is_told_in_pages_of_bytes_and_no_message_is_lost() {
    let test = Setup::new(says("yes")).limits(|limits| limits.max_page_bytes = 2_000).start().await;
    test.open("s").await;
    let texts: Vec<_> =
        (0..12).map(|number| format!("{number} {}", "x".repeat(number * 90))).collect();
    for text in &texts {
        test.say("s", text).await;
    }
    let told = pages(&test, "/v1/sessions/s").await;
    assert!(told.len() > 4, "{}", told.len());
    for page in &told {
        assert!(Value::from(page.clone()).to_string().len() <= 2_100, "{}", page.len());
    }
    let of_user = |all: Vec<Vec<Value>>, text: fn(&Value) -> &Value| -> Vec<String> {
        let all = all.into_iter().flatten();
        let of_user = all.filter(|message| message["role"] == "user");
        of_user.map(|message| text(&message).as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of_user(told, |message| &message["text"]), texts);
    let told = pages(&test, "/api/chat/s/messages").await;
    assert!(told.len() > 4);
    assert_eq!(of_user(told, |message| &message["parts"][0]["text"]), texts);
    let wrong = test.get("/v1/sessions/s?before=soon").await;
    assert_eq!((wrong.status, &*wrong.problem()), (400, "malformed"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_a_user_does_not_read_are_bounded_and_bound_no_other_user() {
    const LONG: usize = 64 * 1024;
    let test = Setup::new(says("a"))
        .limits(|limits| {
            limits.max_page_bytes = usize::MAX;
            limits.max_outgoing_bytes_per_user = 50 * LONG;
            limits.max_outgoing_bytes = 60 * LONG;
        })
        .start()
        .await;
    test.open("s").await;
    for _ in 0..40 {
        test.say("s", &"x".repeat(LONG)).await;
    }
    let asked = Request::get("/v1/sessions/s").bearer(test.kim.reveal());
    let reader = asked.unread(test.address).await;
    let full = test.get("/v1/sessions/s").await;
    assert_eq!((full.status, &*full.problem()), (429, "too-many"));
    assert_eq!(full.json()["bound"], "outgoing_bytes");
    assert!(full.header("retry-after").is_some());
    test.get("/v1/me").await.ok(200);
    let lee = Request::get("/v1/me").bearer(test.lee.reveal());
    assert_eq!(lee.send(test.address).await.status, 200);
    drop(reader);
    until(async || test.get("/v1/sessions/s").await.status == 200).await;
    test.shutdown().await;
}
