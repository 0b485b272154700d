//! Several models: a request chooses one by its name, the list has all of them, and events say
//! which one spoke. Without a model no turn begins.

use madang::Runtime;
use madang_testing::{FakeTool, MemoryStore, ScriptedCompletion, ScriptedModel};
use serde_json::{Value, json};

use crate::{
    http::Request,
    support::{Setup, TestServer, says},
};

/// A server whose first model has no name of its own.
async fn of_two() -> TestServer {
    let setup = Setup::new(says("From the first."));
    setup.build(|builder| builder.add_model("small", says("From the small one."))).start().await
}

/// Sends a turn that names this model.
async fn turn(test: &TestServer, model: Option<&str>) -> Value {
    let mut body = json!({ "text": "hi" });
    if let Some(model) = model {
        body["model"] = model.into();
    }
    let request = Request::post("/v1/sessions/s/turns", &body).header("prefer", "wait=30");
    test.send(request).await.ok(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_names_its_model_and_the_chat_says_which_one_spoke() {
    let test = of_two().await;
    test.open("s").await;
    assert_eq!(turn(&test, None).await["text"], "From the first.");
    assert_eq!(turn(&test, Some("small")).await["text"], "From the small one.");
    assert_eq!(turn(&test, Some("default")).await["text"], "From the first.");
    let chat = test.get("/v1/sessions/s").await.ok(200);
    let messages = chat["messages"].as_array().unwrap();
    let models: Vec<_> = messages.iter().filter_map(|message| message["model"].as_str()).collect();
    assert_eq!(models, ["default", "small", "default"], "{chat:#}");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_name_is_refused_and_nothing_begins() {
    let test = of_two().await;
    test.open("s").await;
    for (model, status, why) in
        [("large", 422, "No model here is named \"large\"."), ("a b", 400, "ASCII letters")]
    {
        let body = json!({ "text": "hi", "model": model });
        let answer = test.post("/v1/sessions/s/turns", body).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.text().contains(&why.replace('"', "\\\"")), "{}", answer.text());
    }
    let chat = test.get("/v1/sessions/s").await.ok(200);
    assert_eq!(chat["messages"], json!([]));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chat_completions_choose_by_a_name_of_the_list_and_any_other_name_chooses_none() {
    let test = of_two().await;
    let list = test.get("/v1/models").await.ok(200);
    let ids: Vec<_> =
        list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str()).collect();
    assert_eq!(ids, [Some("madang"), Some("small")]);
    for id in ["madang", "small"] {
        assert_eq!(test.get(&format!("/v1/models/{id}")).await.ok(200)["id"], *id);
    }
    assert_eq!(test.get("/v1/models/large").await.status, 404);
    for (asked, said) in [
        ("small", "From the small one."),
        ("madang", "From the first."),
        ("default", "From the first."),
        ("gpt-4o", "From the first."),
        ("not a name", "From the first."),
    ] {
        let messages = json!([{ "role": "user", "content": format!("hi, {asked}") }]);
        let body = json!({ "model": asked, "messages": messages });
        let answer = test.post("/v1/chat/completions", body).await.ok(200);
        assert_eq!(answer["choices"][0]["message"]["content"], said, "{asked}");
        assert_eq!(answer["model"], asked, "the answer repeats the name");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_model_is_listed_under_the_name_of_the_server() {
    let setup = Setup::new(says("Hello.")).options(|options| options.model("house"));
    let test = setup.start().await;
    let list = test.get("/v1/models").await.ok(200);
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
    assert_eq!(list["data"][0]["id"], "house");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_hears_no_error_where_another_model_answers() {
    let busy = ScriptedModel::repeating([ScriptedCompletion::error("Overloaded")]);
    let setup = Setup::new(busy);
    let test = setup.build(|builder| builder.add_model("small", says("Hello."))).start().await;
    test.open("s").await;
    assert_eq!(turn(&test, None).await["text"], "Hello.");
    let messages = json!([{ "role": "user", "content": "hi" }]);
    let body = json!({ "model": "any", "messages": messages });
    let answer = test.post("/v1/chat/completions", body).await.ok(200);
    assert_eq!(answer["choices"][0]["message"]["content"], "Hello.");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_model_refuses_each_turn_and_still_calls_tools() {
    let builder = Runtime::builder().store(MemoryStore::new()).tool(FakeTool::read("look"));
    let test = Setup::new(says("never")).build(|_| builder).start().await;
    test.open("s").await;
    let messages = json!([{ "role": "user", "content": "hi" }]);
    for (path, body) in [
        ("/v1/sessions/s/turns", json!({ "text": "hi" })),
        ("/v1/sessions/s/turns", json!({ "text": "hi", "model": "small" })),
        ("/v1/chat/completions", json!({ "model": "any", "messages": messages })),
    ] {
        let refused = test.post(path, body).await;
        let status = refused.status;
        let name = refused.problem();
        assert_eq!((status, &*name), (501, "no-model"), "{path}: {}", refused.text());
        assert_eq!(refused.header("x-should-retry"), Some("false"));
    }
    assert_eq!(test.get("/v1/models").await.ok(200)["data"], json!([]));
    assert_eq!(test.get("/v1/sessions/s").await.ok(200)["messages"], json!([]));
    test.post("/v1/tools/look/calls", json!({})).await.ok(200);
    test.shutdown().await;
}
