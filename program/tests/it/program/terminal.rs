//! Tests the program in a terminal that `script` of util-linux provides.

use std::process::Command;

use serde_json::json;

use super::{
    Home, RunningProgram, add_habit,
    pty::{Control, Pty},
};

/// The prompt.
pub(super) const PROMPT: &str = "> ";

/// Starts a chat in a terminal, at its first prompt.
pub(super) fn chat(
    home: &Home,
    completions: &[serde_json::Value],
    options: &str,
) -> RunningProgram {
    let (mut chat, _) = start(home, completions, options);
    chat.until_shown(PROMPT);
    chat
}

/// Starts a chat in a terminal, and returns the number of its process.
pub(super) fn start(
    home: &Home,
    completions: &[serde_json::Value],
    options: &str,
) -> (RunningProgram, u32) {
    let script = home.script(completions);
    // `exec`, because a shell in between would take Ctrl-C too and end with a code of its own.
    let program = env!("CARGO_BIN_EXE_madang");
    let command = format!(
        "stty columns 300; echo $$; exec {program} chat --script {} {options}",
        script.display()
    );
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--flush", "--return", "--command", &command, "/dev/null"]);
    terminal.current_dir(home.folder.path());
    terminal.env("XDG_DATA_HOME", home.path("data"));
    terminal.env("XDG_CONFIG_HOME", home.path("config")).env_remove("MADANG_SEAL_KEYS").envs([
        ("USER", "kim"),
        ("LC_ALL", "C.UTF-8"),
        ("TERM", "xterm"),
    ]);
    let mut chat = RunningProgram::start(terminal);
    let process = chat.until("\n").trim().parse().unwrap();
    (chat, process)
}

#[test]
fn a_question_is_shown_with_everything_that_will_run_and_answered_by_a_key() {
    for (key, shown, habits) in [("y", " yes", 1), ("n", " no", 0), ("ㅛ", " yes", 1)] {
        let home = Home::new();
        let mut chat = chat(&home, &[add_habit(), json!({ "text": "Well then." })], "--locale en");
        chat.write(b"add it\r");
        let question = chat.until_shown("[y/n]");
        for part in [
            "add_habit",
            r#"frame_level: "L2""#,
            r#"framed_text: "나는 아침마다 빛을 본다""#,
            "Morning sunlight",
        ] {
            assert!(question.contains(part), "{part} is missing in {question}");
        }
        chat.write(key.as_bytes());
        chat.until_shown(shown);
        chat.until_shown("Well then.");
        chat.until_shown(PROMPT);
        chat.write(&[4]);
        assert_eq!(chat.ended().code, Some(0));
        assert_eq!(home.habits(), habits, "after {key}");
    }
}

#[test]
fn without_an_option_the_terminal_speaks_the_language_that_is_typed() {
    let home = Home::new();
    let script =
        [add_habit(), json!({ "text": "Well then." }), add_habit(), json!({ "text": "Fine." })];
    let mut chat = chat(&home, &script, "--session one");
    for (typed, asked, denied, ended) in [
        (
            "아침 햇빛 보기를 습관으로 추가해줘",
            "실행할까요?",
            "사용자가 허락하지 않았습니다.",
            "Well then.",
        ),
        ("Now please add it in English", "Run it?", "You did not allow it.", "Fine."),
    ] {
        chat.write(format!("{typed}\r").as_bytes());
        chat.until_shown(asked);
        chat.until_shown("[y/n]");
        chat.write(b"n");
        chat.until_shown(denied);
        chat.until_shown(ended);
        chat.until_shown(PROMPT);
    }
    chat.write(&[4]);
    assert_eq!(chat.ended().code, Some(0));
}

#[test]
fn what_was_typed_before_the_question_is_no_answer_to_it() {
    let home = Home::new();
    let tool = json!({ "tool_calls": [{ "name": "list_active_habits", "arguments": {} }] });
    let mut slow = add_habit();
    slow["delay_ms"] = json!(1_000);
    let mut chat = chat(&home, &[tool, slow, json!({ "text": "Well then." })], "--locale en");
    chat.write(b"add it\r");
    chat.until_shown("no active habits");
    chat.write(b"y");
    chat.until_shown("[y/n]");
    chat.write(b"n");
    chat.until_shown(" no");
    chat.until_shown(PROMPT);
    chat.write(&[4]);
    chat.ended();
    assert_eq!(home.habits(), 0);
}

#[test]
fn control_c_stops_the_turn_a_second_one_leaves() {
    let home = Home::new();
    let long = json!({ "text": "an answer that takes long", "delay_ms": 2_400_000 });
    let script = [long.clone(), json!({ "text": "Here I am." }), long];
    let mut chat = chat(&home, &script, "--locale en");
    chat.write(b"first\r");
    chat.until_shown("an answ");
    chat.write(&[3]);
    let shown = chat.until_shown("(interrupted)");
    assert!(!shown.contains("\\u{"), "what makes letters faint is not shown itself: {shown}");
    chat.until_shown("Stopped.");
    chat.until_shown(PROMPT);
    chat.write(b"second\r");
    chat.until_shown("Here I am.");
    chat.until_shown(PROMPT);
    chat.write(b"third\r");
    chat.until_shown("an answ");
    chat.write(&[3]);
    chat.until_shown("Once more leaves");
    chat.write(&[3]);
    assert_eq!(chat.ended().code, Some(0));
}

#[test]
fn control_c_at_the_prompt_keeps_what_was_typed_and_a_second_one_leaves() {
    let home = Home::new();
    let mut chat = chat(&home, &[json!({ "text": "Here I am." })], "--locale en");
    chat.write(b"half a line");
    chat.until_shown("half a line");
    chat.write(&[3]);
    chat.until_shown("Once more leaves.");
    chat.until_shown("> half a line");
    chat.write(b" and the rest\r");
    chat.until_shown("Here I am.");
    chat.until_shown(PROMPT);
    // The arrow up brings what was sent.
    chat.write(b"\x1b[A");
    chat.until_shown("half a line and the rest");
    for stop in ["another", ""] {
        chat.write(stop.as_bytes());
        chat.write(&[3]);
        if !stop.is_empty() {
            chat.until_shown("Once more leaves.");
            chat.until_shown("half a line and the restanother");
        }
    }
    assert_eq!(chat.ended().code, Some(0));
}

#[test]
fn lines_that_are_pasted_without_brackets_are_turns_one_behind_the_other() {
    let home = Home::new();
    let answers = ["First.", "Second.", "Third."].map(|text| json!({ "text": text }));
    let mut chat = chat(&home, &answers, "--locale en");
    chat.write(b"one\rtwo\rthree\r");
    for shown in ["First.", "Second.", "Third.", PROMPT] {
        chat.until_shown(shown);
    }
    chat.write(b"/quit\r");
    assert_eq!(chat.ended().code, Some(0));
}

#[test]
fn a_line_that_was_pasted_before_the_question_is_no_answer_to_it() {
    let home = Home::new();
    let script = [add_habit(), json!({ "text": "Well then." }), json!({ "text": "Second." })];
    let mut chat = chat(&home, &script, "--locale en");
    chat.write(b"add it\rtwo\r");
    chat.until_shown("[y/n]");
    chat.write(b"m");
    chat.until_shown("Tell the model: ");
    chat.write(b"not now\r");
    chat.until_shown("no: not now");
    for shown in ["Well then.", "Second.", PROMPT] {
        chat.until_shown(shown);
    }
    chat.write(b"/quit\r");
    assert_eq!(chat.ended().code, Some(0));
    assert_eq!(home.habits(), 0);
}

#[test]
fn no_letter_is_bold_faint_or_red_where_no_colour_is_wanted() {
    for (no_color, is_styled) in [("", true), ("1", false)] {
        let home = Home::new();
        let script = home.script(&[add_habit(), json!({ "text": "Well then." })]);
        let arguments = ["chat", "--locale", "en", "--script", script.to_str().unwrap()];
        let mut command = home.command(&arguments);
        command.env("NO_COLOR", no_color);
        let mut chat = Pty::start(command, (120, 40), Control::Not);
        let mut shown = chat.until_shown(PROMPT);
        chat.write("add it\r");
        shown += &chat.until_shown("[y/n]");
        chat.write("n");
        shown += &chat.until_shown("Well then.");
        let styles = ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[38;5;9m"];
        let has_style = styles.iter().any(|style| shown.contains(style));
        assert_eq!(has_style, is_styled, "{shown:?}");
        chat.until_shown(PROMPT);
        chat.write("/quit\r");
        assert!(chat.ended().0.success());
    }
}

#[test]
fn a_session_is_cleared_by_a_command_and_the_ledger_stays() {
    let home = Home::new();
    let tool = json!({ "tool_calls": [{ "name": "list_active_habits", "arguments": {} }] });
    let mut first = chat(&home, &[tool, json!({ "text": "None." })], "--locale en --session one");
    first.write(b"list\r");
    first.until_shown("None.");
    first.until_shown(PROMPT);
    first.write(b"/clear\r");
    first.until_shown("Cleared.");
    first.until_shown(PROMPT);
    first.write(b"/quit\r");
    assert_eq!(first.ended().code, Some(0));
    assert_eq!(home.run(&["ledger", "--session", "one"], "").events().len(), 1);
}

#[test]
fn a_new_chat_shows_what_can_be_said_and_an_old_one_does_not() {
    let home = Home::new();
    for (locale, first, help) in [
        ("ko", "수면에 좋은 프로토콜 찾아줘", "대화를 정리하고 새로 시작합니다"),
        ("en", "Find something for sleep", "begins the chat anew"),
    ] {
        let options = format!("--locale {locale} --session {locale}");
        let (mut new, _) = start(&home, &[json!({ "text": "Hello." })], &options);
        let shown = new.until_shown(PROMPT);
        assert!(shown.contains(first) && shown.contains("/help"), "{shown}");
        new.write(b"/help\r");
        new.until_shown(help);
        new.until_shown(PROMPT);
        new.write(b"hi\r");
        new.until_shown("Hello.");
        new.until_shown(PROMPT);
        new.write(b"/quit\r");
        assert_eq!(new.ended().code, Some(0));
        let (mut old, _) = start(&home, &[json!({ "text": "Hello." })], &options);
        let shown = old.until_shown(PROMPT);
        assert!(!shown.contains(first), "{shown}");
        old.write(b"/quit\r");
        old.ended();
    }
}

#[test]
fn a_yes_behind_the_notice_about_clearing_goes_nowhere_until_it_is_said_again() {
    for (locale, yes, notice, which) in [
        ("ko", "네", "/clear 를 입력하면", "한 번 더"),
        ("en", "yes", "Type /clear to do so", "say it once more"),
    ] {
        let home = Home::new();
        let answers: Vec<_> =
            (1..=11).map(|turn| json!({ "text": format!("Answer {turn}.") })).collect();
        let options = format!("--locale {locale} --session one");
        let mut chat = chat(&home, &answers, &options);
        for turn in 1..=9 {
            chat.write(format!("turn {turn}\r").as_bytes());
            chat.until_shown(&format!("Answer {turn}."));
            if turn == 9 {
                chat.until_shown(notice);
            }
            chat.until_shown(PROMPT);
        }
        chat.write(format!("{yes}\r").as_bytes());
        let shown = chat.until_shown(which);
        assert!(!shown.contains("Answer 10."), "{shown}");
        chat.until_shown(PROMPT);
        chat.write(format!("{yes}\r").as_bytes());
        chat.until_shown("Answer 10.");
        chat.until_shown(PROMPT);
        chat.write(b"/quit\r");
        assert_eq!(chat.ended().code, Some(0));
    }
}
