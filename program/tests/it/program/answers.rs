//! Tests the answers beyond yes and no, typed in a terminal.

use serde_json::{Value, json};

use super::{Home, RunningProgram, add_habit, terminal::chat};

/// Asks for the habit and waits for the question.
fn asked(chat: &mut RunningProgram) -> String {
    chat.write(b"add it\r");
    chat.until_shown("[y/n]")
}

fn leave(home: &Home, mut chat: RunningProgram) -> Vec<Value> {
    chat.until_shown("> ");
    chat.write(&[4]);
    assert_eq!(chat.ended().code, Some(0));
    home.run(&["ledger", "--session", "one"], "").events()
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

#[test]
fn always_is_said_once_and_taken_back_by_a_command() {
    let home = Home::new();
    let script =
        [add_habit(), text("First."), add_habit(), text("Second."), add_habit(), text("Third.")];
    let mut chat = chat(&home, &script, "--locale en --session one");
    asked(&mut chat);
    chat.write(b"a");
    chat.until_shown("Enter confirms");
    chat.write(b"\r");
    chat.until_shown("yes, always in this chat");
    chat.until_shown("First.");
    chat.until_shown("> ");
    chat.write(b"once more\r");
    chat.until_shown("(always allowed)");
    chat.until_shown("Second.");
    chat.until_shown("> ");
    chat.write(b"/approvals\r");
    chat.until_shown("Run without a question: add_habit.");
    chat.until_shown("> ");
    chat.write(b"/revoke add_habit\r");
    chat.until_shown("You are asked again");
    chat.until_shown("> ");
    asked(&mut chat);
    chat.write("ㅜ".as_bytes());
    chat.until_shown("Third.");
    let ledger = leave(&home, chat);
    let kinds: Vec<&Value> = ledger.iter().map(|row| &row["approval"]["kind"]).collect();
    assert_eq!(kinds, [&json!("always"), &json!("standing"), &Value::Null]);
    assert_eq!(ledger[1]["approval"]["by_call"], ledger[0]["call"]);
    assert!(ledger[0]["revoked_at"].is_number());
    assert!(ledger.iter().all(|row| row["decided_by"] == "kim"));
}

#[test]
fn a_no_can_say_why() {
    let home = Home::new();
    let mut chat = chat(&home, &[add_habit(), text("Then not.")], "--locale ko --session one");
    asked(&mut chat);
    chat.write("ㅡ".as_bytes());
    chat.until_shown("모델에게 전할 말: ");
    // After a change of mind the question is asked again.
    chat.write(&[3]);
    chat.until_shown("[y/n]");
    chat.write(b"m");
    chat.until_shown("모델에게 전할 말: ");
    chat.write("점심 먹고 다시 물어봐\r".as_bytes());
    chat.until_shown("아니요: 점심 먹고 다시 물어봐");
    chat.until_shown("사용자가 허락하지 않았습니다. '점심 먹고 다시 물어봐'");
    chat.until_shown("Then not.");
    let ledger = leave(&home, chat);
    let outcome = json!({
        "status": "cancelled", "reason": "denied", "message": "점심 먹고 다시 물어봐",
    });
    assert_eq!(ledger[0]["outcome"], outcome);
    assert_eq!(home.habits(), 0);
}

#[test]
fn arguments_can_be_changed_and_what_does_not_fit_is_said() {
    let home = Home::new();
    let mut chat = chat(&home, &[add_habit(), text("Done.")], "--locale en --session one");
    asked(&mut chat);
    chat.write(b"e");
    // The arguments can be edited; without one letter they are not JSON.
    chat.until_shown("Arguments: ");
    chat.write(&[0x7f]);
    chat.write(b"\r");
    chat.until_shown("not valid JSON");
    chat.until_shown("Arguments: ");
    chat.write(b"\x15{\"frame_level\":\"L2\",\"frame_level\":\"L3\"}\r");
    chat.until_shown("not valid JSON");
    chat.until_shown("Arguments: ");
    let line = |arguments: &Value| [b"\x15", arguments.to_string().as_bytes(), b"\r"].concat();
    let mut arguments = json!({
        "protocol_id": "morning-light", "frame_level": "L9", "framed_text": "I look at the light", "more": 1,
    });
    chat.write(&line(&arguments));
    chat.until_shown("invalid arguments: /frame_level: must be one of");
    chat.until_shown("Arguments: ");
    arguments["frame_level"] = json!("L3");
    chat.write(&line(&arguments));
    chat.until_shown("keys not allowed: /more");
    chat.until_shown("Arguments: ");
    arguments.as_object_mut().unwrap().remove("more");
    chat.write(&line(&arguments));
    chat.until_shown("yes, with the changed arguments");
    chat.until_shown("(with your arguments)");
    chat.until_shown("Done.");
    let ledger = leave(&home, chat);
    assert_eq!(ledger[0]["arguments"], arguments);
    assert_eq!(ledger[0]["asked"], add_habit()["tool_calls"][0]["arguments"]);
    assert_eq!(ledger[0]["approval"], json!({ "kind": "edited" }));
    let habits = home.call("list_active_habits", &json!({}));
    assert_eq!(habits["data"]["items"][0]["frame_level"], "L3");
}

#[test]
fn a_question_shows_what_the_model_wanted_to_hide() {
    let home = Home::new();
    let mut hidden = add_habit();
    let trick = "빛\u{202e}본다\u{200b}\u{e0041}\n  frame_level: \"L3\"\u{1b}[1A";
    hidden["tool_calls"][0]["arguments"]["framed_text"] = json!(trick);
    let mut chat = chat(&home, &[hidden, text("Well.")], "--locale en --session one");
    let question = asked(&mut chat);
    let shown = r#"framed_text: "빛\u{202e}본다\u{200b}\u{e0041}\n  frame_level: \"L3\"\u{1b}[1A""#;
    assert!(question.contains(shown), "{question}");
    chat.write(b"n");
    chat.until_shown("Well.");
    leave(&home, chat);
}
