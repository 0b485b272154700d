//! A person decides on any device, once. A caller that comes late, twice or for another user is
//! told what stands.

use std::time::Duration;

use madang::{Limits, store::SqliteStore};
use madang_testing::{FakeTool, MemoryStore, ScriptedCompletion, ScriptedModel};
use serde_json::{Value, json};

use crate::{
    http::{Answer, EventReader, Request},
    support::{Setup, TestServer, delete, until},
};

/// A server whose model asks for the destructive tool, and then says that it is done.
async fn asking() -> (TestServer, madang_testing::Runs) {
    asking_within(Limits::default()).await
}

async fn asking_within(limits: Limits) -> (TestServer, madang_testing::Runs) {
    let tool = delete();
    let runs = tool.runs();
    let script =
        [ScriptedCompletion::call("delete", &json!({ "id": 7 })), ScriptedCompletion::text("done")];
    let setup = Setup::new(ScriptedModel::repeating(script)).tool(tool);
    let test = setup.build(|builder| builder.limits(limits)).start().await;
    test.open("s").await;
    (test, runs)
}

/// Begins a turn and waits for its question: the stream, and the request.
async fn ask(test: &TestServer) -> (EventReader, Value) {
    let cursor = test.get("/v1/sessions/s").await.ok(200)["cursor"].clone();
    let path = format!("/v1/sessions/s/events?after={}", cursor.as_str().unwrap());
    let mut events = test.stream(&path).await;
    test.post("/v1/sessions/s/turns", json!({ "text": "delete 7" })).await.ok(202);
    let request = events.until("approval_requested").await.pop().unwrap().data;
    (events, request)
}

async fn decide(test: &TestServer, request: &Value, decision: Value) -> Answer {
    decide_as(test, test.kim.reveal(), request, decision).await
}

async fn decide_as(test: &TestServer, token: &str, request: &Value, mut body: Value) -> Answer {
    body["digest"] = request["digest"].clone();
    let path = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
    Request::post(&path, &body).bearer(token).send(test.address).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_shown_on_each_device_and_one_decides_for_all() {
    let (test, runs) = asking().await;
    let mut inbox = test.stream("/v1/inbox/events").await;
    let snapshot = inbox.until("snapshot").await;
    assert_eq!(snapshot[0].data["approval_requests"], json!([]));
    let (mut events, request) = ask(&test).await;
    let elsewhere = inbox.until("approval_requested").await.pop().unwrap().data;
    for member in ["call", "digest", "text", "arguments", "tool", "session"] {
        assert_eq!(elsewhere[member], request[member], "{member}");
    }
    let open = test.get("/v1/inbox").await.ok(200);
    assert_eq!(open["approval_requests"][0]["call"], request["call"]);
    assert_eq!(
        test.get("/v1/sessions/s").await.ok(200)["approval_request"]["call"],
        request["call"]
    );
    let turn = request["turn"].as_str().unwrap();
    let status = test.get(&format!("/v1/sessions/s/turns/{turn}")).await.ok(200);
    assert_eq!(
        (&status["status"], &status["approval_request"]["digest"]),
        (&json!("waiting"), &request["digest"])
    );

    let answer = decide(&test, &elsewhere, json!({ "decision": "approve" })).await.ok(200);
    assert_eq!(answer, json!({ "counts": true, "call": request["call"], "decision": "approve" }));
    let told = events.until("turn_ended").await;
    assert!(told.iter().any(|frame| frame.event.as_deref() == Some("tool_call_ended")));
    let ended = inbox.until("approval_ended").await.pop().unwrap().data;
    assert_eq!((&ended["call"], &ended["session"]), (&request["call"], &json!("s")));
    assert_eq!(test.get("/v1/inbox").await.ok(200)["approval_requests"], json!([]));
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_inbox_to_spare_decides_all_the_same() {
    let limits = Limits { max_inboxes_per_user: 0, ..Limits::default() };
    let (test, runs) = asking_within(limits).await;
    let (mut events, request) = ask(&test).await;
    decide(&test, &request, json!({ "decision": "approve" })).await.ok(200);
    events.until("turn_ended").await;
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_said_twice_counts_and_another_said_late_is_told_what_was_decided() {
    let (test, runs) = asking().await;
    let (mut events, request) = ask(&test).await;
    decide(&test, &request, json!({ "decision": "approve" })).await.ok(200);
    events.until("turn_ended").await;
    let again = decide(&test, &request, json!({ "decision": "approve" })).await.ok(200);
    assert_eq!((&again["counts"], &again["already"]), (&json!(true), &json!(true)));
    let late = decide(&test, &request, json!({ "decision": "deny" })).await;
    assert_eq!((late.status, &*late.problem()), (409, "not-open"));
    let decided = &late.json()["decided"];
    assert_eq!((&decided["decision"], &decided["by"]), (&json!("approve"), &json!("kim")));
    assert!(decided["at"].is_i64());
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_devices_that_decide_at_once_one_counts() {
    let (test, runs) = asking().await;
    let (mut events, request) = ask(&test).await;
    let (yes, no) = tokio::join!(
        decide(&test, &request, json!({ "decision": "approve" })),
        decide(&test, &request, json!({ "decision": "deny" })),
    );
    let mut statuses = [yes.status, no.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    events.until("turn_ended").await;
    assert_eq!(runs.count(), u32::from(yes.status == 200) as usize);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_said_at_once_counts_each_time_and_who_says_another_is_told() {
    let (test, runs) = asking().await;
    let test = std::sync::Arc::new(test);
    for round in 0..6 {
        let (mut events, request) = ask(&test).await;
        let says = move |at: usize| match at % 2 * (round % 2) {
            0 => "approve",
            _ => "deny",
        };
        let answers: Vec<_> = (0..8)
            .map(|at| {
                let test = test.clone();
                let request = request.clone();
                tokio::spawn(async move {
                    decide(&test, &request, json!({ "decision": says(at) })).await
                })
            })
            .collect();
        let mut counting = Vec::new();
        let mut told = Vec::new();
        for (at, answer) in answers.into_iter().enumerate() {
            let answer = answer.await.unwrap();
            match answer.status {
                200 => counting.push(says(at)),
                _ => told.push((answer.problem(), answer.json()["decided"]["decision"].clone())),
            }
        }
        counting.dedup();
        let [decision] = counting[..] else { panic!("{counting:?}") };
        assert_eq!(told.len(), round % 2 * 4, "{told:?}");
        for told in told {
            assert_eq!(told, ("not-open".to_owned(), json!(decision)));
        }
        events.until("turn_ended").await;
    }
    assert!(runs.count() >= 3);
    std::sync::Arc::into_inner(test).unwrap().shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_about_another_digest_changes_nothing() {
    let (test, runs) = asking().await;
    let (mut events, request) = ask(&test).await;
    let mut other = request.clone();
    other["digest"] = "0".repeat(64).into();
    let wrong = decide(&test, &other, json!({ "decision": "approve" })).await;
    assert_eq!((wrong.status, &*wrong.problem()), (409, "not-open"));
    assert_eq!(
        test.get("/v1/inbox").await.ok(200)["approval_requests"][0]["call"],
        request["call"]
    );
    decide(&test, &request, json!({ "decision": "deny_with", "message": "not now" })).await.ok(200);
    let told = events.until("turn_ended").await;
    let ended =
        told.iter().find(|frame| frame.event.as_deref() == Some("tool_call_ended")).unwrap();
    assert_eq!(ended.data["outcome"]["message"], "not now");
    assert_eq!(runs.count(), 0);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_sees_no_request_and_decides_nothing() {
    let (test, runs) = asking().await;
    let (mut events, request) = ask(&test).await;
    let lee = test.lee.reveal();
    let of_lee = async |request: Request| request.bearer(lee).send(test.address).await;
    let wrong = decide_as(&test, lee, &request, json!({ "decision": "approve" })).await;
    assert_eq!((wrong.status, &*wrong.problem()), (404, "not-found"));
    assert_eq!(of_lee(Request::get("/v1/inbox")).await.ok(200)["approval_requests"], json!([]));
    let call = request["call"].as_str().unwrap();
    let row = of_lee(Request::get(&format!("/v1/calls/{call}"))).await;
    assert_eq!((row.status, &*row.problem()), (404, "not-found"));
    decide(&test, &request, json!({ "decision": "deny" })).await.ok(200);
    events.until("turn_ended").await;
    let late = decide_as(&test, lee, &request, json!({ "decision": "deny" })).await;
    assert_eq!(late.status, 404, "nor afterwards");
    assert_eq!(runs.count(), 0);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_do_not_fit_leave_the_request_open_and_others_run() {
    let (test, runs) = asking().await;
    let (mut events, request) = ask(&test).await;
    let typed = |arguments: Value| json!({ "decision": "edit", "arguments": arguments });
    let wrong = decide(&test, &request, typed(json!({ "id": "seven" }))).await;
    assert_eq!((wrong.status, &*wrong.problem()), (422, "does-not-fit"));
    let place = json!({
        "pointer": "/arguments/id", "detail": "must be of type integer", "rule": "type",
        "expected": ["integer"],
    });
    assert_eq!(wrong.json()["problems"], json!([place]));
    let long = json!({ "decision": "deny_with", "message": "x".repeat(2_000) });
    let long = decide(&test, &request, long).await;
    assert_eq!((long.status, &*long.problem()), (422, "does-not-fit"));
    let edited = typed(json!({ "id": 8 }));
    assert_eq!(decide(&test, &request, edited.clone()).await.ok(200)["decision"], "edit");
    let told = events.until("turn_ended").await;
    let ended =
        told.iter().find(|frame| frame.event.as_deref() == Some("tool_call_ended")).unwrap();
    assert_eq!(ended.data["arguments"], json!({ "id": 8 }));
    assert_eq!(ended.data["asked"], json!({ "id": 7 }));
    assert_eq!(decide(&test, &request, edited).await.ok(200)["already"], true);
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_with_parts_of_another_is_refused() {
    let (test, _) = asking().await;
    let (_events, request) = ask(&test).await;
    for (body, pointer) in [
        (json!({ "decision": "approve", "message": "yes" }), "/message"),
        (json!({ "decision": "approve", "arguments": { "id": 8 } }), "/arguments"),
        (json!({ "decision": "deny_with" }), "/message"),
        (json!({ "decision": "edit" }), "/arguments"),
        (json!({ "decision": "maybe" }), "/decision"),
        (json!({ "decision": "approve", "more": 1 }), "/more"),
    ] {
        let wrong = decide(&test, &request, body.clone()).await;
        assert_eq!((wrong.status, &*wrong.problem()), (400, "malformed"), "{body}");
        assert_eq!(wrong.json()["problems"][0]["pointer"], pointer, "{body}");
    }
    let call = "00000000-0000-0000-0000-000000000000";
    let unknown = json!({ "call": call, "digest": request["digest"] });
    assert_eq!(decide(&test, &unknown, json!({ "decision": "approve" })).await.status, 404);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_call_tells_whether_a_decision_counts_where_the_store_does_not_tell() {
    let store = MemoryStore::new();
    let script = [ScriptedCompletion::call("delete_note", &json!({}))];
    let test = Setup::over(ScriptedModel::repeating(script), store.clone())
        .tool(FakeTool::destructive("delete_note"))
        .start()
        .await;
    test.open("s").await;
    let (_events, request) = ask(&test).await;
    store.lose_next_commit_reply();
    store.fail_next_links();
    let told = decide(&test, &request, json!({ "decision": "approve" })).await;
    assert_eq!((told.status, &*told.problem()), (503, "decision-not-known"));
    assert_eq!(told.header("retry-after"), Some("5"));
    let call = format!("/v1/calls/{}", request["call"].as_str().unwrap());
    until(async || test.get(&call).await.ok(200)["state"] == "ended").await;
    let row = test.get(&call).await.ok(200);
    assert_eq!((&row["approval"]["kind"], &row["effect"]), (&json!("once"), &json!("none")));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_takes_a_question_s_place_waits_for_the_old_turn_for_a_while_only() {
    let store = MemoryStore::new();
    let script = [ScriptedCompletion::call("delete_note", &json!({}))];
    let test = Setup::over(ScriptedModel::repeating(script), store.clone())
        .tool(FakeTool::destructive("delete_note"))
        .limits(|limits| limits.supersede_wait = Duration::from_millis(50))
        .start()
        .await;
    test.open("s").await;
    let (mut events, _) = ask(&test).await;
    let paused = store.pause().await;
    let else_ = json!({ "text": "else", "supersede": true });
    let busy = test.post("/v1/sessions/s/turns", else_.clone()).await;
    assert_eq!((busy.status, &*busy.problem()), (409, "busy"));
    drop(paused);
    let told = events.until("turn_ended").await;
    assert_eq!(told.last().unwrap().data["ending"], "dismissed");
    test.post("/v1/sessions/s/turns", else_).await.ok(202);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_may_ask_no_person_cancels_the_call_and_asks_none() {
    let (test, runs) = asking().await;
    let body = json!({ "text": "delete 7", "ask": "none" });
    let request = Request::post("/v1/sessions/s/turns", &body).header("prefer", "wait=30");
    let ended = test.send(request).await.ok(200);
    assert_eq!(ended["calls"][0]["outcome"]["reason"], "unreachable");
    let request = Request::post("/v1/sessions/s/turns", &json!({ "text": "delete 7" }));
    let request = request.header("prefer", "wait=30").header("madang-ask", "none");
    assert_eq!(test.send(request).await.ok(200)["calls"][0]["outcome"]["reason"], "unreachable");
    assert_eq!(runs.count(), 0);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_text_takes_the_place_of_a_question_only_where_it_says_so() {
    let (test, runs) = asking().await;
    let (mut events, request) = ask(&test).await;
    let busy = test.post("/v1/sessions/s/turns", json!({ "text": "else" })).await;
    assert_eq!((busy.status, &*busy.problem()), (409, "busy"));
    assert_eq!(busy.header("retry-after"), Some("1"));
    assert_eq!(busy.json()["turn"], request["turn"]);
    assert_eq!(busy.json()["approval_request"]["digest"], request["digest"]);
    let body = json!({ "text": "else", "supersede": true });
    let begun = test.post("/v1/sessions/s/turns", body).await.ok(202);
    assert_eq!(begun["superseded"], request["turn"]);
    let told = events.until("turn_ended").await;
    assert_eq!(told.last().unwrap().data["ending"], "dismissed");
    let late = decide(&test, &request, json!({ "decision": "approve" })).await;
    assert_eq!((late.status, &late.json()["ended"]), (409, &json!("dismissed")));
    assert_eq!(runs.count(), 0, "a new text is no yes");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_a_model_waits_for_a_person_and_always_covers_its_session() {
    let (test, runs) = asking().await;
    let body = json!({ "arguments": { "id": 7 }, "session": "s" });
    let mut inbox = test.stream("/v1/inbox/events").await;
    inbox.until("snapshot").await;
    let decides = async {
        let request = inbox.until("approval_requested").await.pop().unwrap().data;
        decide(&test, &request, json!({ "decision": "approve_always" })).await.ok(200);
    };
    let (answer, ()) = tokio::join!(test.post("/v1/tools/delete/calls", body.clone()), decides);
    assert_eq!(answer.ok(200)["record"]["outcome"]["status"], "ok");
    let standing = test.get("/v1/sessions/s/standing-approvals").await.ok(200);
    assert_eq!(standing["standing_approvals"][0]["tool"], "delete");
    test.post("/v1/tools/delete/calls", body.clone()).await.ok(200);
    assert_eq!(runs.count(), 2);
    let path = "/v1/sessions/s/standing-approvals/delete";
    assert_eq!(test.send(Request::new("DELETE", path)).await.status, 204);
    let standing = test.get("/v1/sessions/s/standing-approvals").await.ok(200);
    assert_eq!(standing["standing_approvals"], json!([]));
    let mut unasked = body;
    unasked["ask"] = json!("none");
    let answer = test.post("/v1/tools/delete/calls", unasked).await.ok(200);
    assert_eq!(answer["record"]["outcome"]["reason"], "unreachable");
    assert_eq!(runs.count(), 2);
    test.shutdown().await;
}

/// The next server has not asked again when the first decision comes.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_counts_although_the_server_has_started_anew_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || SqliteStore::open(&path).await.unwrap();
    let call = ScriptedCompletion::call("delete", &json!({ "id": 7 }));
    let first = Setup::over(ScriptedModel::new([call]), store().await).tool(delete());
    let first = first.start().await;
    first.open("s").await;
    let (_, request) = ask(&first).await;
    first.shutdown().await;

    let tool = delete();
    let runs = tool.runs();
    let model = ScriptedModel::new([ScriptedCompletion::text("done")]);
    let next = Setup::over(model, store().await).tool(tool).start().await;
    let answer = decide(&next, &request, json!({ "decision": "approve" })).await.ok(200);
    assert_eq!(answer["counts"], true);
    next.stream("/v1/sessions/s/events").await.until("turn_ended").await;
    assert_eq!(runs.count(), 1);
    next.shutdown().await;
}
