//! Tests chats in a pipe: events, confirmations, sessions, languages.

use serde_json::{Value, json};

use super::{Home, add_habit, is_obeyed};

fn text(text: &str) -> Value {
    json!({ "text": text })
}

fn search(keyword: &str) -> Value {
    json!({ "tool_calls": [{ "name": "search_catalog", "arguments": { "keyword": keyword } }] })
}

#[test]
fn a_turn_is_told_in_the_vocabulary_of_the_library() {
    let home = Home::new();
    let script = [search("sleep"), add_habit(), text("Added.")];
    let ended =
        home.chat(&script, &["--json", "--confirm", "approve"], "add something for sleep\n");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        ended.types(),
        [
            "user_message",
            "tool_call_proposed",
            "tool_call_ended",
            "tool_call_proposed",
            "approval_requested",
            "approval_ended",
            "tool_call_ended",
            "model_message",
            "turn_ended"
        ]
    );
    for (place, event) in (1..).zip(ended.events()) {
        assert_eq!(event["seq"], json!(place));
        let event: madang::event::SessionEvent = serde_json::from_value(event).unwrap();
        assert!(event.at.millis() > 0);
    }
    let [search, add] = &ended.of_type("tool_call_ended")[..] else { panic!("{ended:?}") };
    assert_eq!(search["arguments"], json!({ "keyword": "sleep" }));
    assert_eq!((&add["name"], &add["outcome"]["status"]), (&json!("add_habit"), &json!("ok")));
    assert_eq!((&add["effect"], &add["result"]), (&json!("committed"), &json!("shown")));
    let asked = &ended.of_type("approval_requested")[0];
    assert_eq!(asked["arguments"], add["arguments"]);
}

#[test]
fn an_approved_call_leaves_a_row_and_a_denied_one_none() {
    for (answer, outcome, habits) in [
        ("approve", json!("ok"), 1),
        ("deny", json!({ "status": "cancelled", "reason": "denied" }), 0),
    ] {
        let home = Home::new();
        let ended =
            home.chat(&[add_habit(), text("Well.")], &["--json", "--confirm", answer], "add it\n");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let told = &ended.of_type("tool_call_ended")[0]["outcome"];
        assert!(*told == outcome || told["status"] == outcome, "{told}");
        assert_eq!(home.habits(), habits, "after {answer}");
    }
}

#[test]
fn without_a_terminal_and_without_confirm_no_person_can_be_asked() {
    let home = Home::new();
    for options in [&["--json"][..], &["--json", "--confirm", "ask"]] {
        let ended = home.chat(&[add_habit(), text("Not done.")], options, "add it\n");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let told = &ended.of_type("tool_call_ended")[0]["outcome"];
        assert_eq!(*told, json!({ "status": "cancelled", "reason": "unreachable" }));
        assert_eq!(ended.of_type("approval_requested"), Vec::<Value>::new());
        // A user that asked for questions learns why none can be asked.
        assert_eq!(ended.err.contains("--confirm approve"), options.len() > 1, "{ended:?}");
    }
    assert_eq!(home.habits(), 0);
}

#[test]
fn plain_output_shows_what_was_said_and_what_was_done() {
    let home = Home::new();
    let missing =
        json!({ "tool_calls": [{ "name": "get_streak", "arguments": { "habit_id": 77 } }] });
    let script = [
        json!({ "text": "Let me see." }),
        missing,
        text("There is none.\u{1b}[2J\n· add_habit -> done"),
        json!({ "error": "Odd" }),
    ];
    let ended = home.chat(&script, &["--locale", "en"], "hello\nstreak of 77\nonce more\n");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<&str> = ended.out.lines().collect();
    let [hello, call, answer, forged, error] = lines[..] else { panic!("{ended:?}") };
    assert_eq!((hello, answer), ("Let me see.", r"There is none.\u{1b}[2J"));
    assert_eq!(forged, "  · add_habit -> done");
    assert_eq!(call, "· ❌ Error: There is no habit number 77. · get_streak");
    assert_eq!(error, "✗ the model failed: Odd");
}

#[test]
fn no_text_of_a_model_a_tool_or_a_person_reaches_the_terminal_as_it_obeys_it() {
    let hostile = "a\u{1b}[2J\u{9b}2J\u{202e}b";
    let calls = json!({ "tool_calls": [
        { "name": hostile, "arguments": { "a": hostile } },
        { "name": "get_streak", "arguments": { hostile: hostile } },
        { "name": "search_catalog", "arguments": { "keyword": hostile } },
    ] });
    let script = [
        json!({ "text": hostile, "tool_calls": calls["tool_calls"] }),
        text(&format!("{hostile}\n{hostile}")),
        json!({ "error": hostile }),
    ];
    for options in [&[][..], &["--json"]] {
        let said = format!("{hostile}\nonce more\n");
        let ended = Home::new().chat(&script, options, said);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        for printed in [&ended.out, &ended.err] {
            assert!(!printed.contains(is_obeyed), "{printed:?}");
        }
        assert!(ended.out.matches("202e").count() >= 6, "it is shown: {}", ended.out);
        if let [_] = options {
            assert_eq!(ended.of_type("user_message")[0]["text"], hostile, "it is the same text");
            assert_eq!(ended.of_type("model_message")[0]["text"], hostile);
            assert_eq!(ended.of_type("tool_call_ended")[0]["name"], hostile);
        }
    }
}

#[test]
fn every_line_is_a_turn_and_blank_ones_are_nothing() {
    let home = Home::new();
    let ended = home.chat(&[text("a"), text("b")], &["--json"], "one\n\n   \r\ntwo");
    let texts: Vec<Value> =
        ended.of_type("user_message").iter().map(|event| event["text"].clone()).collect();
    assert_eq!(texts, ["one", "two"]);
    assert_eq!(ended.of_type("turn_ended").len(), 2);
}

#[test]
fn a_session_can_be_reopened_by_the_id_that_was_printed() {
    let home = Home::new();
    let first = home.chat(&[search("sleep"), text("Found.")], &[], "sleep\n");
    let id = first.err.split("--session ").nth(1).unwrap().trim_end_matches([')', '\n']).to_owned();
    let second = home.chat(&[search("light"), text("Found.")], &["--session", &id], "light\n");
    assert_eq!((second.code, &*second.err), (Some(0), ""), "a known session needs no introduction");
    let ledger = home.run(&["ledger", "--session", &id], "");
    let keywords: Vec<Value> =
        ledger.events().iter().map(|row| row["arguments"]["keyword"].clone()).collect();
    assert_eq!(keywords, ["sleep", "light"]);
}

#[test]
fn another_users_session_stays_closed() {
    let home = Home::new();
    home.chat(&[text("Hello.")], &["--session", "one", "--user", "kim"], "hello\n");
    let ended = home.chat(&[text("Hello.")], &["--session", "one", "--user", "lee"], "hello\n");
    ended.failed_with(&["session one belongs to another user", "--user"]);
}

#[test]
fn the_language_is_the_environments_unless_it_is_said() {
    let home = Home::new();
    let failing = home.script(&[json!({ "error": "Odd" })]);
    let error = |lang: &str, options: &[&str]| {
        let mut command = home.command(&["chat", "--json", "--script", failing.to_str().unwrap()]);
        command.args(options).env("LANG", lang);
        let mut running = super::RunningProgram::start(command);
        running.feed(b"hello\n");
        running.ended().of_type("error")[0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(error("ko_KR.UTF-8", &[]), "LLM 응답 실패: Odd");
    assert_eq!(error("C", &[]), "the model failed: Odd");
    assert_eq!(error("C", &["--locale", "ko"]), "LLM 응답 실패: Odd");
}

#[test]
fn the_database_is_found_among_the_users_data() {
    let home = Home::new();
    assert!(!home.database().exists());
    home.chat(&[text("Hello.")], &[], "hello\n");
    assert!(home.database().exists());
    let elsewhere = home.path("other.db");
    home.chat(&[text("Hello.")], &["--db", elsewhere.to_str().unwrap()], "hello\n");
    assert!(elsewhere.exists());
}
