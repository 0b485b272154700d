//! Many users at once, over all surfaces: no byte of one reaches another.

use std::net::SocketAddr;

use madang::{
    UserId,
    model::{self, Completion},
};
use madang_server::{TokenEntry, TokenHolder, TokenScopes, TokenSecret};
use madang_testing::FakeTool;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    http::{Request, StreamEnd},
    support::Setup,
};

const USERS: usize = 100;

fn word(user: usize) -> String {
    format!("canary-{user:03}-of-{user:03}")
}

/// Sends a body, reads the stream to its end, and gives all of it.
async fn stream(address: SocketAddr, token: &str, path: &str, body: &Value) -> Vec<Value> {
    let mut events = Request::post(path, body).bearer(token).stream(address).await;
    let (frames, end) = events.end().await;
    assert_eq!(end, StreamEnd::Whole);
    frames.into_iter().map(|frame| frame.data).collect()
}

/// Says the word to a thread of AG-UI, and says yes to its question.
async fn over_ag_ui(address: SocketAddr, token: &str, word: &str) -> String {
    // All users share the names of sessions.
    let mut body = json!({
        "threadId": format!("thread-{word}"), "runId": "r1",
        "messages": [{ "id": "m1", "role": "user", "content": word }],
    });
    let asked = stream(address, token, "/ag-ui", &body).await;
    let interrupt = &asked.last().unwrap()["outcome"]["interrupts"][0]["id"];
    let payload = json!({ "approved": true });
    body["resume"] =
        json!([{ "interruptId": interrupt, "status": "resolved", "payload": payload }]);
    let done = stream(address, token, "/ag-ui", &body).await;
    assert_eq!(done.last().unwrap()["outcome"]["type"], "success", "{done:#?}");
    format!("{asked:?}{done:?}")
}

/// Says the word to a chat of the AI SDK, and says yes to its question.
async fn over_ai_sdk(address: SocketAddr, token: &str, word: &str) -> String {
    let chat = format!("chat-{word}");
    let parts = json!([{ "type": "text", "text": word }]);
    let said = json!({ "id": chat, "message": { "id": "m1", "role": "user", "parts": parts } });
    let asked = stream(address, token, "/api/chat", &said).await;
    let request = asked.iter().find(|part| part["type"] == "tool-approval-request").unwrap();
    let approval = json!({ "id": request["approvalId"], "approved": true });
    let parts = json!([{ "state": "approval-responded", "approval": approval }]);
    let message = json!({ "id": asked[0]["messageId"], "role": "assistant", "parts": parts });
    let done =
        stream(address, token, "/api/chat", &json!({ "id": chat, "message": message })).await;
    assert_eq!(done[done.len() - 2]["finishReason"], "stop", "{done:#?}");
    let all = Request::get(&format!("/api/chat/{chat}/messages")).bearer(token);
    format!("{asked:?}{done:?}{}", all.send(address).await.ok(200))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_users_at_once_hear_only_of_themselves() {
    // It repeats what the user said, and asks for a call with it.
    let parrot = model::from_fn("parrot", async |request, deltas| {
        let text = request.last_user_text().to_owned();
        for piece in text.split_inclusive('-') {
            deltas.text(piece);
            tokio::task::yield_now().await;
        }
        if request.messages.len() > 1 {
            return Ok(Completion::text(text));
        }
        let arguments = json!({ "word": text }).to_string();
        let wanted = madang::tool::WantedCall::new("keep", arguments);
        Ok(Completion { text, tool_calls: vec![wanted], ..Completion::default() })
    });
    let secrets: Vec<_> = (0..USERS).map(|_| TokenSecret::random().unwrap()).collect();
    let mut setup = Setup::new(parrot).tool(FakeTool::destructive("keep"));
    for (user, secret) in secrets.iter().enumerate() {
        let holder = TokenHolder::User(UserId::new(format!("user-{user}")).unwrap());
        let token = TokenEntry::new(format!("t{user}"), holder, TokenScopes::OF_PERSON, secret);
        setup = setup.options(|options| options.token(token));
    }
    let test = setup.start().await;
    let address = test.address;
    let mut users = JoinSet::new();
    for (user, secret) in secrets.into_iter().enumerate() {
        users.spawn(async move {
            let token = secret.reveal();
            let mut heard = String::new();
            let post = async |path: &str, body| {
                Request::post(path, &body).bearer(token).send(address).await
            };
            let session = post("/v1/sessions", json!({})).await.ok(201)["session"].clone();
            let path = format!("/v1/sessions/{}", session.as_str().unwrap());
            let stream = |path: String| Request::get(&path).bearer(token).stream(address);
            let mut events = stream(format!("{path}/events")).await;
            let mut inbox = stream("/v1/inbox/events".to_owned()).await;
            inbox.until("snapshot").await;
            let turn = json!({ "text": word(user) });
            heard.push_str(post(&format!("{path}/turns"), turn).await.text());
            let request = inbox.until("approval_requested").await;
            heard.push_str(&format!("{request:?}"));
            let request = &request.last().unwrap().data;
            let decide = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
            let yes = json!({ "digest": request["digest"], "decision": "approve" });
            post(&decide, yes).await.ok(200);
            heard.push_str(&format!("{:?}", events.until("turn_ended").await));
            heard.push_str(&over_ag_ui(address, token, &word(user)).await);
            heard.push_str(&over_ai_sdk(address, token, &word(user)).await);
            let said = json!({ "messages": [{ "role": "user", "content": word(user) }] });
            heard.push_str(&post("/v1/chat/completions", said).await.ok(200).to_string());
            for path in
                [path, "/v1/sessions".to_owned(), "/v1/ledger".to_owned(), "/v1/inbox".to_owned()]
            {
                heard.push_str(Request::get(&path).bearer(token).send(address).await.text());
            }
            (user, heard)
        });
    }
    let mut done = 0;
    while let Some(heard) = users.join_next().await {
        let (user, heard) = heard.unwrap();
        done += 1;
        let own = word(user);
        assert!(heard.matches(&own).count() >= 20, "user {user} hears what it said");
        // Pieces of text may be cut behind the first hyphen.
        for rest in heard.split("canary-").skip(1) {
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            assert!(number.is_empty() || number == format!("{user:03}"), "user {user}: {rest}");
        }
    }
    assert_eq!(done, USERS);
    test.shutdown().await;
}
