//! Tests the ends of the program: by the end of its input, a lost reader of its output, or a
//! signal.

use serde_json::json;

use super::{Home, RunningProgram, signal};

#[test]
fn a_reader_that_leaves_ends_the_program_quietly() {
    let home = Home::new();
    let turns = 2_000;
    let script: Vec<_> =
        (0..turns).map(|_| json!({ "text": "a long answer ".repeat(8) })).collect();
    let script = home.script(&script);
    let mut chat = RunningProgram::start(home.command(&[
        "chat",
        "--session",
        "one",
        "--script",
        script.to_str().unwrap(),
    ]));
    chat.feed("hello\n".repeat(turns).as_bytes());
    chat.until("a long answer");
    drop(chat.child.stdout.take());
    let ended = chat.ended();
    assert_eq!((ended.code, &*ended.err), (Some(0), ""));
    assert_eq!(
        home.run(&["ledger", "--session", "one"], "").code,
        Some(0),
        "the database is whole"
    );
}

#[cfg(unix)]
#[test]
fn a_signal_shuts_down_in_order_and_keeps_what_was_said() {
    let home = Home::new();
    let script = home.script(&[
        json!({ "tool_calls": [{ "name": "list_active_habits", "arguments": {} }] }),
        json!({ "text": "an answer that takes long", "delay_ms": 600_000 }),
    ]);
    let arguments = ["chat", "--json", "--session", "one", "--script", script.to_str().unwrap()];
    let mut chat = RunningProgram::start(home.command(&arguments));
    chat.write(b"hello\n");
    chat.until("tool_call_ended");
    signal("TERM", chat.child.id());
    let ended = chat.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("--session one"), "{ended:?}");
    assert_eq!(home.run(&["ledger", "--session", "one"], "").events().len(), 1);

    let script = [json!({ "text": "Here I am." }), json!({ "text": "And here." })];
    let again = home.chat(&script, &["--json", "--session", "one"], "again\n");
    let turn = ["model_message", "turn_ended"];
    assert_eq!(
        again.types(),
        [&["turn_resumed"], &turn[..], &["user_message"], &turn[..]].concat()
    );
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_signal_precedes_does_not_begin_and_leaves_the_database_in_order() {
    use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};

    let home = Home::new();
    home.call("list_active_habits", &json!({}));
    let habit = super::add_habit()["tool_calls"][0]["arguments"].to_string();
    let mut backup = SqliteConnectOptions::new().filename(home.database()).connect().await.unwrap();
    // The program catches signals before it takes its own lock, and waits behind this one.
    sqlx::query("BEGIN IMMEDIATE").execute(&mut backup).await.unwrap();
    let lock = home.path("data/madang/madang.db.lock");
    std::fs::remove_file(&lock).unwrap();
    let call =
        RunningProgram::start(home.command(&["call", "add_habit", &habit, "--confirm", "approve"]));
    while !lock.exists() {
        tokio::task::yield_now().await;
    }
    signal("TERM", call.child.id());
    sqlx::query("ROLLBACK").execute(&mut backup).await.unwrap();
    backup.close().await.unwrap();
    let ended = call.ended();
    assert_eq!((ended.code, &*ended.out), (Some(0), ""), "{ended:?}");
    assert!(ended.err.contains("nothing was run"), "{ended:?}");
    assert_eq!(home.run(&["ledger"], "").events().len(), 1);
    assert_eq!(home.habits(), 0);
}

#[test]
fn wrong_usage_ends_with_two_and_touches_nothing() {
    let home = Home::new();
    for arguments in [
        &[][..],
        &["sing"],
        &["chat", "--loud"],
        &["chat", "--script", "a", "--model", "b"],
        &["chat", "--confirm", "maybe"],
        &["chat", "--locale", "de"],
        &["chat", "--toolkit", "death"],
        &["chat", "--user", ""],
        &["chat", "--session", "a\nb"],
        &["call", "search_catalog"],
        &["call", "search_catalog", "{}", "--confirm", "ask"],
        &["tools", "--format", "xml"],
    ] {
        let ended = home.run(arguments, "");
        assert_eq!((ended.code, &*ended.out), (Some(2), ""), "{arguments:?}: {ended:?}");
        assert!(
            ended.err.contains("--help") || ended.err.contains("Usage"),
            "{arguments:?}: {ended:?}"
        );
    }
    assert!(!home.database().exists());
}

#[test]
fn causes_are_printed_with_verbose() {
    let home = Home::new();
    let options = ["chat", "--script", "nowhere.jsonl"];
    home.run(&options, "").failed_with(&["there is no script nowhere.jsonl"]);
    let ended = home.run(&[&options[..], &["--verbose"]].concat(), "");
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("because: "), "{ended:?}");
}
