//! Tests the program with its model in a process of its own, the default.

use std::{fs, thread, time::Duration};

use serde_json::Value;
use tokio::time::Instant;

use super::{
    Ended, Home, PATIENCE, RunningProgram,
    running::{children, state},
    signal,
};

const SEARCH: &str = "수면에 좋은 프로토콜 찾아줘\n";

fn until<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        thread::park_timeout(Duration::from_millis(1));
    }
}

/// Values that differ in each run.
const FRESH: [&str; 10] = [
    "turn",
    "at",
    "id",
    "call",
    "session",
    "digest",
    "cursor",
    "expires_at",
    "proposed_at",
    "ended_at",
];

/// Returns all texts and calls, without ids and times.
fn story(ended: &Ended) -> Vec<Value> {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let told = |mut event: Value| {
        event.as_object_mut().unwrap().retain(|field, _| !FRESH.contains(&&**field));
        event
    };
    ended.events().into_iter().map(told).collect()
}

#[test]
fn a_chat_is_the_same_with_the_model_in_a_process_of_its_own() {
    let chat = |options: &[&str]| {
        let arguments =
            [&["chat", "--json", "--locale", "ko", "--confirm", "deny"], options].concat();
        let input = format!("{SEARCH}'아침 햇빛 보기' 습관 추가해줘\n안녕\n");
        story(&Home::new().run(&arguments, input))
    };
    let here = chat(&["--engine", "process"]);
    assert!(here.iter().any(|event| event["type"] == "tool_call_ended"), "{here:?}");
    assert_eq!(chat(&["--engine", "child"]), here);
    assert_eq!(chat(&[]), here);
}

#[test]
fn the_child_is_told_how_the_model_is_to_be_run() {
    let home = Home::new();
    let arguments = ["chat", "--json", "--locale", "ko", "--flash-attention", "on"];
    let mut chat = RunningProgram::start(home.command(&arguments));
    chat.write(SEARCH.as_bytes());
    chat.until("turn_ended");
    let [child] = children(chat.child.id())[..] else { panic!("not one child") };
    let told = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap();
    let told: Vec<&str> = told.split_terminator('\0').skip(1).collect();
    assert_eq!(told, ["engine", "--flash-attention=on"]);
    assert_eq!(chat.ended().code, Some(0));
}

#[test]
fn the_room_of_a_chat_is_chosen_and_a_text_beyond_it_is_named_with_figures() {
    let said = format!("{}\n", "word ".repeat(1_600));
    for engine in ["process", "child"] {
        let chat = ["chat", "--json", "--locale", "en", "--engine", engine, "--context"];
        let short = Home::new().run(&[&chat[..], &["64"]].concat(), &said);
        assert_eq!(short.code, Some(0), "{short:?}");
        let events = short.events();
        let error = events.iter().find(|event| event["type"] == "error").unwrap();
        assert_eq!(error["error"]["prompt"]["message_bytes"], 8_000, "{error}");
        let text = error["text"].as_str().unwrap();
        assert!(text.contains("The message is too long for it"), "{text}");
        assert!(text.contains("message 8000,"), "{text}");
        let long = Home::new().run(&[&chat[..], &["1024"]].concat(), "hi\n");
        let is_too_long = |event: &Value| event["error"]["kind"] == "PromptTooLong";
        assert!(!long.events().iter().any(is_too_long), "{long:?}");
    }
}

#[test]
fn a_child_that_is_killed_in_a_turn_costs_nothing_but_time() {
    let home = Home::new();
    let arguments = ["chat", "--json", "--locale", "ko", "--session", "one"];
    let mut chat = RunningProgram::start(home.command(&arguments));
    chat.write(SEARCH.as_bytes());
    chat.until("turn_ended");
    let [child] = children(chat.child.id())[..] else { panic!("not one child") };
    // It dies before it can answer.
    signal("STOP", child);
    chat.write(SEARCH.as_bytes());
    chat.until("user_message");
    signal("KILL", child);
    let told = chat.until("turn_ended");
    assert!(told.contains("\"answered\""), "{told}");
    let next = until("another child is started", || {
        children(chat.child.id()).into_iter().find(|next| *next != child)
    });
    let ended = chat.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(state(next), None, "the child ends before the program");
}

#[test]
fn a_program_that_is_killed_leaves_no_child() {
    let home = Home::new();
    let mut chat = RunningProgram::start(home.command(&["chat", "--json", "--locale", "ko"]));
    chat.write(SEARCH.as_bytes());
    chat.until("turn_ended");
    let [child] = children(chat.child.id())[..] else { panic!("not one child") };
    signal("KILL", chat.child.id());
    chat.child.wait().unwrap();
    // The process that inherits it may reap it.
    until("the child ends", || state(child).is_none_or(|(now, _)| now == "Z").then_some(()));
}

#[test]
fn a_model_that_cannot_be_loaded_is_the_same_sentence_from_either_process() {
    let home = Home::new();
    let file = home.file("model.gguf", "no model");
    let chat = |engine: &str| {
        let arguments = ["chat", "--verbose", "--engine", engine, "--model"];
        let arguments = [&arguments[..], &[file.to_str().unwrap()]].concat();
        home.run(&arguments, "").err
    };
    assert!(chat("child").starts_with("madang: failed to load the model"), "{}", chat("child"));
    assert_eq!(chat("child"), chat("process"));
}
