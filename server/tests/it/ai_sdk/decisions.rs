//! A question ends the stream, and the decision that is sent goes on with its message.

use madang::UserId;
use madang_server::{TokenEntry, TokenHolder, TokenScope, TokenSecret};
use madang_testing::{FakeTool, ScriptedCompletion, ScriptedModel};
use serde_json::json;

use super::{ASKED, Client, asks, decide_elsewhere, deleting, finish, kinds, shown};
use crate::support::Setup;

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_ends_at_the_question_and_the_decision_goes_on_with_its_message() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "c");
    let parts = client.says("m1", "delete 7").send().await;
    let asked = &parts[parts.len() - 3];
    assert_eq!(asked["type"], "tool-approval-request");
    assert!(asked["approvalDescriptor"]["text"].as_str().is_some_and(|text| !text.is_empty()));
    assert!(asked["approvalDescriptor"]["expires_at"].is_i64());
    assert_eq!((finish(&parts), client.shows()), ("tool-calls", ASKED.map(str::to_owned).to_vec()));
    // A client that comes back is asked again.
    let back = client.come_back().await;
    client.end(back).await;
    assert_eq!(client.shows(), ASKED);
    let before = client.responds(true, None).messages.clone();
    let parts = client.send().await;
    assert_eq!((finish(&parts), runs.count()), ("stop", 1));
    assert!(!kinds(&parts).contains(&"tool-input-available"), "only what is new");
    let done = ["u: delete 7", "a: I delete it. (output-available) done"];
    assert_eq!(client.shows(), done);

    // A message whose question was answered while it was open, told from its beginning, asks
    // nothing.
    client.messages.pop();
    assert_eq!(finish(&client.send().await), "stop");
    assert_eq!(client.shows(), done);
    // The answer was lost: the client sends its decision again.
    client.messages = before;
    assert_eq!(finish(&client.send().await), "stop");
    assert_eq!((client.shows(), runs.count()), (done.map(str::to_owned).to_vec(), 1));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_questions_of_a_round_are_asked_one_after_the_other() {
    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let round = asks().and_call("look", &json!({})).and_call("delete", &json!({ "id": 8 }));
    let script = [round, ScriptedCompletion::text("done")];
    let test = Setup::new(ScriptedModel::repeating(script))
        .tool(tool)
        .tool(FakeTool::read("look"))
        .start()
        .await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete both").send().await;
    assert_eq!(client.shows()[1], "a: I delete it. (approval-requested)", "one call is shown");
    let decided = client.responds(true, None).messages.clone();
    for _ in 0..2 {
        // Once more, as where the answer was lost.
        client.messages = decided.clone();
        assert_eq!(finish(&client.send().await), "tool-calls");
    }
    assert_eq!(
        client.shows()[1],
        "a: I delete it. (output-available) (output-available) (approval-requested)"
    );
    let parts = client.responds(false, Some("not that")).send().await;
    assert_eq!((finish(&parts), runs.count()), ("stop", 1));
    assert_eq!(
        client.shows()[1],
        "a: I delete it. (output-available) (output-available) (output-denied) done"
    );
    let rows = test.get("/v1/ledger").await.ok(200);
    assert_eq!(rows["calls"][2]["outcome"]["message"], "not that");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_elsewhere_is_told_and_locks_no_client() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete 7").send().await;
    decide_elsewhere(&test, "deny").await;
    let parts = client.responds(true, None).send().await;
    assert_eq!((finish(&parts), runs.count()), ("stop", 0));
    assert_eq!(client.shows()[1], "a: I delete it. (output-denied) done");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_text_takes_the_place_of_a_question_and_is_no_yes() {
    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let script = [asks(), ScriptedCompletion::text("kept")];
    let test = Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete 7").send().await;
    let old = client.messages[1]["id"].clone();
    let parts = client.says("m2", "keep it").send().await;
    let notice = json!({ "type": "superseded", "turn": old });
    assert_eq!((&parts[1]["type"], &parts[1]["data"]), (&json!("data-madang-notice"), &notice));
    assert_eq!(client.shows(), [ASKED[0], ASKED[1], "u: keep it", "a: kept"]);
    assert_eq!(runs.count(), 0);
    assert_eq!(test.get("/v1/inbox").await.ok(200)["approval_requests"], json!([]));
    let stored = test.get("/api/chat/c/messages").await.ok(200);
    assert_eq!(shown(stored.as_array().unwrap())[1], "a: I delete it. (output-error)");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_about_another_chat_or_about_nothing_changes_nothing() {
    let (test, runs) = deleting().await;
    let mut other = Client::new(&test, "other");
    other.says("m1", "delete 7").send().await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete 7").send().await;
    let own = client.messages.clone();
    let foreign = other.parts().last().unwrap()["approval"]["id"].clone();
    let id = client.parts().last().unwrap()["approval"]["id"].as_str().unwrap().to_owned();
    let wrong = format!("{}:{}", id.split_once(':').unwrap().0, "0".repeat(64));
    for id in [foreign, json!("approval-1"), json!(wrong)] {
        client.messages = own.clone();
        client.parts().last_mut().unwrap()["approval"]["id"] = id;
        let parts = client.responds(true, None).send().await;
        assert_eq!(
            (finish(&parts), client.shows()),
            ("tool-calls", ASKED.map(str::to_owned).to_vec())
        );
    }
    // A message of the assistant with nothing to decide goes on with the turn: the question is
    // open.
    client.messages = own;
    assert_eq!(finish(&client.send().await), "tool-calls");
    assert_eq!(client.shows(), ASKED);
    assert_eq!(
        test.get("/v1/inbox").await.ok(200)["approval_requests"].as_array().unwrap().len(),
        2
    );
    assert_eq!(runs.count(), 0);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_may_not_decide_asks_elsewhere_and_decides_nothing() {
    let secret = TokenSecret::random().unwrap();
    let kim = TokenHolder::User(UserId::new("kim").unwrap());
    let token = TokenEntry::new("chats", kim, [TokenScope::Chat].into_iter().collect(), &secret);
    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let script = [asks(), ScriptedCompletion::text("done")];
    let test = Setup::new(ScriptedModel::repeating(script))
        .options(|options| options.token(token))
        .tool(tool)
        .start()
        .await;
    let mut client = Client::new(&test, "c");
    client.token = secret.reveal().to_owned();
    let mut events = client.says("m1", "delete 7").open().await;
    let asked = events.until_data(|part| part["data"]["type"] == "approval_requested").await;
    let request = &asked.last().unwrap().data["data"];
    let id =
        format!("{}:{}", request["call"].as_str().unwrap(), request["digest"].as_str().unwrap());
    let part = json!({ "type": "dynamic-tool", "state": "approval-responded", "approval": { "id": id, "approved": true } });
    let message = json!({ "id": "x", "role": "assistant", "parts": [part] });
    let refused = client.with("message", message).refused().await;
    assert_eq!((refused.status, &*refused.problem()), (403, "scope"));
    assert_eq!(runs.count(), 0);
    decide_elsewhere(&test, "approve").await;
    let (told, _) = events.end().await;
    assert_eq!(
        (told[told.len() - 2].data["finishReason"].as_str(), runs.count()),
        (Some("stop"), 1)
    );
    // A client may also ask no person.
    let mut unattended = Client::new(&test, "none");
    unattended.says("m1", "delete 7").with("ask", json!("none")).send().await;
    assert_eq!(unattended.shows()[1], "a: I delete it. (output-error) done");
    test.shutdown().await;
}
