//! A call whose answer was lost has effect unknown, is not sent again, and the chat goes on.

use madang::{
    OnDismiss, Session, Turn, TurnOptions, UserId,
    approval::Decision,
    ledger::{Effect, LedgerFilter},
};
use madang_test_support::mcp_server::{calls, heard, read, tool, writing};
use madang_testing::{Probe, ScriptedCompletion};
use serde_json::{Value, json};

use crate::support::{LEGACY, NEWEST, PATIENCE, Scene, told, until};

#[tokio::test]
async fn a_server_that_dies_in_mid_call_leaves_the_effect_unknown_and_comes_back() {
    let tools = json!([tool("die"), tool("echo")]);
    let scene = Scene::new(LEGACY, tools, json!({})).await;
    let report = scene.call("s__die").await;
    assert_eq!(report.record.effect, Effect::Unknown);
    let reason = told(&report)[1].clone();
    assert!(reason.as_str().unwrap().ends_with("it may have taken effect"), "{reason}");
    until("the server is back", async || {
        scene.call("s__echo").await.record.effect == Effect::Committed
    })
    .await;
    assert_eq!(calls(scene.folder.notes(), "die").len(), 1, "it is never sent again");
    scene.end().await;
}

#[tokio::test]
async fn the_model_hears_of_it_and_the_chat_goes_on() {
    let script = [
        ScriptedCompletion::call("s__die", &json!({ "text": "x" })),
        ScriptedCompletion::text("That is not certain."),
        ScriptedCompletion::text("Here I am."),
    ];
    let scene = Scene::playing(script, NEWEST, json!([tool("die")]), json!({})).await;
    let session = scene.runtime.user("kim").unwrap().session("chat").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let options = TurnOptions::default();
    let turn = session.send_with("go", options).await.unwrap();
    let request = probe.approval_request().await;
    let user = UserId::new("kim").unwrap();
    scene
        .runtime
        .user_with_id(&user)
        .decide(request.call, request.digest, Decision::Approve)
        .await
        .unwrap();
    turn.ended().await.unwrap();
    let turn = session.send("are you there?").await.unwrap();
    assert_eq!(turn.text().await.unwrap(), "Here I am.");
    probe.until_turns_ended(2).await;
    let lines = probe.lines();
    assert!(lines.contains("it may have taken effect"), "{lines}");
    drop((session, probe));
    scene.end().await;
}

#[tokio::test]
async fn only_a_trusted_read_whose_answer_was_lost_is_asked_once_more() {
    let tools = || json!([read("die_once"), read("die")]);
    let trusted = Scene::new(LEGACY, tools(), json!({ "trust": "annotations" })).await;
    assert_eq!(told(&trusted.call("s__die_once").await), json!("alive again"));
    let report = trusted.call("s__die").await;
    assert_eq!(report.record.effect, Effect::None, "a read");
    assert_eq!(calls(trusted.folder.notes(), "die").len(), 2, "once more, and no more");
    trusted.end().await;
    let other = Scene::new(LEGACY, tools(), json!({})).await;
    assert_eq!(other.call("s__die_once").await.record.effect, Effect::Unknown);
    assert_eq!(calls(other.folder.notes(), "die_once").len(), 1);
    other.end().await;
}

fn cancelled(messages: &[Value]) -> usize {
    messages.iter().filter(|message| message["method"] == "notifications/cancelled").count()
}

#[tokio::test]
async fn a_deadline_leaves_the_effect_unknown_and_the_server_is_told_to_stop() {
    let scene =
        Scene::new(LEGACY, json!([tool("hang"), tool("echo")]), json!({ "timeout": 0.3 })).await;
    let report = scene.call("s__hang").await;
    assert_eq!(
        (report.record.effect, told(&report)[0].clone()),
        (Effect::Unknown, json!("timeout"))
    );
    assert_eq!(
        scene.call("s__echo").await.record.effect,
        Effect::Committed,
        "the connection stays"
    );
    let notes = scene.folder.notes();
    until("the cancellation", async || cancelled(&heard(notes)) == 1).await;
    assert_eq!(calls(notes, "hang").len(), 1);
    scene.end().await;
}

#[tokio::test]
async fn an_answer_right_behind_the_deadline_makes_the_effect_known() {
    let tools = json!([tool("late"), tool("release")]);
    let scene = Scene::new(LEGACY, tools, json!({ "timeout": 0.3 })).await;
    let report = scene.call("s__late").await;
    assert_eq!(report.record.effect, Effect::Unknown);
    assert_eq!(told(&scene.call("s__release").await), json!("released"));
    let filter = LedgerFilter::call(report.record.id);
    until("the effect is known", async || {
        let rows = scene.runtime.ledger(&filter).await.unwrap();
        rows[0].effect == Some(Effect::Committed)
    })
    .await;
    scene.end().await;
}

#[tokio::test]
async fn a_dismissed_turn_tells_the_server_to_stop() {
    for version in [LEGACY, NEWEST] {
        let script = [ScriptedCompletion::call("s__hang", &json!({ "text": "x" }))];
        let more = json!({ "trust": "annotations" });
        let scene = Scene::playing(script, version, json!([read("hang")]), more).await;
        let session = scene.runtime.user("kim").unwrap().session("chat").await.unwrap();
        let turn = session.send("go").await.unwrap();
        let notes = scene.folder.notes();
        until("the call", async || calls(notes, "hang").len() == 1).await;
        session.dismiss().await.unwrap();
        until("the cancellation", async || cancelled(&heard(notes)) == 1).await;
        let id = calls(notes, "hang")[0]["id"].clone();
        let told =
            heard(notes).into_iter().find(|message| message["method"] == "notifications/cancelled");
        assert_eq!(told.unwrap()["params"]["requestId"], id);
        tokio::time::timeout(PATIENCE, turn.ended()).await.unwrap().unwrap();
        drop(session);
        scene.end().await;
    }
}

/// Begins a turn whose call waits until the file `go` is there.
async fn waiting(scene: &Scene, on_dismiss: OnDismiss) -> (Session, Turn) {
    let session = scene.runtime.user("kim").unwrap().session("chat").await.unwrap();
    let options = TurnOptions { on_dismiss, ..TurnOptions::default() };
    let turn = session.send_with("go", options).await.unwrap();
    let notes = scene.folder.notes();
    until("the call", async || calls(notes, "wait").len() == 1).await;
    (session, turn)
}

fn waits() -> [ScriptedCompletion; 2] {
    let call = ScriptedCompletion::call("s__wait", &json!({ "text": "x" }));
    [call, ScriptedCompletion::text("Done.")]
}

#[tokio::test]
async fn a_call_that_a_dismissal_lets_finish_is_not_stopped_and_its_end_is_known() {
    let more = json!({ "trust": "annotations" });
    let scene = Scene::playing(waits(), LEGACY, json!([writing("wait")]), more).await;
    let (session, turn) = waiting(&scene, OnDismiss::Finish).await;
    session.dismiss().await.unwrap();
    let notes = scene.folder.notes();
    std::fs::write(notes.join("go"), "").unwrap();
    let filter = LedgerFilter::default().in_session(session.id());
    until("the end", async || {
        scene.runtime.ledger(&filter).await.unwrap()[0].effect == Some(Effect::Committed)
    })
    .await;
    assert_eq!(cancelled(&heard(notes)), 0, "nobody told the server to stop");
    tokio::time::timeout(PATIENCE, turn.ended()).await.unwrap().unwrap();
    drop(session);
    scene.end().await;
}

#[tokio::test]
async fn a_call_that_runs_when_the_runtime_ends_is_waited_for() {
    let more = json!({ "trust": "annotations" });
    let scene = Scene::playing(waits(), LEGACY, json!([writing("wait")]), more).await;
    let (session, turn) = waiting(&scene, OnDismiss::Stop).await;
    let mut probe = Probe::new(session.subscribe());
    let notes = scene.folder.notes();
    let (closed, ()) = tokio::join!(scene.runtime.shutdown(), async {
        until("the end has begun", async || {
            scene.runtime.user("kim").unwrap().session("another").await.is_err()
        })
        .await;
        std::fs::write(notes.join("go"), "").unwrap();
    });
    closed.unwrap();
    drop(turn);
    assert_eq!(cancelled(&heard(notes)), 0, "nobody told the server to stop");
    probe.until(|events| format!("{events:?}").contains("waited")).await;
    drop((session, probe));
    scene.servers.close().await;
}

#[tokio::test]
async fn a_server_ends_with_us() {
    let scene = Scene::new(LEGACY, json!([tool("echo")]), json!({})).await;
    let notes = scene.folder.notes().join("ends");
    let folder = scene.folder;
    scene.runtime.shutdown().await.unwrap();
    tokio::time::timeout(PATIENCE, scene.servers.close()).await.unwrap();
    assert_eq!(
        std::fs::read_to_string(notes).unwrap(),
        "input closed\n",
        "by itself, and it was waited for"
    );
    drop(folder);
}
