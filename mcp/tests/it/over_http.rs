//! Servers over HTTP: the same promises, and a credential that goes to its server alone.

use madang::ledger::Effect;
use madang_mcp::McpServers;
use madang_test_support::mcp_server::{Script, calls, tool};
use madang_testing::ScriptedModel;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    http_server::{HASTY, HttpServer, configured},
    support::{ConfigFolder, LEGACY, NEWEST, Scene, told, until},
};

async fn scene(version: &str, names: &[&str], more: Value) -> (Scene, HttpServer) {
    let folder = ConfigFolder::new();
    let tools: Value = names.iter().map(|name| tool(name)).collect();
    let server = HttpServer::start(Script::new(folder.notes(), version, &tools)).await;
    let config = configured(&folder, &server.url, &more);
    (Scene::of(folder, config, ScriptedModel::new([])).await, server)
}

#[tokio::test]
async fn a_call_goes_there_with_its_id_and_the_header_of_the_configuration() {
    for version in [LEGACY, NEWEST] {
        let (scene, server) = scene(version, &["echo"], json!({})).await;
        let report = scene.call("s__echo").await;
        assert_eq!(told(&report)["call"], json!(report.record.id.to_string()), "{version}");
        let heads = server.heads.lock().unwrap().clone();
        assert!(
            heads.iter().all(|head| head.contains("authorization: Bearer s3cret")),
            "{heads:?}"
        );
        scene.end().await;
    }
}

#[tokio::test]
async fn a_lost_connection_leaves_the_effect_unknown_and_is_not_tried_again() {
    for version in [LEGACY, NEWEST] {
        let (scene, _server) = scene(version, &["die", "echo"], json!({})).await;
        let report = scene.call("s__die").await;
        assert_eq!(report.record.effect, Effect::Unknown, "{version}");
        assert_eq!(calls(scene.folder.notes(), "die").len(), 1);
        until("the server is there", async || {
            scene.call("s__echo").await.record.effect == Effect::Committed
        })
        .await;
        scene.end().await;
    }
}

#[tokio::test]
async fn an_answer_of_100_mb_is_not_kept_and_a_silent_one_has_a_deadline() {
    let (scene, _server) = scene(LEGACY, &["flood", "hang"], json!({ "timeout": 5 })).await;
    assert_eq!(scene.call("s__flood").await.record.effect, Effect::Unknown);
    let report = scene.call("s__hang").await;
    assert_eq!(
        (report.record.effect, told(&report)[0].clone()),
        (Effect::Unknown, json!("timeout"))
    );
    scene.end().await;
}

#[tokio::test]
async fn a_server_that_ends_its_streams_is_asked_for_the_rest_at_our_own_pace() {
    let folder = ConfigFolder::new();
    let script = Script::new(folder.notes(), LEGACY, &json!([tool("echo")])).mode(HASTY);
    let server = HttpServer::start(script).await;
    let config = configured(&folder, &server.url, &json!({ "timeout": 1 }));
    let begun = Instant::now();
    let scene = Scene::of(folder, config, ScriptedModel::new([])).await;
    let report = scene.call("s__echo").await;
    assert_eq!((report.record.effect, &told(&report)[0]), (Effect::Unknown, &json!("timeout")));
    scene.end().await;
    let most = 2 + begun.elapsed().as_millis() / 100;
    let heads = server.heads.lock().unwrap().clone();
    let count = |start: &str| heads.iter().filter(|head| head.starts_with(start)).count();
    let resumed = heads.iter().filter(|head| head.contains("last-event-id: 1")).count();
    assert!(resumed > 1, "the rest is asked for: {heads:?}");
    assert!(count("GET") as u128 <= most, "{} streams, at most {most}", count("GET"));
}

#[tokio::test]
async fn no_redirect_is_followed_and_no_secret_is_shown() {
    let folder = ConfigFolder::new();
    let script = || Script::new(folder.notes(), LEGACY, &json!([]));
    let elsewhere = HttpServer::start(script()).await;
    let server = HttpServer::start(script().mode(&elsewhere.url)).await;
    let config = configured(&folder, &server.url, &json!({}));
    let error = McpServers::start(&config).await.unwrap_err();
    assert!(!format!("{error:?} {config:?}").contains("s3cret"));
    assert!(error.to_string().contains("could not be started"), "{error}");
    assert!(!server.heads.lock().unwrap().is_empty());
    assert_eq!(elsewhere.heads.lock().unwrap().len(), 0, "nothing is sent there");
}
