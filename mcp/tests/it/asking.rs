//! Every call asks a person, unless the configuration lets the server's own word count.

use madang::{approval::Approver, ledger::Effect, tool::EffectPolicy};
use madang_test_support::mcp_server::{calls, read, tool};
use serde_json::{Value, json};

use crate::support::{LEGACY, Scene, told};

fn tools() -> Value {
    let mut additive = tool("add");
    additive["annotations"] = json!({ "destructiveHint": false, "idempotentHint": true });
    let mut both = read("both");
    both["annotations"]["destructiveHint"] = json!(true);
    json!([read("look"), additive, tool("plain"), both])
}

fn effects(scene: &Scene) -> Vec<(String, EffectPolicy, bool)> {
    let specs = scene.servers.tools();
    specs
        .iter()
        .map(|tool| tool.spec())
        .map(|spec| (spec.name.to_string(), spec.effect, spec.is_idempotent))
        .collect()
}

#[tokio::test]
async fn without_trust_what_a_server_calls_a_read_asks_and_is_not_sent_unasked() {
    let scene = Scene::new(LEGACY, tools(), json!({})).await;
    assert!(
        effects(&scene).iter().all(|(_, effect, is_idempotent)| *effect
            == EffectPolicy::Destructive
            && !is_idempotent)
    );
    let report = scene.call_with("s__look", Approver::None).await;
    assert_eq!(told(&report), json!("nobody could be asked to confirm"));
    assert_eq!(report.record.effect, Effect::None);
    assert_eq!(calls(scene.folder.notes(), "look").len(), 0);
    scene.end().await;
}

#[tokio::test]
async fn with_trust_a_read_runs_and_a_write_asks() {
    let scene = Scene::new(LEGACY, tools(), json!({ "trust": "annotations" })).await;
    assert_eq!(
        effects(&scene),
        [
            ("s__look".to_owned(), EffectPolicy::Read, false),
            ("s__add".to_owned(), EffectPolicy::Write, true),
            ("s__plain".to_owned(), EffectPolicy::Destructive, false),
            ("s__both".to_owned(), EffectPolicy::Read, false),
        ]
    );
    let report = scene.call_with("s__look", Approver::None).await;
    assert_eq!(told(&report)["arguments"], json!({ "text": "hi" }));
    let report = scene.call_with("s__plain", Approver::None).await;
    assert_eq!(told(&report), json!("nobody could be asked to confirm"));
    assert_eq!(calls(scene.folder.notes(), "plain").len(), 0);
    let report = scene.call("s__plain").await;
    assert_eq!(report.record.effect, Effect::Committed);
    scene.end().await;
}

#[tokio::test]
async fn the_question_names_tool_and_server_and_the_description_its_source() {
    let mut hidden = tool("hide");
    hidden["description"] = json!("Reads.\u{e0041}\u{202e}");
    let scene = Scene::new(LEGACY, json!([hidden]), json!({})).await;
    let tools = scene.servers.tools();
    let consequence = tools[0].consequence(&json!({}), madang::tool::Locale::default());
    assert!(consequence.unwrap().contains("'hide'"));
    assert_eq!(&*tools[0].spec().description, r"(MCP server s) Reads.\u{e0041}\u{202e}");
    scene.end().await;
}
