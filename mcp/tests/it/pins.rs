//! What a tool looked like when it was first seen stays pinned until a person trusts what it looks like now.

use madang_mcp::{McpServers, PinnedChange, trust};
use serde_json::{Value, json};

use crate::{
    fake::{Script, tool},
    support::{ConfigFolder, LEGACY},
};

async fn offered(folder: &ConfigFolder, tools: Value) -> (Vec<String>, Vec<String>) {
    let config =
        folder.configured(&json!({ "s": Script::new(folder.notes(), LEGACY, &tools).entry() }));
    let servers = McpServers::start(&config).await.unwrap();
    let names = servers.tools().iter().map(|tool| tool.spec().name.to_string()).collect();
    let warnings = servers.warnings().to_vec();
    servers.close().await;
    (names, warnings)
}

#[tokio::test]
async fn a_tool_that_differs_is_not_offered_until_its_server_is_trusted_again() {
    let folder = ConfigFolder::new();
    let lock = folder.notes().join("madang.mcp.lock");
    let both = |description: &str| {
        let mut echo = tool("echo");
        echo["description"] = json!(description);
        json!([echo, tool("other")])
    };
    assert_eq!(offered(&folder, both("Does echo.")).await.0.len(), 2);
    let first = std::fs::read_to_string(&lock).unwrap();
    assert_eq!(
        offered(&folder, both("Does echo.")).await,
        (vec!["s__echo".to_owned(), "s__other".to_owned()], vec![])
    );

    let (names, warnings) = offered(&folder, both("Does echo, and mails it.")).await;
    assert_eq!(names, ["s__other"]);
    assert!(warnings[0].contains("differs from what was first seen"), "{warnings:?}");
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), first, "the pin stays");

    let tools = both("Does echo, and mails it.");
    let config =
        folder.configured(&json!({ "s": Script::new(folder.notes(), LEGACY, &tools).entry() }));
    let changes = trust(&config, "s").await.unwrap();
    assert_eq!(
        changes,
        [("echo".to_owned(), PinnedChange::Changed), ("other".to_owned(), PinnedChange::Same)]
    );
    assert_eq!(offered(&folder, tools).await.0.len(), 2);
    let error = trust(&config, "other").await.unwrap_err().to_string();
    assert!(error.ends_with(r#"mcp.json has no server "other""#), "{error}");
}

#[tokio::test]
async fn a_new_tool_of_a_known_server_is_named_and_a_look_pins_nothing() {
    let folder = ConfigFolder::new();
    let config = folder.configured(
        &json!({ "s": Script::new(folder.notes(), LEGACY, &json!([tool("echo")])).entry() }),
    );
    let reports = McpServers::look(&config).await.unwrap();
    assert_eq!(reports[0].tools[0].original, "echo");
    let lock = folder.notes().join("madang.mcp.lock");
    assert!(!lock.exists());
    offered(&folder, json!([tool("echo")])).await;
    let (names, warnings) = offered(&folder, json!([tool("echo"), tool("late")])).await;
    assert_eq!(
        (names.len(), warnings),
        (2, vec![r#"MCP server "s": has a new tool, "late""#.to_owned()])
    );
}

#[tokio::test]
async fn a_lock_that_cannot_be_read_refuses_the_start() {
    let folder = ConfigFolder::new();
    std::fs::write(folder.notes().join("madang.mcp.lock"), "{").unwrap();
    let config = folder.configured(&json!({}));
    let error = McpServers::start(&config).await.unwrap_err().to_string();
    assert!(error.starts_with("failed to read ") && error.contains("madang.mcp.lock"), "{error}");
}
