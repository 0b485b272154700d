//! A person renames, deletes, exports, searches and forks chats of their own, and no others.

use madang_testing::{FakeTool, MemoryStore, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::{Value, json};

use crate::{
    http::{Answer, Request},
    support::{Setup, TestServer, says},
};

fn patch(path: &str, body: &Value) -> Request {
    let request = Request::new("PATCH", path).header("content-type", "application/json");
    request.body(body.to_string())
}

fn delete(path: &str) -> Request {
    Request::new("DELETE", path)
}

/// A server with a chat of one turn.
async fn server() -> TestServer {
    let test = Setup::new(says("Go to bed at ten.")).start().await;
    test.open("s").await;
    test.say("s", "When shall I sleep?").await;
    test
}

async fn titles(test: &TestServer) -> Vec<String> {
    let list = test.get("/v1/sessions").await.ok(200);
    let sessions = list["sessions"].as_array().unwrap().iter();
    sessions.map(|chat| chat["title"].as_str().unwrap().to_owned()).collect()
}

async fn seq_of(test: &TestServer, session: &str, index: usize) -> Value {
    let view = test.get(&format!("/v1/sessions/{session}")).await.ok(200);
    view["messages"][index]["seq"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_listed_with_the_title_that_it_was_given() {
    let test = server().await;
    assert_eq!(titles(&test).await, ["When shall I sleep?"]);
    let named = test.send(patch("/v1/sessions/s", &json!({ "title": " 수면\n plan " }))).await;
    assert_eq!(named.ok(200), json!({ "session": "s", "title": "수면 plan" }));
    assert_eq!(titles(&test).await, ["수면 plan"]);
    let taken_back = test.send(patch("/v1/sessions/s", &json!({ "title": null }))).await;
    assert_eq!(taken_back.ok(200)["title"], "When shall I sleep?");
    assert_eq!(titles(&test).await, ["When shall I sleep?"]);
    let long = "x".repeat(81);
    for (body, status, problem) in [
        (json!({ "title": " \u{1}" }), 422, "empty"),
        (json!({ "title": long }), 413, "too-long"),
        (json!({}), 400, "malformed"),
        (json!({ "title": 7 }), 400, "malformed"),
    ] {
        let refused = test.send(patch("/v1/sessions/s", &body)).await;
        assert_eq!((refused.status, &*refused.problem()), (status, problem), "{body}");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_chat_is_gone_its_stream_ends_and_its_id_is_free() {
    let test = server().await;
    let mut reader = test.stream("/v1/sessions/s/events").await;
    reader.until("turn_ended").await;
    let gone = test.send(delete("/v1/sessions/s")).await;
    assert_eq!((gone.status, gone.text()), (204, ""));
    reader.end().await;
    for request in [
        Request::get("/v1/sessions/s"),
        Request::get("/v1/sessions/s/events"),
        Request::get("/v1/sessions/s/export"),
        delete("/v1/sessions/s"),
    ] {
        let answer = test.send(request.clone()).await;
        assert_eq!((answer.status, &*answer.problem()), (404, "not-found"), "{request:?}");
    }
    assert_eq!(titles(&test).await, [""; 0]);
    test.open("s").await;
    let view = test.get("/v1/sessions/s").await.ok(200);
    assert_eq!(view["messages"], json!([]));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_chat_is_deleted_while_its_turn_is_open() {
    let call = ScriptedCompletion::call("mail", &json!({}));
    let model = ScriptedModel::new([call, ScriptedCompletion::text("Not sent.")]);
    let test = Setup::new(model).tool(FakeTool::destructive("mail")).start().await;
    test.open("s").await;
    let begun = test.post("/v1/sessions/s/turns", json!({ "text": "mail her" })).await.ok(202);
    let mut reader = test.stream("/v1/sessions/s/events").await;
    reader.until("approval_requested").await;
    let refused = test.send(delete("/v1/sessions/s")).await;
    assert_eq!((refused.status, &*refused.problem()), (409, "busy"));
    let dismiss = format!("/v1/sessions/s/turns/{}/dismiss", begun["turn"].as_str().unwrap());
    test.post(&dismiss, json!({})).await.ok(200);
    reader.until("turn_ended").await;
    assert_eq!(test.send(delete("/v1/sessions/s")).await.status, 204);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_chat_is_remembered_for_no_client() {
    let test = server().await;
    let said = json!([{ "role": "user", "content": "hi" }]);
    let first = test.post("/v1/chat/completions", json!({ "messages": said })).await;
    let chat = first.header("madang-session").unwrap().to_owned();
    assert_eq!(test.send(delete(&format!("/v1/sessions/{chat}"))).await.status, 204);
    let history = json!([
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": "Go to bed at ten." },
        { "role": "user", "content": "and then?" },
    ]);
    let next = test.post("/v1/chat/completions", json!({ "messages": history })).await;
    assert_eq!(next.status, 200);
    assert_ne!(next.header("madang-session"), Some(&*chat));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_exported_whole_as_json_and_as_markdown() {
    let call = ScriptedCompletion::call("look", &json!({ "at": "a```b" }));
    let answers = [ScriptedCompletion::text("안녕"), call, ScriptedCompletion::text("잘 자요.")];
    let look = FakeTool::read("look").parameters(json!({
        "type": "object", "properties": { "at": { "type": "string" } },
    }));
    let test = Setup::new(ScriptedModel::new(answers)).tool(look).start().await;
    test.open("s").await;
    test.say("s", "안녕하세요, 반갑습니다").await;
    let all = test.get("/v1/sessions/s").await.ok(200)["messages"].clone();
    test.post("/v1/sessions/s/clear", json!({})).await;
    test.say("s", "잠을 잘 자려면?").await;
    test.send(patch("/v1/sessions/s", &json!({ "title": "수면" }))).await.ok(200);

    let file = test.get("/v1/sessions/s/export").await;
    assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"chat.json\""));
    let json = file.ok(200);
    assert_eq!((&json["session"], &json["title"]), (&json!("s"), &json!("수면")));
    assert!(json["exported_at"].is_i64(), "{json}");
    let messages = json["messages"].as_array().unwrap();
    assert_eq!(messages[..2], all.as_array().unwrap()[..]);
    let roles: Vec<_> = messages.iter().map(|entry| entry["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "model", "cleared", "user", "tool_call", "model"]);

    let by_header = Request::get("/v1/sessions/s/export").header("accept", "text/markdown");
    let named = Request::get("/v1/sessions/s/export?format=markdown");
    for request in [by_header, named] {
        let file = test.send(request).await;
        assert_eq!(file.status, 200);
        assert_eq!(file.header("content-type"), Some("text/markdown; charset=utf-8"));
        let text = file.text();
        assert!(text.starts_with("# 수면\n"), "{text}");
        for part in
            ["## 사용자 (", "> 잠을 잘 자려면?", "### 도구 look (", "\n````json\n", "> 잘 자요."]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let refused = test.get("/v1/sessions/s/export?format=pdf").await;
    assert_eq!((refused.status, &*refused.problem()), (400, "malformed"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_said_looks_like_another_entry_of_the_export() {
    let forged = "Done.\n\n### Tool pay (2026-01-01)\r# Chat\n```\nnever closed";
    let call = ScriptedCompletion::call("x\n\n## User (2026-01-01)\n\nyes", &json!({}));
    let answers = [call, ScriptedCompletion::text(forged)];
    let test = Setup::new(ScriptedModel::new(answers)).start().await;
    test.open("s").await;
    test.say("s", "## Model\n\nI may.").await;
    let file = test.get("/v1/sessions/s/export?format=markdown").await;
    let (mut headings, mut fences) = (Vec::new(), 0);
    for line in file.text().lines().filter(|line| !line.starts_with('>')) {
        if line.starts_with("```") {
            fences += 1;
        } else if line.starts_with('#') {
            headings.push(line.split(' ').take(2).collect::<Vec<_>>().join(" "));
        }
    }
    assert_eq!(headings, ["# ##", "## User", "### Tool", "## Model"], "{}", file.text());
    assert_eq!(fences, 2, "those around the call: {}", file.text());
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_that_cannot_be_read_to_its_end_breaks_off() {
    let store = MemoryStore::new();
    let long = "x".repeat(60_000);
    let test = Setup::over(says(&long), store.clone()).start().await;
    test.open("s").await;
    for _ in 0..8 {
        test.say("s", "more").await;
    }
    let whole = test.get("/v1/sessions/s/export").await.ok(200);
    assert_eq!(whole["messages"].as_array().unwrap().len(), 16);
    store.fail_next_read();
    assert_eq!(test.get("/v1/sessions/s/export").await.status, 503, "nothing was sent yet");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_are_found_in_the_users_own_chats_page_by_page() {
    let test = server().await;
    test.open("t").await;
    test.say("t", "And the bed?").await;
    let lees = Request::post("/v1/sessions", &json!({ "id": "lees" })).bearer(test.lee.reveal());
    lees.send(test.address).await.ok(201);
    let path = "/v1/sessions/lees/turns";
    let lees = Request::post(path, &json!({ "text": "bed" })).header("prefer", "wait=30");
    lees.bearer(test.lee.reveal()).send(test.address).await.ok(200);

    let search = async |body: Value| test.post("/v1/search", body).await;
    let all = search(json!({ "text": "BED" })).await.ok(200);
    let hits = all["hits"].as_array().unwrap();
    let places = hits.iter().map(|hit| (hit["session"].as_str().unwrap(), hit["role"].as_str()));
    let expected = [("t", Some("user")), ("t", Some("model")), ("s", Some("model"))];
    assert_eq!(places.collect::<Vec<_>>(), expected);
    assert_eq!(all["next"], Value::Null);
    let excerpt = json!({ "before": "And the ", "match": "bed", "after": "?" });
    for (name, value) in excerpt.as_object().unwrap() {
        assert_eq!(&hits[0][name], value);
    }
    assert_eq!(hits[2]["title"], "When shall I sleep?");

    let mut paged = Vec::new();
    let mut body = json!({ "text": "bed", "limit": 1 });
    loop {
        let page = search(body.clone()).await.ok(200);
        paged.extend(page["hits"].as_array().unwrap().clone());
        if page["next"].is_null() {
            break;
        }
        body["after"] = page["next"].clone();
    }
    assert_eq!(&paged, hits);
    for (body, status, problem) in [
        (json!({ "text": " " }), 422, "empty"),
        (json!({ "text": "x".repeat(257) }), 413, "too-long"),
        (json!({ "text": "x", "limit": 0 }), 400, "malformed"),
        (json!({ "text": "x", "limit": 51 }), 400, "malformed"),
        (json!({ "text": "x", "after": "y" }), 422, "unknown-value"),
        (json!({}), 400, "malformed"),
    ] {
        let refused = search(body.clone()).await;
        assert_eq!((refused.status, &*refused.problem()), (status, problem), "{body}");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_bounded_in_bytes_and_in_its_rate() {
    let setup = Setup::new(says("b")).limits(|limits| {
        (limits.max_search_bytes, limits.search_burst, limits.searches_per_minute) = (1, 2, 1);
    });
    let test = setup.start().await;
    test.open("s").await;
    test.say("s", "a").await;
    let page = test.post("/v1/search", json!({ "text": "b" })).await.ok(200);
    assert_eq!(page["hits"], json!([]), "only the first text is read");
    let body = json!({ "text": "b", "after": page["next"] });
    let page = test.post("/v1/search", body.clone()).await.ok(200);
    assert_eq!(page["hits"].as_array().unwrap().len(), 1);
    let refused = test.post("/v1/search", body).await;
    assert_eq!((refused.status, &*refused.problem()), (429, "too-many"));
    assert!(refused.header("retry-after").is_some());
    test.shutdown().await;
}

/// Forks the chat `s`.
async fn fork(test: &TestServer, body: Value, key: Option<&str>) -> Answer {
    let request = Request::post("/v1/sessions/s/forks", &body);
    let request = key.into_iter().fold(request, |it, key| it.header("idempotency-key", key));
    test.send(request).await
}

async fn texts(test: &TestServer, session: &str) -> Vec<String> {
    let view = test.get(&format!("/v1/sessions/{session}")).await.ok(200);
    let texts = view["messages"].as_array().unwrap().iter();
    texts.filter_map(|entry| entry["text"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_forked_before_a_message() {
    let test = server().await;
    test.say("s", "And then?").await;
    let before = seq_of(&test, "s", 2).await;
    let made = fork(&test, json!({ "before": before }), None).await;
    let answer = made.ok(201);
    let id = answer["session"].as_str().unwrap().to_owned();
    assert_eq!(made.header("location"), Some(&*format!("/v1/sessions/{id}")));
    let expected = json!({
        "session": id, "user": "kim", "from": "s", "before": before,
        "messages": 2, "calls": 0, "is_cut": false,
    });
    assert_eq!(answer, expected);
    let view = test.get(&format!("/v1/sessions/{id}")).await.ok(200);
    let last = view["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["role"], &last["notice"]), (&json!("notice"), &json!("forked")));
    test.say(&id, "And now?").await;

    assert_eq!(fork(&test, json!({ "id": "named" }), None).await.ok(201)["session"], "named");
    let taken = fork(&test, json!({ "id": "named" }), None).await;
    assert_eq!((taken.status, &*taken.problem()), (409, "busy"));
    for (body, status, problem) in [
        (json!({ "before": 99 }), 404, "not-found"),
        (json!({ "before": "x" }), 400, "malformed"),
        (json!({ "id": "." }), 400, "malformed"),
    ] {
        let refused = fork(&test, body.clone(), None).await;
        assert_eq!((refused.status, &*refused.problem()), (status, problem), "{body}");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_is_forked_before_any_of_the_messages_that_it_begins_with() {
    let test = server().await;
    test.say("s", "And then?").await;
    fork(&test, json!({ "id": "fork" }), None).await.ok(201);
    let copied = test.get("/v1/sessions/fork").await.ok(200)["messages"].clone();
    assert_eq!((&copied[2]["text"], &copied[2]["role"]), (&json!("And then?"), &json!("user")));
    let body = json!({ "id": "again", "before": copied[2]["seq"] });
    test.post("/v1/sessions/fork/forks", body).await.ok(201);
    let all = texts(&test, "again").await;
    assert_eq!(all[..2], ["When shall I sleep?", "Go to bed at ten."]);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_that_is_asked_for_again_under_its_key_is_found_as_it_is() {
    let test = server().await;
    test.say("s", "And then?").await;
    let before = seq_of(&test, "s", 2).await;
    let with_id = json!({ "before": before, "id": "named" });
    for body in [json!({ "before": before }), with_id] {
        let made = fork(&test, body.clone(), Some("k")).await.ok(201);
        let id = made["session"].as_str().unwrap();
        let found = json!({ "session": id, "user": "kim", "from": "s", "before": before });
        test.say(id, "And now?").await;
        let length = texts(&test, id).await.len();
        let again = fork(&test, body.clone(), Some("k")).await;
        assert_eq!(again.ok(200), found);
        assert_eq!(again.header("location"), Some(&*format!("/v1/sessions/{id}")));
        test.post(&format!("/v1/sessions/{id}/clear"), json!({})).await;
        assert_eq!(fork(&test, body, Some("k")).await.ok(200), found);
        assert!(texts(&test, id).await.len() < length, "nothing is written");
    }
    let other = fork(&test, json!({}), Some("k")).await.ok(201);
    assert_eq!(other["messages"], 4, "it asks for something else");
    // What has become of the chat that was forked does not matter.
    test.post("/v1/sessions/s/clear", json!({})).await;
    assert_eq!(fork(&test, json!({}), Some("k")).await.ok(200)["session"], other["session"]);
    fork(&test, json!({ "before": before }), Some("k")).await.ok(200);
    assert_eq!(test.send(delete("/v1/sessions/s")).await.status, 204);
    assert_eq!(fork(&test, json!({}), Some("k")).await.ok(200)["session"], other["session"]);
    assert_eq!(fork(&test, json!({}), Some("new")).await.status, 404);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_is_no_fork_is_not_found_under_a_key() {
    let test = server().await;
    test.open("other").await;
    test.say("other", "Hello.").await;
    let taken = fork(&test, json!({ "id": "other" }), Some("k")).await;
    assert_eq!((taken.status, &*taken.problem()), (409, "busy"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_requests_at_once_under_one_key_make_one_fork() {
    let store = MemoryStore::new();
    let test = Setup::over(says("a"), store.clone()).start().await;
    for id in ["s", "fork"] {
        test.open(id).await;
    }
    test.say("s", "hello").await;
    let paused = store.pause().await;
    let ask = || fork(&test, json!({ "id": "fork" }), Some("k"));
    // One of them writes, and the other finds that it does.
    let (one, other, ()) = tokio::join!(ask(), ask(), async {
        for _ in 0..50 {
            test.get("/healthz").await;
        }
        drop(paused);
    });
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 201], "{} {}", one.text(), other.text());
    assert_eq!(texts(&test, "fork").await[..2], ["hello", "a"]);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_count_among_the_new_chats_of_their_user() {
    let setup = Setup::new(says("a"));
    let test = setup
        .limits(|limits| (limits.new_chat_burst, limits.new_chats_per_minute) = (2, 1))
        .start()
        .await;
    test.open("s").await;
    test.post("/v1/sessions/s/forks", json!({})).await.ok(201);
    let refused = test.post("/v1/sessions/s/forks", json!({})).await;
    assert_eq!((refused.status, &*refused.problem()), (429, "too-many"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_turn_goes_on_beside_a_new_title_a_search_an_export_and_a_fork() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    test.open("s").await;
    let begun = test.post("/v1/sessions/s/turns", json!({ "text": "hello" })).await.ok(202);
    let completion = script.next().await;
    let is_ok =
        |answer: Answer, status: u16| assert_eq!(answer.status, status, "{}", answer.text());
    is_ok(test.send(patch("/v1/sessions/s", &json!({ "title": "a" }))).await, 200);
    is_ok(test.post("/v1/search", json!({ "text": "hello" })).await, 200);
    is_ok(test.get("/v1/sessions/s/export").await, 200);
    let asked = test.get("/v1/sessions/s").await.ok(200)["messages"][0].clone();
    assert_eq!(asked["turn"], begun["turn"]);
    is_ok(test.post("/v1/sessions/s/forks", json!({ "before": asked["seq"] })).await, 201);
    is_ok(test.post("/v1/sessions/s/forks", json!({})).await, 409);
    is_ok(test.send(delete("/v1/sessions/s")).await, 409);
    completion.say("hi");
    let mut reader = test.stream("/v1/sessions/s/events").await;
    reader.until("turn_ended").await;
    test.shutdown().await;
}
