//! An answer: it comes whole or breaks off, and what this server does not offer or take is refused.

use madang::model::ModelError;
use madang_testing::{ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::json;

use super::{PATH, ask, chats, open, stream, streamed, user};
use crate::{
    http::{Request, StreamEnd},
    support::{Setup, delete, says},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_answer_is_whole_with_its_usage_and_its_names() {
    let test = Setup::new(says("안녕하세요")).start().await;
    let body = json!({ "model": "any", "temperature": 0.3, "messages": [user("hi")] });
    let answer = test.post(PATH, body).await;
    let whole = answer.ok(200);
    let turn = answer.header("madang-turn").unwrap();
    assert_eq!(whole["id"], format!("chatcmpl-{turn}"));
    assert_eq!((&whole["object"], &whole["model"]), (&json!("chat.completion"), &json!("any")));
    assert!(whole["created"].as_u64().unwrap() > 1_700_000_000);
    let message = json!({ "role": "assistant", "content": "안녕하세요", "refusal": null });
    let choice =
        json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" });
    assert_eq!(whole["choices"], json!([choice]));
    for count in ["prompt_tokens", "completion_tokens", "total_tokens"] {
        assert!(whole["usage"][count].is_u64(), "{count}");
    }
    assert_eq!(answer.header("madang-ignored"), Some("temperature"));
    let session = answer.header("madang-session").unwrap();
    let status = test.get(&format!("/v1/sessions/{session}/turns/{turn}")).await.ok(200);
    assert_eq!(status["ending"], "answered");
    assert_eq!(test.get("/v1/models/madang").await.ok(200)["object"], "model");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_answer_has_its_role_first_its_reason_last_and_usage_if_asked_for() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut events = open(&test, stream(&[user("hi")])).await;
    assert!(events.header("madang-session").is_some() && events.header("madang-turn").is_some());
    let completion = script.next().await;
    completion.think("음");
    completion.delta("안");
    events.until_data(|data| data["choices"][0]["delta"]["content"] == "안").await;
    completion.say("안녕");
    let (rest, end) = events.end().await;
    assert_eq!((streamed(&rest), end), ("녕".to_owned(), StreamEnd::Whole));
    let [.., last, usage, done] = &rest[..] else { panic!("{rest:#?}") };
    assert_eq!(last.data["choices"][0]["finish_reason"], "stop");
    assert_eq!(usage.data["choices"], json!([]));
    assert!(usage.data["usage"]["total_tokens"].is_u64());
    assert_eq!(done.data, "[DONE]");

    let body = json!({ "messages": [user("hi")], "stream": true });
    let mut events = open(&test, Request::post(PATH, &body)).await;
    script.next().await.say("안녕");
    let (all, _) = events.end().await;
    let first = &all[0].data;
    assert_eq!(first["choices"][0]["delta"], json!({ "role": "assistant", "content": "" }));
    assert_eq!(first["model"], "madang", "its own name where the client has none");
    assert_eq!(all[all.len() - 1].data, "[DONE]");
    assert!(all.iter().all(|frame| frame.data.get("usage").is_none()));
    test.shutdown().await;
}

/// Some clients read each block of lines as a chunk: they know comments, and fail at a block
/// without data.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_nothing_but_chunks_and_comments() {
    let test = Setup::new(says("hi")).start().await;
    let mut events = open(&test, stream(&[user("a")])).await;
    let mut chunks = 0;
    while let Some(frame) = events.frame().await {
        let is_comment = |line: &String| line.starts_with(':');
        assert!(frame.other.iter().all(is_comment), "{:?}", frame.other);
        chunks += usize::from(!frame.data.is_null());
    }
    assert!(chunks > 2);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_this_server_does_not_offer_is_refused_with_its_name_and_begins_nothing() {
    let test = Setup::new(says("a")).start().await;
    let tool = json!({ "type": "function", "function": { "name": "f" } });
    for (extra, param) in [
        (json!({ "tools": [tool] }), "tools"),
        (json!({ "n": 2 }), "n"),
        (json!({ "response_format": { "type": "json_object" } }), "response_format"),
    ] {
        let mut body = json!({ "messages": [user("hi")], "stream": true });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let refused = test.post(PATH, body).await;
        assert_eq!((refused.status, &*refused.problem()), (400, "unsupported-parameter"));
        let error = &refused.json()["error"];
        assert_eq!(
            (&error["param"], &error["type"]),
            (&json!(param), &json!("invalid_request_error"))
        );
        assert!(error["message"].as_str().unwrap().contains(param));
        assert_eq!(refused.header("content-type"), Some("application/json"));
        assert_eq!(refused.header("x-should-retry"), Some("false"));
    }
    assert_eq!(chats(&test).await, 0);
    let unused = json!({ "messages": [user("hi")], "tools": [tool], "tool_choice": "none" });
    test.post(PATH, unused).await.ok(200);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_in_mid_stream_is_told_and_the_body_breaks_off() {
    let failing = ScriptedCompletion::error("ConnectionLost").saying("half an ans");
    let test = Setup::new(ScriptedModel::repeating([failing])).start().await;
    let mut events = open(&test, stream(&[user("hi")])).await;
    let (told, end) = events.end().await;
    assert_eq!(end, StreamEnd::BrokenOff, "a clean end would look like a whole answer");
    assert_eq!(streamed(&told), "half an ans");
    let error = &told.last().unwrap().data["error"];
    assert_eq!(
        (&error["code"], &error["type"]),
        (&json!("ConnectionLost"), &json!("server_error"))
    );
    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()));
    assert!(told.iter().all(|frame| frame.data["choices"][0]["finish_reason"].is_null()));
    let plain = test.send(ask(&[user("hi")])).await;
    assert_eq!((plain.status, &*plain.problem()), (502, "ConnectionLost"));
    assert!(plain.header("madang-turn").is_some());
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_the_server_leaves_breaks_off_and_never_looks_complete() {
    let (model, mut script) = model_pair();
    let mut test = Setup::new(model).start().await;
    let mut events = open(&test, stream(&[user("hi")])).await;
    let completion = script.next().await;
    completion.delta("half");
    events.until_data(|data| data["choices"][0]["delta"]["content"] == "half").await;
    test.stop();
    let (told, end) = events.end().await;
    assert_eq!(end, StreamEnd::BrokenOff);
    assert_eq!(told.last().unwrap().data["error"]["code"], "draining");
    test.ended().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_taken_is_refused_by_name_with_what_to_do_instead() {
    let test = Setup::new(says("Hello.")).tool(delete()).start().await;
    let image =
        json!([{ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } }]);
    let function = json!({ "type": "function", "function": { "name": "look" } });
    for (extra, param, words) in [
        (
            json!({ "tools": [function] }),
            "tools",
            "The model calls the tools of this server by itself. Leave it out.",
        ),
        (
            json!({ "response_format": { "type": "json_object" } }),
            "response_format",
            "Leave response_format out, and ask for the form in the message.",
        ),
        (
            json!({ "messages": [{ "role": "user", "content": image }] }),
            "messages.0.content.0",
            "A message can have text alone. Leave images, sound and files out.",
        ),
    ] {
        let mut body = json!({ "model": "any", "messages": [user("hi")] });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let answer = test.post(PATH, body).await;
        assert_eq!((answer.status, &*answer.problem()), (400, "unsupported-parameter"));
        let error = answer.json()["error"].clone();
        assert_eq!(error["param"], param);
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(param) && message.ends_with(words), "{message}");
        // The server has tools of its own: it must not say that it has none.
        assert!(!message.contains("does not offer"), "{message}");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_is_too_long_has_the_code_by_which_clients_shorten_it() {
    let long = || ScriptedCompletion::error(ModelError::PROMPT_TOO_LONG);
    let test = Setup::new(ScriptedModel::repeating([long()])).start().await;
    let plain = test.send(ask(&[user("hi")])).await;
    assert_eq!((plain.status, &*plain.problem()), (400, "context_length_exceeded"));
    assert_eq!(plain.json()["error"]["type"], "invalid_request_error");
    assert_eq!(plain.header("x-should-retry"), Some("false"));
    let (told, _) = open(&test, stream(&[user("hi")])).await.end().await;
    let error = &told.iter().find(|frame| !frame.data["error"].is_null()).unwrap().data["error"];
    assert_eq!(
        (error["code"].as_str(), error["type"].as_str()),
        (Some("context_length_exceeded"), Some("invalid_request_error"))
    );
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_does_not_end_with_words_of_the_user_is_refused_as_empty() {
    let test = Setup::new(says("never")).start().await;
    let model = json!({ "role": "assistant", "content": "hi" });
    for messages in [json!([user("hi"), model]), json!([user(" ")]), json!([])] {
        let refused = test.post(PATH, json!({ "messages": messages })).await;
        assert_eq!((refused.status, &*refused.problem()), (422, "empty"), "{messages}");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_named_in_a_header_in_utf_8_or_the_request_is_refused() {
    let test = Setup::new(says("Hello")).start().await;
    test.open("산책").await;
    let named = |name: &str| {
        Request::post(PATH, &json!({ "messages": [user("hi")] })).header("madang-session", name)
    };
    test.send(named("산책")).await.ok(200);
    let chat = test.get("/v1/sessions/%EC%82%B0%EC%B1%85").await.ok(200);
    assert_eq!(chat["messages"][0]["text"], "hi");
    let refused = test.send(named("..")).await;
    assert_eq!((refused.status, &*refused.problem()), (400, "malformed"));
    test.shutdown().await;
}
