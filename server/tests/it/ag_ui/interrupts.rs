//! A question is an interrupt: a later run resumes or cancels it, also where another client was
//! faster.

use std::time::Duration;

use madang::{Limits, UserId, model::Completion, tool::WantedCall};
use madang_server::{TokenEntry, TokenHolder, TokenScope, TokenSecret};
use madang_testing::{End, FakeTool, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::{Value, json};

use super::{Client, ReadRun, SHOWN, decide_elsewhere, deleting, deleting_script, ended};
use crate::support::{Setup, delete};

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_an_interrupt_and_the_run_that_resumes_it_goes_on() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    assert_eq!(client.shows(), SHOWN[..3]);
    let call = interrupt["toolCallId"].as_str().unwrap();
    assert!(interrupt["id"].as_str().unwrap().starts_with(call));
    assert_eq!(interrupt["reason"], "tool_call");
    assert!(interrupt["message"].as_str().is_some_and(|text| !text.is_empty()));
    assert!(interrupt["expiresAt"].as_str().unwrap().ends_with('Z'));
    let form = &interrupt["responseSchema"]["properties"];
    assert_eq!(form["editedArgs"]["properties"]["id"]["type"], "integer");
    assert_eq!(interrupt["metadata"]["madang"]["approval_request"]["call"], call);
    assert_eq!(runs.count(), 0);
    let told = client.resume(&interrupt, json!({ "approved": true })).await;
    assert_eq!((told.end(), runs.count()), ("success", 1));
    assert_eq!(told.result()["status"], "ok");
    assert_eq!(told.custom("madang.approval_ended").len(), 1);
    assert!(told.custom("madang.decided_elsewhere").is_empty());
    assert_eq!(client.shows(), SHOWN);

    // A client whose answer was lost resumes once more.
    let told = client.resume(&interrupt, json!({ "approved": true })).await;
    assert_eq!((told.end(), runs.count()), ("success", 1));
    assert!(told.custom("madang.decided_elsewhere").is_empty(), "it had decided itself");
    assert_eq!(client.shows(), SHOWN);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_denies_with_words_or_edits_what_runs() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    let told = client.resume(&interrupt, json!({ "approved": false, "message": "not now" })).await;
    assert_eq!(
        (&told.result()["reason"], &told.result()["message"]),
        (&json!("denied"), &json!("not now"))
    );
    assert_eq!((told.end(), runs.count()), ("success", 0));

    let mut client = Client::new(&test, "edits");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    let payload = |id: Value| json!({ "approved": true, "editedArgs": { "id": id } });
    let entry = json!({ "interruptId": interrupt["id"], "status": "resolved", "payload": payload(json!("x")) });
    let wrong = client.with("resume", json!([entry])).refused().await;
    assert_eq!((wrong.status, &*wrong.problem()), (422, "does-not-fit"));
    let told = client.resume(&interrupt, payload(json!(8))).await;
    assert_eq!(told.result()["arguments"], json!({ "id": 8 }), "the question stayed open");
    assert_eq!((told.end(), runs.count()), ("success", 1));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_elsewhere_is_told_and_locks_no_client() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    decide_elsewhere(&test, &interrupt, "deny").await.ok(200);
    ended(&test, "t", 1).await;
    let told = client.resume(&interrupt, json!({ "approved": true })).await;
    assert_eq!((told.end(), runs.count()), ("success", 0));
    assert_eq!(told.custom("madang.decided_elsewhere")[0]["call"], interrupt["toolCallId"]);
    assert_eq!(client.shows(), SHOWN);
    assert!(client.messages[3]["content"].as_str().unwrap().contains("denied"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_expires_and_a_late_yes_changes_nothing() {
    let limits = Limits { decision_timeout: Duration::from_millis(200), ..Limits::default() };
    let tool = delete();
    let runs = tool.runs();
    let test = Setup::new(ScriptedModel::repeating(deleting_script()))
        .build(|builder| builder.limits(limits))
        .tool(tool)
        .start()
        .await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    ended(&test, "t", 1).await;
    let told = client.resume(&interrupt, json!({ "approved": true })).await;
    assert_eq!((told.end(), runs.count()), ("success", 0));
    assert_eq!(told.custom("madang.decided_elsewhere").len(), 1);
    assert!(client.messages[3]["content"].as_str().unwrap().contains("expired"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_questions_of_a_round_are_asked_one_after_the_other() {
    let tool = delete();
    let runs = tool.runs();
    let script = [
        ScriptedCompletion::call("delete", &json!({ "id": 7 }))
            .and_call("delete", &json!({ "id": 8 })),
        ScriptedCompletion::text("done"),
    ];
    let test = Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await;
    let mut client = Client::new(&test, "t");
    let first = client.says("m1", "delete both").run().await.interrupt();
    let second = client.resume(&first, json!({ "approved": true })).await.interrupt();
    assert_ne!(first["id"], second["id"]);
    assert_eq!(client.resume(&second, json!({ "approved": false })).await.end(), "success");
    assert_eq!(runs.count(), 1);
    let shown = ["u: delete both", "a: delete()", "result", "a: delete()", "result", "a: done"];
    let mut shows = client.shows();
    shows.sort();
    let mut expected = shown;
    expected.sort_unstable();
    assert_eq!(shows, expected);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_that_turns_away_dismisses_the_turn_and_may_say_something_else() {
    let tool = delete();
    let runs = tool.runs();
    let [asks, says] = deleting_script();
    let script = [asks.clone(), asks.clone(), asks, says];
    let test = Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    let told = client.cancels(&interrupt).run().await;
    assert_eq!((told.end(), runs.count()), ("cancelled", 0));
    // Once more, it changes nothing.
    assert_eq!(client.cancels(&interrupt).run().await.end(), "cancelled");

    let interrupt = client.says("m2", "delete 8").run().await.interrupt();
    let instead = client.cancels(&interrupt).says("m3", "keep it").run().await;
    // A new turn has a question of its own.
    let asked = instead.interrupt();
    assert_ne!(asked["id"], interrupt["id"]);
    let late = decide_elsewhere(&test, &interrupt, "approve").await;
    assert_eq!((late.status, &late.json()["ended"]), (409, &json!("dismissed")));
    // An old interrupt dismisses no later question.
    assert_eq!(client.cancels(&interrupt).run().await.interrupt()["id"], asked["id"]);
    client.resume(&asked, json!({ "approved": true })).await;
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_text_waits_for_the_question_and_all_else_gives_it_again() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    assert_eq!(client.run().await.interrupt()["id"], interrupt["id"], "the same message");
    let mut phone = Client::new(&test, "t");
    assert_eq!(phone.run().await.interrupt()["id"], interrupt["id"], "attached");
    assert_eq!(phone.shows(), SHOWN[..3]);
    let told = phone.says("m2", "else").run().await;
    assert_eq!((told.kinds(), told.end()), (vec!["RUN_ERROR"], "interrupt_open"));
    assert_eq!(client.resume(&interrupt, json!({ "approved": true })).await.end(), "success");
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resume_of_what_was_never_asked_here_is_passed_over() {
    let (test, runs) = deleting().await;
    let mut other = Client::new(&test, "other");
    let elsewhere = other.says("m1", "delete 7").run().await.interrupt();
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    let none = "0".repeat(64);
    let unknown = format!("00000000-0000-0000-0000-000000000000:{none}");
    let wrong = format!("{}:{none}", interrupt["toolCallId"].as_str().unwrap());
    for id in [elsewhere["id"].clone(), unknown.into(), wrong.into(), "call_1".into()] {
        let told = client.resume(&json!({ "id": id }), json!({ "approved": true })).await;
        assert_eq!(told.interrupt()["id"], interrupt["id"], "{id}");
    }
    assert_eq!(client.cancels(&elsewhere).run().await.interrupt()["id"], interrupt["id"]);
    assert_eq!(runs.count(), 0);
    let open = test.get("/v1/inbox").await.ok(200);
    assert_eq!(open["approval_requests"].as_array().unwrap().len(), 2);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_may_not_decide_asks_elsewhere_and_resumes_nothing() {
    let secret = TokenSecret::random().unwrap();
    let kim = TokenHolder::User(UserId::new("kim").unwrap());
    let token = TokenEntry::new("chats", kim, [TokenScope::Chat].into_iter().collect(), &secret);
    let tool = delete();
    let runs = tool.runs();
    let test = Setup::new(ScriptedModel::repeating(deleting_script()))
        .options(|options| options.token(token))
        .tool(tool)
        .start()
        .await;
    let mut client = Client::new(&test, "t");
    client.token = secret.reveal().to_owned();
    let mut events = client.says("m1", "delete 7").open().await;
    let asked = events.until_data(|event| event["name"] == "madang.approval_requested").await;
    let request = &asked.last().unwrap().data["value"];
    let id =
        format!("{}:{}", request["call"].as_str().unwrap(), request["digest"].as_str().unwrap());
    let entry = json!({ "interruptId": id, "status": "resolved", "payload": { "approved": true } });
    let refused = client.with("resume", json!([entry])).refused().await;
    assert_eq!((refused.status, &*refused.problem()), (403, "scope"));
    assert_eq!(runs.count(), 0);
    decide_elsewhere(&test, &json!({ "id": id }), "approve").await.ok(200);
    let (told, _) = events.end().await;
    assert_eq!(told.last().unwrap().data["outcome"]["type"], "success");
    assert_eq!(runs.count(), 1);
    // A client may also ask no person.
    let mut unattended = Client::new(&test, "none");
    unattended.says("m1", "delete 7").with("forwardedProps", json!({ "ask": "none" }));
    assert_eq!(unattended.run().await.result()["reason"], "unreachable");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_that_missed_the_question_is_asked_all_the_same() {
    let (model, mut script) = model_pair();
    let limits = Limits { max_feed_events: 1, ..Limits::default() };
    let test = Setup::new(model)
        .build(|builder| builder.limits(limits))
        .limits(|limits| limits.text_pace = Duration::from_secs(1))
        .tool(FakeTool::write("breaks").end(End::Panic("it broke")))
        .tool(delete())
        .start()
        .await;
    let calls = |name: &str, arguments: &str| {
        let wanted = WantedCall::new(name, arguments);
        Completion { text: "I try.".into(), tool_calls: vec![wanted], ..Completion::default() }
    };
    let mut client = Client::new(&test, "t");
    let events = client.says("m1", "break").open().await;
    script.next().await.finish(calls("breaks", "{}"));
    script.next().await.say("It broke.");
    client.end(events).await;
    let unknown = test.get("/v1/sessions/t/unresolved").await.ok(200)["calls"][0]["call"].clone();

    let mut inbox = test.stream("/v1/inbox/events").await;
    let mut events = client.says("m2", "delete 7").open().await;
    let completion = script.next().await;
    completion.delta("I");
    let mut told = events.until_data(|event| event["type"] == "TEXT_MESSAGE_CONTENT").await;
    // While the client waits behind the first piece of text, what comes behind the question drives
    // it out of memory.
    completion.finish(calls("delete", r#"{"id":7}"#));
    inbox.until_data(|data| data["type"] == "approval_requested").await;
    let path = format!("/v1/calls/{}/resolve", unknown.as_str().unwrap());
    test.post(&path, json!({ "effect": "none" })).await.ok(200);
    told.extend(events.end().await.0);
    let told = ReadRun { events: told.into_iter().map(|frame| frame.data).collect() };
    client.verify(&told);
    told.events.iter().for_each(|event| client.apply(event));
    let interrupt = told.interrupt();
    let resumed = client.resume(&interrupt, json!({ "approved": true }));
    let (resumed, ()) = tokio::join!(resumed, async { script.next().await.say("done") });
    assert_eq!(resumed.end(), "success");
    assert_eq!(
        client.shows()[5..],
        ["u: delete 7", "a: I try.", "a: delete()", "result", "a: done"]
    );
    test.shutdown().await;
}
