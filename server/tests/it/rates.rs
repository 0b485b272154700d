//! Who comes too often waits, and no one else does.

use madang_server::{ServicePrefix, TokenEntry, TokenHolder, TokenScopes, TokenSecret};
use serde_json::json;

use crate::{
    http::{Answer, Request},
    support::{Setup, says},
};

fn is_too_often(answer: &Answer, bound: &str, scope: &str) {
    assert_eq!((answer.status, &*answer.problem()), (429, "too-many"), "{}", answer.text());
    let told = answer.json();
    assert_eq!((&told["bound"], &told["scope"]), (&json!(bound), &json!(scope)));
    assert!(answer.header("retry-after").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_comes_too_often_waits_and_others_do_not() {
    let test = Setup::new(says("a"))
        .limits(|limits| (limits.requests_per_second, limits.request_burst) = (1, 3))
        .start()
        .await;
    for _ in 0..3 {
        test.get("/v1/me").await.ok(200);
    }
    let often = test.get("/v1/me").await;
    assert_eq!((often.status, &*often.problem()), (429, "too-many"));
    assert_eq!(often.json()["bound"], "requests");
    assert!(often.header("retry-after").is_some());
    let lee = Request::get("/v1/me").bearer(test.lee.reveal());
    assert_eq!(lee.send(test.address).await.status, 200);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_guesses_is_slowed_and_a_right_token_still_counts() {
    let test = Setup::new(says("a"))
        .limits(|limits| limits.wrong_credentials_per_minute = 3)
        .start()
        .await;
    let guess = async || Request::get("/v1/me").bearer("mdg_guess").send(test.address).await;
    for _ in 0..3 {
        assert_eq!(guess().await.status, 401);
    }
    let slowed = guess().await;
    assert_eq!((slowed.status, &*slowed.problem()), (429, "too-many"));
    assert_eq!(slowed.json()["bound"], "wrong_credentials");
    let login = Request::post("/v1/login", &json!({ "token": "mdg_guess" }));
    assert_eq!(login.send(test.address).await.status, 429);
    test.get("/v1/me").await.ok(200);
    test.shutdown().await;
}

/// A service could name another user in each request.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_has_a_rate_of_its_own_whatever_users_it_names() {
    let [web, other] = [(); 2].map(|()| TokenSecret::random().unwrap());
    let entry = |name: &str, secret: &TokenSecret| {
        let holder = TokenHolder::service(ServicePrefix::new(name).unwrap());
        TokenEntry::new(name, holder, TokenScopes::OF_SERVICE, secret)
    };
    let test = Setup::new(says("a"))
        .options(|options| options.token(entry("web", &web)).token(entry("other", &other)))
        .limits(|limits| {
            (limits.service_requests_per_second, limits.service_request_burst) = (1, 3);
        })
        .start()
        .await;
    let comes = async |secret: &TokenSecret, user: &str| {
        let request = Request::get("/v1/me").bearer(secret.reveal()).header("madang-user", user);
        request.send(test.address).await
    };
    for user in ["ann", "bob", "eve"] {
        comes(&web, user).await.ok(200);
    }
    is_too_often(&comes(&web, "new").await, "requests", "service");
    comes(&other, "ann").await.ok(200);
    for _ in 0..4 {
        test.get("/v1/me").await.ok(200);
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_makes_so_many_chats_on_whatever_surface_and_uses_those_it_has() {
    let test = Setup::new(says("a"))
        .limits(|limits| (limits.new_chats_per_minute, limits.new_chat_burst) = (1, 2))
        .start()
        .await;
    test.open("s").await;
    test.open("t").await;
    let parts = json!([{ "type": "text", "text": "hi" }]);
    let said = json!([{ "id": "m", "role": "user", "content": "hi", "parts": parts }]);
    for (path, body) in [
        ("/v1/sessions", json!({ "id": "u" })),
        ("/ag-ui", json!({ "threadId": "u", "runId": "r", "messages": said })),
        ("/api/chat", json!({ "id": "u", "messages": said })),
    ] {
        is_too_often(&test.post(path, body).await, "new_chats", "user");
    }
    let completes = test.post("/v1/chat/completions", json!({ "messages": said })).await;
    assert_eq!((completes.status, &*completes.problem()), (429, "too-many"));
    assert_eq!(test.get("/v1/sessions/u").await.status, 404);
    test.post("/v1/sessions", json!({ "id": "s" })).await.ok(200);
    test.say("t", "hi").await;
    let lee = Request::post("/v1/sessions", &json!({ "id": "u" })).bearer(test.lee.reveal());
    lee.send(test.address).await.ok(201);
    test.shutdown().await;
}
