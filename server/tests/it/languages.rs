//! Without a header that names one, every surface speaks the language in which the user writes.

use madang_testing::ScriptedModel;
use serde_json::{Value, json};

#[cfg(feature = "mcp")]
use crate::mcp_client::{call_with, forms, result, setup};
use crate::{
    http::Request,
    support::{Setup, TestServer, delete},
};

const KOREAN: &str = "LLM 응답 실패";
const ENGLISH: &str = "the model failed";

/// A server whose model fails each turn.
async fn failing() -> TestServer {
    Setup::new(ScriptedModel::new([])).tool(delete()).start().await
}

/// Requests of each surface with this text, in chats with this name.
fn requests(chat: &str, text: &str) -> [(&'static str, Request); 4] {
    let message = json!({ "role": "user", "content": text });
    let part = json!({ "id": "m", "role": "user", "parts": [{ "type": "text", "text": text }] });
    let said = json!({ "id": "m", "role": "user", "content": text });
    let run = json!({
        "threadId": format!("{chat}-ag"), "runId": "r", "messages": [said], "state": {}, "tools": [],
        "context": [], "forwardedProps": {},
    });
    let native = format!("/v1/sessions/{chat}/turns");
    let native = Request::post(&native, &json!({ "text": text })).header("prefer", "wait=30");
    let of = |path: &str, body: Value| Request::post(path, &body);
    [
        ("native", native),
        ("AI SDK", of("/api/chat", json!({ "id": format!("{chat}-ai"), "messages": [part] }))),
        ("AG-UI", of("/ag-ui", run)),
        (
            "Chat Completions",
            of("/v1/chat/completions", json!({ "model": "any", "messages": [message] })),
        ),
    ]
}

#[tokio::test]
async fn a_sentence_of_the_runtime_is_in_the_language_of_the_text_without_a_header() {
    let test = failing().await;
    for (chat, header, text, says) in [
        ("a", None, "오늘 습관 보여줘", KOREAN),
        ("b", Some("*"), "오늘 습관 보여줘", KOREAN),
        ("c", Some("en-US,en;q=0.9"), "오늘 습관 보여줘", ENGLISH),
        ("d", None, "show my habits please", ENGLISH),
        ("e", Some("ko"), "show my habits please", KOREAN),
    ] {
        test.open(chat).await;
        for (surface, request) in requests(chat, text) {
            let request = header
                .into_iter()
                .fold(request, |request, header| request.header("accept-language", header));
            let answer = test.send(request).await;
            assert!(answer.text().contains(says), "{surface}, {chat}: {}", answer.text());
        }
    }
    // A look at a turn says the same as its stream.
    let turn = test.say("a", "다시 보여줘").await["turn"].clone();
    let path = format!("/v1/sessions/a/turns/{}", turn.as_str().unwrap());
    let status = test.get(&path).await.ok(200);
    let text = status["error"]["text"].as_str().unwrap();
    assert!(text.starts_with(KOREAN), "{text}");
    test.shutdown().await;
}

#[tokio::test]
async fn a_call_without_a_model_speaks_the_language_of_its_arguments() {
    let test = failing().await;
    let body = json!({ "arguments": { "id": "장보기 목록" }, "ask": "none" });
    let answer = test.post("/v1/tools/delete/calls", body).await;
    assert!(answer.text().contains("인자 오류"), "{}", answer.text());
    test.shutdown().await;
}

#[cfg(feature = "mcp")]
#[tokio::test]
async fn an_mcp_client_asks_in_the_language_of_the_arguments_unless_a_header_names_one() {
    let test = setup().0.start().await;
    let params = json!({ "name": "remove", "arguments": { "what": "오래된 목록 전부" } });
    for (header, says) in [(None, "실행합니다"), (Some("*"), "실행합니다"), (Some("en"), "Runs")]
    {
        let request = call_with(params.clone(), &forms());
        let request = header
            .into_iter()
            .fold(request, |request, header| request.header("accept-language", header));
        let asked = result(&test.send(request).await);
        let message = asked["inputRequests"]["question"]["params"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{header:?}: {message}");
    }
    test.shutdown().await;
}
