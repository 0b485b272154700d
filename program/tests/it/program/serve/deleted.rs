//! Tests what is left of a chat that its user deletes while the program serves.

use serde_json::{Value, json};

use super::{Home, RunningServer};
use crate::program::{forget::lies_in, signal};

/// A text that stands nowhere else.
const SECRET: &str = "zebrawood-4712";

fn verified(home: &Home, options: &[&str]) -> Vec<Value> {
    let ended = home.run(&[&["ledger", "--verify"], options].concat(), "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.events()
}

#[test]
fn a_deleted_chat_leaves_no_text_and_a_ledger_that_holds() {
    let home = Home::new();
    let script = [
        json!({ "tool_calls": [{ "name": "list_active_habits", "arguments": {} }] }),
        json!({ "text": format!("You have none, {SECRET}.") }),
    ];
    let server = RunningServer::start(&home, &script);
    assert_eq!(server.begin("diary", &format!("which habits has {SECRET}?")).status, 202);
    server.until_said("diary", &format!("none, {SECRET}."));
    let head = verified(&home, &["--session", "diary"])[0]["head"].clone();
    let deleted = server.ask(("DELETE", "/v1/sessions/diary"), server.token(), "");
    assert_eq!(deleted.status, 204, "{deleted:?}");
    assert_eq!(server.get("/v1/sessions/diary").status, 404);

    let [erased] = &verified(&home, &[])[..] else { panic!("one line is left") };
    assert_eq!(
        (&erased["calls"], &erased["messages"], &erased["head"]),
        (&json!(1), &json!(2), &head)
    );
    let with_head = ["--session", "diary", "--head", head.as_str().unwrap()];
    assert_eq!(&verified(&home, &with_head)[0], erased, "it was erased, not removed");
    signal("TERM", server.id());
    assert_eq!(server.program.ended().code, Some(0));
    // The last connection that closes moves the log into the file.
    assert!(!lies_in(&home.path("data"), SECRET));
}
