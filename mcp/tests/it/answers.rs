//! What a server answers is read within bounds, and says nothing about other calls.

use madang::{Call, UserId, ledger::Effect, tool::ToolProgress};
use madang_test_support::mcp_server::{calls, heard, read, tool};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{LEGACY, NEWEST, PATIENCE, Scene, told, until};

fn tools(names: &[&str]) -> Value {
    names.iter().map(|name| tool(name)).collect()
}

#[tokio::test]
async fn a_call_goes_along_with_its_id_and_its_structured_result_comes_back() {
    for version in [LEGACY, NEWEST, "2025-06-18", "2025-03-26", "2024-11-05"] {
        let scene = Scene::new(version, tools(&["echo-It"]), json!({})).await;
        let report = scene.call("s__echo_it").await;
        let expected =
            json!({ "arguments": { "text": "hi" }, "call": report.record.id.to_string() });
        assert_eq!(told(&report), expected, "{version}");
        assert_eq!(report.record.effect, Effect::Committed);
        scene.end().await;
    }
}

#[tokio::test]
async fn what_a_server_refuses_or_fails_is_told_for_what_it_is() {
    let names = ["sorry", "refuse", "ask", "fail", "lie"];
    let scene = Scene::new(LEGACY, tools(&names), json!({})).await;
    let told = async |name: &str| {
        let report = scene.call(&format!("s__{name}")).await;
        (told(&report), report.record.effect)
    };
    let (reason, effect) = told("sorry").await;
    assert_eq!(
        reason,
        json!(["mcp_tool_error", r"the MCP server s reports an error: disk full\u{1b}[2J"])
    );
    assert_eq!(effect, Effect::None);
    let (reason, effect) = told("refuse").await;
    assert_eq!((&reason[0], effect), (&json!("mcp_tool_error"), Effect::None));
    let (reason, effect) = told("ask").await;
    assert_eq!((&reason[0], effect), (&json!("mcp_input_required"), Effect::None));
    let (reason, effect) = told("fail").await;
    assert_eq!(effect, Effect::Unknown);
    assert!(
        reason[1].as_str().unwrap().ends_with("the MCP server failed; it may have taken effect"),
        "{reason}"
    );
    let (_, effect) = told("lie").await;
    assert_eq!(effect, Effect::Unknown);
    scene.end().await;
}

#[tokio::test]
async fn noise_answers_to_other_ids_and_second_answers_change_nothing() {
    let scene = Scene::new(LEGACY, tools(&["others", "twice", "echo"]), json!({})).await;
    assert_eq!(told(&scene.call("s__others").await), json!("mine"));
    assert_eq!(told(&scene.call("s__twice").await), json!("first"));
    let report = scene.call("s__echo").await;
    assert_eq!(told(&report)["call"], json!(report.record.id.to_string()));
    scene.end().await;
}

#[tokio::test]
async fn reports_of_progress_reach_their_own_call_and_hide_nothing() {
    for version in [LEGACY, NEWEST] {
        let tools = json!([read("walk"), read("release")]);
        let scene = Scene::new(version, tools, json!({ "trust": "annotations" })).await;
        let walk = Call::new(UserId::new("kim").unwrap(), "s__walk", r#"{"text":"hi"}"#);
        let mut walking = scene.runtime.begin(walk).await.unwrap();
        let report = timeout(PATIENCE, walking.progress()).await.unwrap().unwrap();
        assert_eq!(
            report,
            ToolProgress::new(1.0).out_of(3.0).saying(r"a hill\u{1b}[2J"),
            "{version}"
        );
        assert_eq!(told(&scene.call("s__release").await), json!("released"));
        assert_eq!(timeout(PATIENCE, walking.progress()).await.unwrap(), None);
        scene.end().await;
    }
}

#[test]
fn a_message_of_100_mb_ends_the_connection_and_the_call_is_unknown() {
    // The peak is that of a whole process, and the tests beside this one have large messages too.
    let alone = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "answers::is_flooded", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&alone.stdout);
    let failed = String::from_utf8_lossy(&alone.stderr);
    assert!(alone.status.success() && said.contains("1 passed"), "{said}{failed}");
}

#[tokio::test]
#[ignore = "the test above starts it as a process of its own"]
async fn is_flooded() {
    let scene = Scene::new(LEGACY, tools(&["flood", "echo"]), json!({})).await;
    let before = peak_kib();
    let report = scene.call("s__flood").await;
    assert_eq!(report.record.effect, Effect::Unknown);
    let grown = peak_kib() - before;
    assert!(grown < 64 * 1024, "{grown} KiB");
    until("the server is back", async || {
        scene.call("s__echo").await.record.effect == Effect::Committed
    })
    .await;
    scene.end().await;
}

#[tokio::test]
async fn a_server_that_asks_without_reading_the_answers_is_given_up() {
    let scene = Scene::new(LEGACY, tools(&["pester"]), json!({})).await;
    let report = scene.call("s__pester").await;
    assert_eq!(report.record.effect, Effect::Unknown);
    scene.end().await;
}

/// The most memory that this process has held.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

#[tokio::test]
async fn we_declare_nothing_and_refuse_what_a_server_asks_for() {
    for version in [LEGACY, NEWEST] {
        let scene = Scene::new(version, tools(&["beg"]), json!({})).await;
        assert_eq!(told(&scene.call("s__beg").await), json!("begged"));
        let notes = scene.folder.notes();
        let refused = || heard(notes).iter().filter(|message| message["error"].is_object()).count();
        until("the refusals", async || refused() == 3).await;
        let greeting = heard(notes).into_iter().find(|message| message["method"] == "initialize");
        if let Some(greeting) = greeting {
            assert_eq!(greeting["params"]["capabilities"], json!({}));
        }
        scene.end().await;
    }
}

#[tokio::test]
async fn a_server_sees_of_our_environment_only_what_is_allowed() {
    let more = json!({});
    let scene = Scene::new(LEGACY, tools(&["environment"]), more).await;
    let names = told(&scene.call("s__environment").await)["names"].clone();
    let allowed = [
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
        "MADANG_FAKE_MCP",
    ];
    for name in names.as_array().unwrap() {
        assert!(allowed.contains(&name.as_str().unwrap()), "{name}");
    }
    // Cargo sets this for its tests, and no server needs it.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert_eq!(calls(scene.folder.notes(), "environment").len(), 1);
    scene.end().await;
}
