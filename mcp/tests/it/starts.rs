//! A server that does not start costs one sentence, and neither memory nor time.

use std::time::Duration;

use madang_mcp::McpServers;
use madang_test_support::mcp_server::{Script, tool};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{ConfigFolder, LEGACY, NEWEST, with};

async fn failure(entry: Value) -> String {
    let folder = ConfigFolder::new();
    let config = folder.configured(&json!({ "gh": entry }));
    let error = McpServers::start(&config).await.unwrap_err().to_string();
    let rest = error.strip_prefix(r#"the MCP server "gh" could not be started: "#).unwrap();
    rest.strip_suffix(r#"; mend its entry, or mark it "optional": true"#).unwrap().to_owned()
}

fn entry(folder: &ConfigFolder, version: &str, mode: &str) -> Value {
    Script::new(folder.notes(), version, &json!([tool("echo")])).mode(mode).entry()
}

#[tokio::test]
async fn each_failure_of_a_start_is_one_sentence() {
    let folder = ConfigFolder::new();
    let begun = Instant::now();
    let silent = with(entry(&folder, LEGACY, "silent"), json!({ "startTimeout": 0.5 }));
    assert_eq!(failure(silent).await, "it did not answer within 0.5 s");
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(
        failure(entry(&folder, "1999-01-01", "")).await,
        r#"it speaks the revision "1999-01-01" of the protocol, which is not known"#
    );
    let exits = failure(entry(&folder, LEGACY, "exits")).await;
    assert!(
        exits.starts_with("it ended while it was greeted")
            || exits.starts_with("it closed")
            || exits == "it cannot be reached",
        "{exits}"
    );
    let floods = failure(entry(&folder, LEGACY, "floods")).await;
    assert!(floods.starts_with("it closed") || floods.starts_with("it ended"), "{floods}");
    let missing = failure(json!({ "command": "/nonexistent/server" })).await;
    assert!(
        missing.starts_with(r#"its command "/nonexistent/server" does not start"#),
        "{missing}"
    );
}

#[tokio::test]
async fn a_server_that_agrees_to_what_it_does_not_know_is_greeted_by_a_handshake() {
    let folder = ConfigFolder::new();
    let config = folder.configured(&json!({ "s": entry(&folder, LEGACY, "agrees") }));
    let servers = McpServers::start(&config).await.unwrap();
    assert_eq!(servers.tools().len(), 1);
    servers.close().await;
}

#[tokio::test]
async fn a_server_whose_first_answer_comes_late_is_greeted_all_the_same() {
    let start = async |version| {
        let folder = ConfigFolder::new();
        let config = folder.configured(&json!({ "s": entry(&folder, version, "slow") }));
        let servers = McpServers::start(&config).await.unwrap();
        assert_eq!(servers.tools().len(), 1, "{version}");
        servers.close().await;
    };
    tokio::join!(start(LEGACY), start(NEWEST));
}

#[tokio::test]
async fn without_an_optional_server_the_start_goes_on() {
    let folder = ConfigFolder::new();
    let missing = json!({ "command": "/nonexistent/server", "optional": true });
    let config = folder.configured(&json!({ "gone": missing, "s": entry(&folder, LEGACY, "") }));
    let servers = McpServers::start(&config).await.unwrap();
    assert_eq!(servers.tools().len(), 1);
    let [warning] = servers.warnings() else { panic!("{:?}", servers.warnings()) };
    assert!(
        warning.starts_with(r#"MCP server "gone": did not start, and has no tools here"#),
        "{warning}"
    );
    servers.close().await;
}
