//! No tool that needs an approval runs for an MCP client without a plain yes, whatever its revision
//! and its client show.

use madang::{UserId, store::SqliteStore};
use madang_server::{CookieKey, TokenEntry, TokenHolder, TokenScope, TokenSecret};
use madang_testing::{FakeTool, ScriptedModel};
use serde_json::{Value, json};

use crate::{
    http::Request,
    mcp::ledger,
    mcp_client::{
        Session, call, called, code, forms, modern, nothing, pages, result, retry, setup,
        until_method, until_result, yes,
    },
    support::{Setup, TestServer, until},
};

/// Decides about Kim's open request as another device does.
pub(crate) async fn decide(test: &TestServer, decision: &str) {
    let open = async || test.get("/v1/inbox").await.ok(200)["approval_requests"][0].clone();
    until(async || open().await.is_object()).await;
    let request = open().await;
    let path = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
    test.post(&path, json!({ "digest": request["digest"], "decision": decision })).await.ok(200);
}

/// The question of a call of the newest revision, and its state.
async fn asked(test: &TestServer, capabilities: &Value) -> (Value, Value) {
    let asked = result(&test.send(call("remove", capabilities)).await);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    (asked["inputRequests"]["question"].clone(), asked["requestState"].clone())
}

fn failure(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_the_newest_revision_counts_with_its_state_and_for_its_user() {
    let (setup, runs) = setup();
    let test = setup.start().await;
    let (question, state) = asked(&test, &forms()).await;
    assert_eq!(question["params"]["requestedSchema"]["required"], json!(["ok"]));
    let text = state.as_str().unwrap();
    let last = if text.ends_with('A') { 'E' } else { 'A' };
    let forged = json!(format!("{}{last}", &text[..text.len() - 1]));
    assert_eq!(code(&test.send(retry("remove", &forms(), &forged, &yes())).await), -32_602);
    let lees = retry("remove", &forms(), &state, &yes()).bearer(test.lee.reveal());
    assert_eq!(code(&lees.send(test.address).await), -32_602);
    assert_eq!(code(&test.send(retry("write", &forms(), &state, &yes())).await), -32_602);
    assert_eq!(runs.count(), 0);
    let done = result(&test.send(retry("remove", &forms(), &state, &yes())).await);
    assert_eq!((&done["structuredContent"], runs.count()), (&json!({ "what": "it" }), 1));
    assert_eq!(result(&test.send(retry("remove", &forms(), &state, &yes())).await), done);
    assert_eq!(runs.count(), 1, "the same answer again is the same call");

    for (answer, told) in [
        (json!({ "action": "accept" }), "the user left before answering"),
        (json!({ "action": "decline" }), "user did not confirm"),
        (json!({ "action": "cancel" }), "the user left before answering"),
    ] {
        let (_, state) = asked(&test, &forms()).await;
        let ended = result(&test.send(retry("remove", &forms(), &state, &answer)).await);
        assert!(failure(&ended).contains(told), "{ended}");
    }
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_behind_a_restart_finds_its_call_and_is_told_that_nothing_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let key = CookieKey::open(folder.path().join("cookies")).unwrap();
    let remove = FakeTool::destructive("remove");
    let runs = remove.runs();
    let store = async || SqliteStore::open(folder.path().join("chats.db")).await.unwrap();
    let start = async |tool: FakeTool| {
        let setup = Setup::over(ScriptedModel::new([]), store().await).tool(tool);
        let key = key.clone();
        setup.options(|options| options.cookie_key(key)).start().await
    };
    let test = start(remove).await;
    let (_, state) = asked(&test, &forms()).await;
    test.shutdown().await;

    let remove = FakeTool::destructive("remove");
    let runs_again = remove.runs();
    let test = start(remove).await;
    let ended = result(&test.send(retry("remove", &forms(), &state, &yes())).await);
    assert!(failure(&ended).contains("cancelled"), "{ended}");
    let rows = ledger(&test, test.kim.reveal()).await;
    assert_eq!(rows.len(), 1, "no other call was begun: {rows:?}");
    assert_eq!(ended["_meta"]["io.madang/call"], rows[0]["call"]);
    assert_eq!((&rows[0]["effect"], runs.count() + runs_again.count()), (&json!("none"), 0));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_client_is_asked_on_the_stream_of_its_call() {
    let (setup, runs) = setup();
    let test = setup.start().await;
    let session = Session::begin(&test, test.kim.reveal(), &forms()).await;
    let mut calls = session.call(1, "remove").stream(test.address).await;
    let asked = until_method(&mut calls, "elicitation/create").await;
    assert_eq!(asked["params"]["requestedSchema"]["required"], json!(["ok"]));
    let foreign = session.with(test.lee.reveal()).answer(&test, &asked, yes()).await;
    assert_eq!((foreign.status, runs.count()), (404, 0));
    assert_eq!(session.answer(&test, &asked, yes()).await.status, 202);
    assert_eq!(until_result(&mut calls).await["structuredContent"], json!({ "what": "it" }));
    assert_eq!(runs.count(), 1);
    let mut calls = session.call(2, "remove").stream(test.address).await;
    let asked = until_method(&mut calls, "elicitation/create").await;
    session.answer(&test, &asked, json!({ "action": "accept" })).await;
    assert!(failure(&until_result(&mut calls).await).contains("the user left before answering"));
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_shows_addresses_gets_that_of_the_page_and_its_word_is_no_yes() {
    let (setup, runs) = setup();
    let test = setup.start().await;
    let page = format!("http://{}/#/inbox", test.address);
    let opened = json!({ "action": "accept", "content": { "ok": true } });
    let (question, state) = asked(&test, &pages()).await;
    assert_eq!(
        (&question["params"]["mode"], &question["params"]["url"]),
        (&json!("url"), &json!(page))
    );
    let mut params = called("remove");
    params["requestState"] = state;
    params["inputResponses"] = json!({ "question": opened });
    params["_meta"]["progressToken"] = json!(7);
    let waits = modern("tools/call", params, &pages()).bearer(test.kim.reveal());
    let mut waits = waits.stream(test.address).await;
    until_method(&mut waits, "notifications/progress").await;
    assert_eq!(runs.count(), 0, "it waits for what the person decides on the page");
    decide(&test, "approve").await;
    assert_eq!(until_result(&mut waits).await["structuredContent"], json!({ "what": "it" }));

    let session = Session::begin(&test, test.kim.reveal(), &pages()).await;
    let mut calls = session.call(1, "remove").stream(test.address).await;
    let asked = until_method(&mut calls, "elicitation/create").await;
    assert_eq!(asked["params"]["url"], page);
    session.answer(&test, &asked, opened).await;
    decide(&test, "deny").await;
    assert!(failure(&until_result(&mut calls).await).contains("user did not confirm"));
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_shows_nothing_runs_nothing_and_is_told_what_it_lacks() {
    let (setup, runs) = setup();
    let test = setup.options(madang_server::ServerOptions::without_page).start().await;
    for capabilities in [nothing(), pages()] {
        let lacks = test.send(call("remove", &capabilities)).await;
        assert_eq!((lacks.status, code(&lacks)), (400, -32_021), "without a page no address helps");
        let needs = &crate::mcp_client::message(&lacks)["error"]["data"]["requiredCapabilities"];
        assert_eq!(needs, &json!({ "elicitation": { "form": {} } }));
    }
    let session = Session::begin(&test, test.kim.reveal(), &nothing()).await;
    let ended = result(&session.call(1, "remove").send(test.address).await);
    assert!(failure(&ended).contains("nobody could be asked"), "{ended}");
    // A client that could show a form, and whose request wants no person asked. In a session each
    // request says it anew.
    let session = Session::begin(&test, test.kim.reveal(), &forms()).await;
    for request in [call("remove", &forms()).bearer(test.kim.reveal()), session.call(1, "remove")] {
        let none = request.header("madang-ask", "none").send(test.address).await;
        assert!(failure(&result(&none)).contains("nobody could be asked"));
    }
    assert_eq!(runs.count(), 0);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_may_not_decide_asks_elsewhere_and_its_answers_decide_nothing() {
    let secret = TokenSecret::random().unwrap();
    let holder = TokenHolder::User(UserId::new("kim").unwrap());
    let token =
        TokenEntry::new("tools", holder, [TokenScope::Tools].into_iter().collect(), &secret);
    let (setup, runs) = setup();
    let test = setup.options(|options| options.token(token)).start().await;
    let (_, state) = asked(&test, &forms()).await;
    // It knows the state of a client that may, and says yes.
    let says = tokio::spawn(
        retry("remove", &forms(), &state, &yes()).bearer(secret.reveal()).send(test.address),
    );
    decide(&test, "deny").await;
    assert!(failure(&result(&says.await.unwrap())).contains("user did not confirm"));
    // It knows the session of a client that may.
    let session = Session::begin(&test, test.kim.reveal(), &forms()).await;
    let mut calls = session.call(1, "remove").stream(test.address).await;
    let asked = until_method(&mut calls, "elicitation/create").await;
    assert_eq!(session.with(secret.reveal()).answer(&test, &asked, yes()).await.status, 404);
    decide(&test, "deny").await;
    assert!(failure(&until_result(&mut calls).await).contains("user did not confirm"));
    // Its own calls ask on another device, in each revision.
    let own = Session::begin(&test, secret.reveal(), &forms()).await;
    for request in [call("remove", &forms()).bearer(secret.reveal()), own.call(1, "remove")] {
        let waits = tokio::spawn(request.send(test.address));
        decide(&test, "approve").await;
        assert_eq!(result(&waits.await.unwrap())["structuredContent"], json!({ "what": "it" }));
    }
    assert_eq!(runs.count(), 2);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_closes_its_answer_has_dismissed_the_call_and_its_question() {
    for patience in [10_000, 20] {
        let (setup, runs) = setup();
        let patience = std::time::Duration::from_millis(patience);
        let test = setup.limits(|limits| limits.mcp_head_patience = patience).start().await;
        let mut params = called("remove");
        if patience.as_secs() > 0 {
            params["_meta"]["progressToken"] = json!("p"); // so that the answer begins
        }
        let request = modern("tools/call", params, &nothing()).header("madang-ask", "elsewhere");
        let leaves = request.bearer(test.kim.reveal()).stream(test.address).await;
        let inbox = async || test.get("/v1/inbox").await.ok(200)["approval_requests"].clone();
        until(async || inbox().await != json!([])).await;
        drop(leaves);
        until(async || inbox().await == json!([])).await;
        until(async || ledger(&test, test.kim.reveal()).await[0]["effect"] == "none").await;
        assert_eq!(runs.count(), 0);
        test.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_before_the_answer_begins_has_dismissed_the_call() {
    let (setup, runs) = setup();
    let test = setup.start().await;
    let request = call("remove", &nothing()).header("madang-ask", "elsewhere");
    let leaves = request.bearer(test.kim.reveal()).sent(test.address).await;
    let inbox = async || test.get("/v1/inbox").await.ok(200)["approval_requests"].clone();
    until(async || inbox().await != json!([])).await;
    drop(leaves);
    until(async || inbox().await == json!([])).await;
    assert_eq!(runs.count(), 0);
    let _ = Request::get("/healthz").send(test.address).await;
    test.shutdown().await;
}
