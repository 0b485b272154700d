//! Tests `tools`, `call` and `ledger`.

use serde_json::{Value, json};

use super::{Home, RunningProgram, add_habit, is_obeyed, verify::without_triggers};

#[test]
fn tools_are_printed_in_the_form_that_an_api_asks_for() {
    let home = Home::new();
    let tools = |options: &[&str]| -> Vec<Value> {
        let ended = home.run(&[&["tools"], options].concat(), "");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        serde_json::from_str(&ended.out).unwrap()
    };
    let plain = tools(&[]);
    assert_eq!(plain, tools(&["--format", "plain", "--toolkit", "life"]));
    let names: Vec<&str> = plain.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "search_catalog",
            "query_protocol",
            "list_active_habits",
            "get_habit",
            "get_streak",
            "list_tracker_entries",
            "add_habit",
            "log_tracker_entry",
            "end_habit",
            "correct_tracker_entry"
        ]
    );
    for ((plain, openai), anthropic) in
        plain.iter().zip(tools(&["--format", "openai"])).zip(tools(&["--format", "anthropic"]))
    {
        assert_eq!(openai, json!({ "type": "function", "function": plain }));
        assert_eq!(anthropic["input_schema"], plain["parameters"]);
        assert_eq!(anthropic["name"], plain["name"]);
    }
    assert!(!home.database().exists(), "printing tools needs no database");
}

#[test]
fn what_came_from_elsewhere_is_printed_without_letters_that_a_terminal_obeys() {
    let home = Home::new();
    let hostile = "a\u{9b}2J\u{202e}b";
    let mut command = home.command(&["call", hostile, "{}", "--locale", "en"]);
    command.env("RUST_LOG", "debug");
    let call = RunningProgram::start(command).ended();
    let ledger = home.run(&["ledger"], "");
    assert!(!call.err.contains(is_obeyed) && call.err.contains("202e"), "{:?}", call.err);
    for printed in [&call.out, &ledger.out] {
        assert!(!printed.contains(is_obeyed), "{printed:?}");
        assert!(printed.contains(r"a\u009b2J\u202eb"), "{printed:?}");
    }
    let row: Value = serde_json::from_str(&ledger.out).unwrap();
    assert_eq!(row["name"], hostile, "it is the same text");
}

#[test]
fn a_call_prints_the_envelope_whatever_its_outcome() {
    let home = Home::new();
    let called = |arguments: &[&str], input: &str| -> Value {
        let ended = home.run(&[&["call"], arguments].concat(), input);
        assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{ended:?}");
        serde_json::from_str(&ended.out).unwrap()
    };
    let found = called(&["search_catalog", r#"{"category":"sleep","limit":1}"#], "");
    assert_eq!(found["data"]["items"].as_array().unwrap().len(), 1);
    assert_eq!(called(&["search_catalog", "-"], r#"{"category":"sleep","limit":1}"#), found);
    assert_eq!(called(&["get_streak", r#"{"habit_id":77}"#], "")["code"], "not_found");
    let unknown = called(&["fly", "{}", "--locale", "ko"], "");
    assert_eq!(
        unknown,
        json!({ "status": "error", "code": "unknown_tool", "reason": "알 수 없는 도구: fly" })
    );

    let habit = add_habit()["tool_calls"][0]["arguments"].to_string();
    let add = |options: &[&str]| {
        called(&[&["add_habit", &*habit], options].concat(), "")["status"].clone()
    };
    assert_eq!(add(&[]), "cancelled");
    assert_eq!(add(&["--confirm", "deny"]), "cancelled");
    assert_eq!(home.habits(), 0);
    assert_eq!(add(&["--confirm", "approve"]), "ok");
    assert_eq!(home.habits(), 1);
    assert_eq!(called(&["list_active_habits", "{}", "--user", "lee"], "")["data"]["count"], 0);
}

/// Without their triggers the tables take no step of a call.
#[tokio::test]
async fn a_call_that_the_ledger_could_not_take_is_told_as_a_failure_of_the_program() {
    let home = Home::new();
    home.call("list_active_habits", &json!({}));
    without_triggers(&home.database()).await;
    let habit = add_habit()["tool_calls"][0]["arguments"].to_string();
    for arguments in [
        &["list_active_habits", "{}"][..],
        &["add_habit", &habit, "--confirm", "approve"],
        &["fly", "{}"],
    ] {
        let ended = home.run(&[&["call"], arguments].concat(), "");
        ended.complained_with(&["the ledger does not have what became of the call"]);
        let envelope: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!((&envelope["status"], &envelope["code"]), (&json!("error"), &json!("store")));
    }
    assert_eq!(home.run(&["ledger"], "").events().len(), 1, "what was there before");
}

#[test]
fn the_ledger_has_every_call_in_order() {
    let home = Home::new();
    let script = [
        json!({ "tool_calls": [
        { "name": "fly", "arguments": "{not json" }, { "name": "list_active_habits", "arguments": {} },
    ] }),
        json!({ "text": "Well." }),
    ];
    home.chat(&script, &["--session", "one"], "fly\n");
    home.call("search_catalog", &json!({ "keyword": "light" }));
    let rows = home.run(&["ledger"], "").events();
    let names: Vec<&Value> = rows.iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["fly", "list_active_habits", "search_catalog"]);
    assert_eq!(
        (&rows[0]["session"], &rows[0]["arguments"], &rows[0]["outcome"]["code"]),
        (&json!("one"), &json!("{not json"), &json!("unknown_tool"))
    );
    assert_eq!(home.run(&["ledger", "--session", "one"], "").events(), rows[..2]);
}

#[test]
fn a_call_that_reads_runs_while_a_chat_holds_the_database_and_leaves_nothing_there() {
    let home = Home::new();
    let habit = add_habit()["tool_calls"][0]["arguments"].to_string();
    home.run(&["call", "add_habit", &habit, "--confirm", "approve"], "");
    let script = home.script(&[json!({ "text": "Hello." })]);
    let mut chat = RunningProgram::start(home.command(&[
        "chat",
        "--json",
        "--script",
        script.to_str().unwrap(),
    ]));
    chat.write(b"hi\n");
    chat.until("turn_ended");

    let read = home.run(&["call", "list_active_habits", "{}", "--session", "beside"], "");
    assert_eq!(read.code, Some(0), "{read:?}");
    let found: Value = serde_json::from_str(&read.out).unwrap();
    assert_eq!(found["data"]["count"], 1);
    assert!(read.err.contains("the ledger will not have it"), "{read:?}");
    let unknown = home.run(&["call", "fly", "{}"], "");
    unknown.failed_with(&["in use by another process"]);

    assert_eq!(chat.ended().code, Some(0));
    let rows = home.run(&["ledger"], "").events();
    assert_eq!(rows.len(), 1, "{rows:?}");
}

#[test]
fn a_call_stands_in_the_chat_that_is_named() {
    let home = Home::new();
    home.chat(&[json!({ "text": "Hello." })], &["--session", "one"], "hi\n");
    let called = home.run(&["call", "list_active_habits", "{}", "--session", "one"], "");
    assert_eq!((called.code, &*called.err), (Some(0), ""), "{called:?}");
    let rows = home.run(&["ledger", "--session", "one"], "").events();
    assert_eq!((rows.len(), &rows[0]["seq"]), (1, &json!(3)), "{rows:?}");
    let again = home.chat(&[json!({ "text": "Well." })], &["--session", "one", "--json"], "and?\n");
    assert_eq!(again.of_type("turn_ended").len(), 1, "{again:?}");
    let other = ["call", "list_active_habits", "{}", "--session", "one", "--user", "lee"];
    home.run(&other, "").failed_with(&["session one belongs to another user"]);
}

#[test]
fn the_ledger_can_be_read_while_a_chat_holds_the_database() {
    let home = Home::new();
    let script = home.script(&[
        json!({ "tool_calls": [{ "name": "list_active_habits", "arguments": {} }] }),
        json!({ "text": "None." }),
    ]);
    let mut chat = RunningProgram::start(home.command(&[
        "chat",
        "--json",
        "--script",
        script.to_str().unwrap(),
    ]));
    chat.write(b"list\n");
    chat.until("turn_ended");

    let rows = home.run(&["ledger"], "").events();
    assert_eq!(rows.len(), 1);
    let habit = add_habit()["tool_calls"][0]["arguments"].to_string();
    let second = home.run(&["call", "add_habit", &habit, "--confirm", "approve"], "");
    second.failed_with(&["in use by another process"]);

    assert_eq!(chat.ended().code, Some(0));
    assert_eq!(home.habits(), 0, "the lock goes with its process");
}

/// Kiribati is a day ahead of Midway at any moment.
#[test]
fn the_day_is_that_of_the_time_zone_that_is_named() {
    let home = Home::new();
    let habit = add_habit()["tool_calls"][0]["arguments"].to_string();
    let added = home.run(&["call", "add_habit", &habit, "--confirm", "approve"], "");
    assert_eq!(added.code, Some(0), "{added:?}");
    let day = |zone: &str| -> Value {
        let arguments = r#"{"habit_id":1,"value":"blank"}"#;
        let ended = home.run(&["call", "log_tracker_entry", arguments, "--time-zone", zone], "");
        serde_json::from_str::<Value>(&ended.out).unwrap()["data"]["date"].clone()
    };
    let ahead = day("Pacific/Kiritimati");
    let behind = day("Pacific/Midway");
    assert!(ahead.as_str() > behind.as_str() && behind.is_string(), "{ahead} and {behind}");
    let script = [
        json!({ "tool_calls": [{ "name": "log_tracker_entry", "arguments": { "habit_id": 1, "value": "blank" } }] }),
        json!({ "text": "Well." }),
    ];
    let options = ["--json", "--time-zone", "Pacific/Kiritimati"];
    let chat = home.chat(&script, &options, "log it\n");
    assert_eq!(chat.of_type("tool_call_ended")[0]["outcome"]["data"]["date"], ahead);
    let unknown = home.run(&["call", "ping", "{}", "--time-zone", "Mars/Olympus"], "");
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}
