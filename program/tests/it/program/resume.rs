//! Tests that the program is ended in mid-turn, in order or by `kill -9`, and goes on with the same
//! session.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{
    Home, RunningProgram, add_habit, signal,
    terminal::{PROMPT, start},
};

const OPTIONS: &str = "--locale en --session one";

/// Far less than the life of an open question, and enough for a busy machine.
const SHORT: Duration = Duration::from_secs(30);

fn text(text: &str) -> Value {
    json!({ "text": text })
}

/// Ends a program with an open question by this signal, and requires this exit code.
fn ended_at_a_question(home: &Home, name: &str, code: i32) {
    let (mut chat, process) = start(home, &[add_habit()], OPTIONS);
    chat.until_shown(PROMPT);
    chat.write(b"add it\r");
    chat.until_shown("[y/n]");
    let begin = SystemTime::now();
    signal(name, process);
    assert_eq!(chat.ended().code, Some(code));
    assert!(begin.elapsed().unwrap() < SHORT, "it does not wait for the person");
    assert_eq!(home.habits(), 0);
    let rows = home.run(&["ledger", "--session", "one"], "").events();
    assert_eq!((rows.len(), &rows[0]["state"]), (1, &json!("awaiting")), "no person answered");
}

fn one_habit_by_one_call(home: &Home) {
    assert_eq!(home.habits(), 1);
    let rows = home.run(&["ledger", "--session", "one"], "").events();
    assert_eq!((rows.len(), &rows[0]["effect"]), (1, &json!("committed")));
}

#[test]
fn a_question_outlives_the_program_and_is_answered_by_a_key_in_the_next() {
    for (name, code) in [("TERM", 0), ("HUP", 0), ("KILL", 128 + 9)] {
        let home = Home::new();
        ended_at_a_question(&home, name, code);
        let (mut chat, _) = start(&home, &[text("Added.")], OPTIONS);
        let shown = chat.until_shown("[y/n]");
        assert!(shown.contains("Goes on where it was cut off."), "{shown}");
        assert!(shown.contains("Morning sunlight"), "{shown}");
        chat.write(b"y");
        chat.until_shown("Added.");
        chat.until_shown(PROMPT);
        chat.write(&[4]);
        assert_eq!(chat.ended().code, Some(0));
        one_habit_by_one_call(&home);
    }
}

#[test]
fn a_question_outlives_any_number_of_ends_until_a_person_answers() {
    let home = Home::new();
    ended_at_a_question(&home, "KILL", 128 + 9);
    // Without a person the question stays open, and the program tells how to answer it.
    let script = home.script(&[text("Added.")]);
    let arguments = ["chat", "--json", "--session", "one", "--script", script.to_str().unwrap()];
    let mut unanswered = RunningProgram::start(home.command(&arguments));
    unanswered.until("approval_requested");
    signal("TERM", unanswered.child.id());
    let ended = unanswered.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("--confirm approve"), "{ended:?}");
    assert!(ended.err.contains("--session one"), "{ended:?}");

    let options = ["--json", "--session", "one", "--confirm", "approve"];
    let ended = home.chat(&[text("Added."), text("More.")], &options, "more\n");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        ended.types(),
        [
            "turn_resumed",
            "tool_call_proposed",
            "approval_requested",
            "approval_ended",
            "tool_call_ended",
            "model_message",
            "turn_ended",
            "user_message",
            "model_message",
            "turn_ended"
        ]
    );
    one_habit_by_one_call(&home);
}

#[test]
fn killed_while_the_model_answers_the_program_asks_it_again_and_runs_no_tool_twice() {
    let home = Home::new();
    let script = home.script(&[
        add_habit(),
        json!({ "text": "an answer that takes long", "delay_ms": 600_000 }),
    ]);
    let arguments = [
        "chat",
        "--json",
        "--session",
        "one",
        "--confirm",
        "approve",
        "--script",
        script.to_str().unwrap(),
    ];
    let mut chat = RunningProgram::start(home.command(&arguments));
    chat.write(b"add it\n");
    chat.until("tool_call_ended");
    signal("KILL", chat.child.id());
    assert_eq!(chat.ended().code, None);
    let ended = home.chat(&[text("Added.")], &["--json", "--session", "one"], "");
    assert_eq!(ended.types(), ["turn_resumed", "model_message", "turn_ended"]);
    one_habit_by_one_call(&home);
}
