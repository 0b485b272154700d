//! The list of tools is read once: what changes is refused until a restart, and what lies is left
//! out.

use madang::ledger::Effect;
use madang_mcp::McpServers;
use madang_test_support::mcp_server::{Script, calls, tool};
use serde_json::{Value, json};

use crate::support::{ConfigFolder, LEGACY, NEWEST, Scene, told, until, with};

#[tokio::test]
async fn a_tool_that_has_changed_is_not_called_and_others_are() {
    for version in [LEGACY, NEWEST] {
        let tools = json!([tool("echo"), tool("other"), tool("change")]);
        let scene = Scene::new(version, tools, json!({})).await;
        assert_eq!(scene.call("s__echo").await.record.effect, Effect::Committed);
        assert_eq!(told(&scene.call("s__change").await), json!("changed"));
        until("the change is seen", async || {
            told(&scene.call("s__echo").await)[0] == json!("tool_changed")
        })
        .await;
        let before = calls(scene.folder.notes(), "echo").len();
        let report = scene.call("s__echo").await;
        assert_eq!(
            (told(&report)[0].clone(), report.record.effect),
            (json!("tool_changed"), Effect::None)
        );
        assert_eq!(calls(scene.folder.notes(), "echo").len(), before, "it was not sent");
        assert_eq!(scene.call("s__other").await.record.effect, Effect::Committed, "{version}");
        scene.end().await;
    }
}

/// The names and the warnings of a server with these tools.
async fn offered(tools: Value) -> (Vec<String>, Vec<String>) {
    let scene = Scene::new(LEGACY, tools, json!({})).await;
    let names = scene.servers.tools().iter().map(|tool| tool.spec().name.to_string()).collect();
    let warnings = scene.servers.warnings().to_vec();
    scene.end().await;
    (names, warnings)
}

#[tokio::test]
async fn lies_in_schemas_hide_no_other_tool_and_are_named() {
    let schema = |schema: Value| {
        let mut tool = tool(&format!("t{}", schema.to_string().len()));
        tool["inputSchema"] = schema;
        tool
    };
    let mut deep = json!({ "type": "object" });
    for _ in 0..40 {
        deep = json!({ "type": "object", "properties": { "a": deep } });
    }
    let mut long = tool("long");
    long["description"] = json!("x".repeat(9_000));
    let table = [
        (
            schema(
                json!({ "type": "object", "properties": { "a": { "$ref": "https://example.org/s.json" } } }),
            ),
            "another document",
        ),
        (
            schema(
                json!({ "type": "object", "properties": { "a": { "$ref": "file:///etc/passwd" } } }),
            ),
            "another document",
        ),
        (schema(json!({ "type": "array" })), "not of type object"),
        (schema(json!("text")), "not an object"),
        (schema(json!(null)), "not an object"),
        (schema(json!({ "type": "object", "title": "x".repeat(70_000) })), "bytes"),
        (schema(json!({ "type": "object", "allOf": [{ "$ref": "#" }] })), "Schema"),
        (schema(json!({ "type": "object", "properties": { "a": { "type": "wrong" } } })), "Schema"),
        (
            schema(json!({ "type": "object", "properties": { "a": { "$ref": "#/nowhere" } } })),
            "Schema",
        ),
        (schema(deep), "nested deeper"),
        (long, "description"),
        (
            json!({ "description": "nameless", "inputSchema": { "type": "object" } }),
            "without a name",
        ),
        (tool(&"n".repeat(200)), "its name has 200 bytes"),
    ];
    for (lie, reason) in table {
        let (names, warnings) = offered(json!([lie, tool("fine")])).await;
        assert_eq!(names, ["s__fine"], "{reason}");
        assert!(warnings.len() == 1 && warnings[0].contains(reason), "{reason}: {warnings:?}");
    }
}

#[tokio::test]
async fn a_schema_that_contains_itself_is_taken_and_held_to() {
    let mut tree = tool("tree");
    tree["inputSchema"] = json!({ "type": "object", "properties": { "text": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#" } } } });
    let scene = Scene::new(LEGACY, json!([tree]), json!({})).await;
    assert_eq!(scene.call("s__tree").await.record.effect, Effect::Committed);
    scene.end().await;
}

#[tokio::test]
async fn a_server_gives_no_more_tools_than_are_taken() {
    let tools: Value = (0..200).map(|number| tool(&format!("t{number}"))).collect();
    let (names, warnings) = offered(tools).await;
    assert_eq!(names.len(), 128);
    assert!(warnings[0].contains("more than 128 tools"), "{warnings:?}");
}

#[tokio::test]
async fn all_servers_together_give_no_more_tools_than_are_taken() {
    let folder = ConfigFolder::new();
    let tools: Value = (0..128).map(|number| tool(&format!("t{number}"))).collect();
    let entry = Script::new(folder.notes(), LEGACY, &tools).entry();
    let config =
        folder.configured(&json!({ "a": entry, "b": entry, "c": entry, "d": entry, "e": entry }));
    let servers = McpServers::start(&config).await.unwrap();
    assert_eq!(servers.tools().len(), 512);
    assert_eq!(servers.warnings().len(), 128);
    servers.close().await;
}

#[tokio::test]
async fn names_that_collide_leave_out_both_tools_and_prevent_no_start() {
    let folder = ConfigFolder::new();
    let tools = json!([tool("create-issue"), tool("create_issue"), tool("echo")]);
    let entry = Script::new(folder.notes(), LEGACY, &tools).entry();
    let config = folder.configured(&json!({ "gh": entry }));
    let servers = McpServers::start(&config).await.unwrap();
    assert_eq!(servers.tools().len(), 1);
    assert_eq!(servers.warnings().len(), 2);
    assert_eq!(
        servers.warnings()[0],
        r#"MCP server "gh": the tool "create-issue" is left out: "create-issue" of the MCP server "gh" and "create_issue" of the MCP server "gh" would all be the tool gh__create_issue; keep one by "exclude""#
    );
    servers.close().await;
    let config =
        folder.configured(&json!({ "gh": with(entry, json!({ "exclude": ["create_issue"] })) }));
    let servers = McpServers::start(&config).await.unwrap();
    assert_eq!(servers.tools().len(), 2);
    servers.close().await;
}

#[tokio::test]
async fn a_tool_that_a_server_lists_twice_is_offered_once_and_runs() {
    let mut other = tool("other");
    other["description"] = json!("Does something else.");
    let tools = json!([tool("echo"), tool("echo"), tool("other"), other]);
    let scene = Scene::new(LEGACY, tools, json!({})).await;
    assert_eq!(scene.servers.tools().len(), 1);
    let warnings = scene.servers.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("different tools by this name"), "{warnings:?}");
    assert_eq!(scene.call("s__echo").await.record.effect, Effect::Committed);
    scene.end().await;
}
