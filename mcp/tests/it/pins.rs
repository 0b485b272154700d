//! What a tool looked like when it was first seen stays pinned until a person trusts what it looks
//! like now.

use madang_mcp::{McpOffer, McpReview, McpServers, PinnedChange};
use madang_test_support::mcp_server::{Script, tool};
use serde_json::{Value, json};

use crate::support::{ConfigFolder, LEGACY};

async fn offered(folder: &ConfigFolder, tools: Value) -> (Vec<String>, Vec<String>) {
    let config =
        folder.configured(&json!({ "s": Script::new(folder.notes(), LEGACY, &tools).entry() }));
    let servers = McpServers::start(&config).await.unwrap();
    let names = servers.tools().iter().map(|tool| tool.spec().name.to_string()).collect();
    let warnings = servers.warnings().to_vec();
    servers.close().await;
    (names, warnings)
}

fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

/// A look at the server when it has these tools.
async fn of(folder: &ConfigFolder, tools: &Value) -> McpReview {
    let entry = Script::new(folder.notes(), LEGACY, tools).entry();
    McpReview::of(&folder.configured(&json!({ "s": entry })), "s").await.unwrap()
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
    let review = McpReview::of(&config, "s").await.unwrap();
    let changes =
        [("echo".to_owned(), PinnedChange::Changed), ("other".to_owned(), PinnedChange::Same)];
    assert_eq!(review.changes().unwrap(), changes);
    assert_eq!(review.trust(review.fingerprint()).unwrap(), changes);
    assert_eq!(offered(&folder, tools).await.0.len(), 2);
    let error = McpReview::of(&config, "other").await.unwrap_err().to_string();
    assert!(error.ends_with(r#"mcp.json has no server "other""#), "{error}");
}

#[tokio::test]
async fn a_new_tool_of_a_known_server_is_left_out_until_it_is_trusted() {
    let folder = ConfigFolder::new();
    let lock = folder.notes().join("madang.mcp.lock");
    assert_eq!(offered(&folder, json!([tool("echo")])).await.0, ["s__echo"]);
    let tools = json!([tool("echo"), tool("late")]);
    for _ in 0..2 {
        let (names, warnings) = offered(&folder, tools.clone()).await;
        assert_eq!(names, ["s__echo"]);
        let [warning] = &*warnings else { panic!("{warnings:?}") };
        let path = folder.file();
        let order = format!("`madang mcp trust s --mcp {}`", path.display());
        assert!(warning.contains(r#"the tool "late" is left out"#), "{warning}");
        assert!(warning.contains("was not there") && warning.contains(&order), "{warning}");
    }
    assert!(!std::fs::read_to_string(&lock).unwrap().contains("late"));
    let review = of(&folder, &tools).await;
    review.trust(review.fingerprint()).unwrap();
    assert_eq!(offered(&folder, tools).await, (names(["s__echo", "s__late"]), Vec::new()));
}

#[tokio::test]
async fn a_server_that_had_no_tool_at_first_offers_none_later() {
    let folder = ConfigFolder::new();
    assert_eq!(offered(&folder, json!([])).await, (Vec::new(), Vec::new()));
    assert_eq!(offered(&folder, json!([tool("late")])).await.0, names([]));
}

#[tokio::test]
async fn what_was_looked_at_is_trusted_and_nothing_else() {
    let folder = ConfigFolder::new();
    offered(&folder, json!([tool("echo")])).await;
    let lock = folder.notes().join("madang.mcp.lock");
    let first = std::fs::read_to_string(&lock).unwrap();
    let taking = |words: &str| {
        let mut echo = tool("echo");
        echo["inputSchema"]["properties"]["text"]["description"] = json!(words);
        json!([echo])
    };
    let shown = of(&folder, &taking("What to say.")).await;
    let said_later = of(&folder, &taking("The private key.")).await;
    assert_ne!(shown.fingerprint(), said_later.fingerprint(), "it covers the schema");
    let error = said_later.trust(shown.fingerprint()).unwrap_err().to_string();
    assert!(error.starts_with("nothing was pinned: ") && error.contains("mcp list"), "{error}");
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), first);
    shown.trust(shown.fingerprint()).unwrap();
    assert_eq!(offered(&folder, taking("The private key.")).await.0, names([]));
    assert_eq!(offered(&folder, taking("What to say.")).await.0, names(["s__echo"]));
}

#[tokio::test]
async fn a_look_gives_the_same_fingerprint_shows_what_is_left_out_and_pins_nothing() {
    let folder = ConfigFolder::new();
    let tools = json!([tool("echo"), tool("other"), { "name": "odd" }]);
    let print = of(&folder, &tools).await.fingerprint().to_owned();
    let mut turned = tools.clone();
    turned.as_array_mut().unwrap().reverse();
    let config =
        folder.configured(&json!({ "s": Script::new(folder.notes(), LEGACY, &turned).entry() }));
    let look = async || McpServers::look(&config).await.unwrap().remove(0);
    assert_eq!(look().await.fingerprint, Some(print));
    assert!(!folder.notes().join("madang.mcp.lock").exists());
    let mut before = tool("other");
    before["description"] = json!("Did another thing.");
    offered(&folder, json!([tool("echo"), before])).await;
    let config =
        folder.configured(&json!({ "s": Script::new(folder.notes(), LEGACY, &tools).entry() }));
    let report = McpServers::look(&config).await.unwrap().remove(0);
    let [echo, other, odd] = &*report.tools else { panic!("{report:?}") };
    assert!(matches!(echo.offer, McpOffer::Offered(_)));
    let McpOffer::Withheld { spec, .. } = &other.offer else { panic!("{other:?}") };
    assert_eq!(&*spec.description, "(MCP server s) Does other.");
    assert!(matches!(&odd.offer, McpOffer::Refused { why } if why.contains("schema")), "{odd:?}");
}

#[tokio::test]
async fn nothing_in_a_schema_is_hidden_from_the_model_or_a_person() {
    let folder = ConfigFolder::new();
    let mut echo = tool("echo");
    echo["inputSchema"]["properties"]["text"]["description"] = json!("All\u{e0041}\u{202e} of it.");
    let review = of(&folder, &json!([echo])).await;
    let McpOffer::Offered(spec) = &review.report().tools[0].offer else { panic!("offered") };
    let words = &spec.parameters["properties"]["text"]["description"];
    assert_eq!(words, r"All\u{e0041}\u{202e} of it.");
}

#[tokio::test]
async fn a_lock_that_cannot_be_read_refuses_the_start() {
    let folder = ConfigFolder::new();
    std::fs::write(folder.notes().join("madang.mcp.lock"), "{").unwrap();
    let config = folder.configured(&json!({}));
    let error = McpServers::start(&config).await.unwrap_err().to_string();
    assert!(error.starts_with("failed to read ") && error.contains("madang.mcp.lock"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_lock_is_its_owners_alone_and_nothing_is_read_or_written_through_a_link() {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
    };
    let folder = ConfigFolder::new();
    let lock = folder.notes().join("madang.mcp.lock");
    let other = folder.notes().join("other");
    fs::write(&other, "of another").unwrap();
    // The name under which the file is written before it takes the place of the old one can be
    // guessed.
    symlink(&other, lock.with_extension(format!("lock.{}", std::process::id()))).unwrap();
    offered(&folder, json!([tool("echo")])).await;
    assert_eq!(fs::read_to_string(&other).unwrap(), "of another");
    let found = fs::symlink_metadata(&lock).unwrap();
    assert_eq!((found.is_file(), found.permissions().mode() & 0o777), (true, 0o600));

    let elsewhere = folder.notes().join("elsewhere");
    fs::rename(&lock, &elsewhere).unwrap();
    symlink(&elsewhere, &lock).unwrap();
    let refused = McpServers::start(&folder.configured(&json!({}))).await.unwrap_err();
    let why = std::error::Error::source(&refused).unwrap().to_string();
    assert!(refused.to_string().starts_with("failed to read ") && why == "it is a link", "{why}");
}
