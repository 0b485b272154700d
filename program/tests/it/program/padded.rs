//! Tests questions that imitate the program or try to be unreadably long, at every width.

use serde_json::{Value, json};

use super::{Home, add_habit, pty::Pty, terminal::PROMPT};

/// Texts that the program itself could print.
const FORGED: &str =
    "Run it? (a always in this chat, m no and why, e change the arguments) [y/n] yes";

fn habit(framed_text: &str) -> Value {
    let mut habit = add_habit();
    habit["tool_calls"][0]["arguments"]["framed_text"] = json!(framed_text);
    habit
}

fn asked(home: &Home, columns: u16, framed_text: &str, until: &str) -> (Pty, String) {
    let said = format!(
        "{}\n{FORGED}\n│ add_habit\n· add_habit -> done",
        ".".repeat(usize::from(columns) - 2)
    );
    let mut completion = habit(framed_text);
    completion["text"] = json!(said);
    let script = [completion, json!({ "text": "Then not." })];
    let options = ["--locale", "en", "--session", "one"];
    let mut chat = Pty::chat(home, &script, &options, (columns, 120));
    chat.until_shown(PROMPT);
    chat.write("add it\r");
    let shown = chat.until_shown(until);
    (chat, shown)
}

/// Returns the rows of a terminal without colours.
fn rows(shown: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut letters = shown.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => drop(letters.by_ref().skip(1).find(char::is_ascii_alphabetic)),
            '\r' => {}
            letter => plain.push(letter),
        }
    }
    plain.split('\n').map(str::to_owned).collect()
}

#[test]
fn no_text_of_the_model_stands_where_the_program_speaks_at_any_width() {
    for columns in [40, 80, 200] {
        let home = Home::new();
        // Padded with blanks and with letters, so that the rest would begin a row.
        let framed = |pad: &str| format!("{}{FORGED}", pad.repeat(usize::from(columns)));
        for framed_text in
            [framed(" "), framed("x"), framed("가"), framed("\n"), framed("\u{3000}")]
        {
            let short: String = framed_text.chars().take(199).collect();
            let (mut chat, shown) = asked(&home, columns, &short, "[y/n]\u{1b}[0m");
            let rows = rows(&shown);
            let speaks = |row: &&String| row.starts_with("Run it?") || row.starts_with("· ");
            assert_eq!(rows.iter().filter(speaks).count(), 1, "{columns}: {rows:#?}");
            assert_eq!(rows.iter().filter(|row| row.starts_with("│ add_habit")).count(), 1);
            let question = rows.iter().skip_while(|row| !row.starts_with("│ add_habit"));
            let question: Vec<_> = question.take_while(|row| !row.starts_with("Run it?")).collect();
            assert!(question.len() >= 5, "{rows:#?}");
            for row in question {
                assert!(row.starts_with("│ ") || row.starts_with("┊ "), "{columns}: {row}");
                let wide = |letter: char| usize::from(!letter.is_ascii() && letter > '\u{1100}');
                let width: usize = row.chars().map(|letter| 1 + wide(letter)).sum();
                assert!(width <= usize::from(columns), "{columns}: {row}");
            }
            chat.write([3]);
            chat.until_shown("Stopped.");
            chat.until_shown(PROMPT);
            chat.write([4]);
            assert!(chat.ended().0.success());
            std::fs::remove_dir_all(home.path("data")).unwrap();
        }
    }
}

#[test]
fn a_question_longer_than_the_screen_comes_in_pages_and_a_yes_counts_at_its_end() {
    for passed_over in [false, true] {
        let home = Home::new();
        let mut long = habit(&"나는 빛을 본다 ".repeat(22));
        for field in ["anchor_when", "anchor_after_what", "dose_text"] {
            long["tool_calls"][0]["arguments"][field] = json!("긴".repeat(200));
        }
        let script = [long, json!({ "text": "Well then." })];
        let options = ["--locale", "en", "--session", "one"];
        let mut chat = Pty::chat(&home, &script, &options, (40, 14));
        chat.until_shown(PROMPT);
        chat.write("add it\r");
        let first = chat.until_shown("lines;");
        assert!(rows(&first).iter().filter(|row| row.starts_with(['│', '┊'])).count() <= 14);
        // Neither yes nor always counts before the end.
        chat.write("y");
        chat.write("a");
        chat.until_shown("no)");
        let (key, pages) = if passed_over { ("g", 1) } else { ("\r", 3) };
        let mut pressed = 0;
        // Each key alone, and a silence behind the last page.
        while !chat.turns_to("", "[y/n]") {
            chat.write(key);
            pressed += 1;
            std::thread::park_timeout(std::time::Duration::from_millis(1_000));
        }
        assert!(pressed >= pages, "{pressed}");
        let state = &home.run(&["ledger", "--session", "one"], "").events()[0]["state"];
        assert_eq!(state, "awaiting");
        chat.write("y");
        chat.until_shown("Well then.");
        chat.until_shown(PROMPT);
        chat.write([4]);
        assert!(chat.ended().0.success());
        assert_eq!(home.habits(), 1);
    }
}

#[test]
fn a_question_that_is_not_read_to_its_end_can_be_refused() {
    let home = Home::new();
    let (mut chat, _) = {
        let mut long = habit("빛을 본다");
        for field in ["anchor_when", "anchor_after_what", "dose_text"] {
            long["tool_calls"][0]["arguments"][field] = json!("긴".repeat(200));
        }
        let script = [long, json!({ "text": "Then not." })];
        let mut chat = Pty::chat(&home, &script, &["--locale", "ko"], (40, 14));
        chat.until_shown(PROMPT);
        chat.write("add it\r");
        let shown = chat.until_shown("거절)");
        (chat, shown)
    };
    // Before a silence it is no answer.
    while !chat.turns_to("", "Then not.") {
        chat.write("ㅜ");
        std::thread::park_timeout(std::time::Duration::from_millis(900));
    }
    chat.until_shown(PROMPT);
    chat.write([4]);
    assert!(chat.ended().0.success());
    assert_eq!(home.habits(), 0);
}
