//! Tests that keys that are typed before a question was drawn, or pasted, answer nothing.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, sqlite::SqliteConnectOptions};
use tokio::time::Instant;

use super::{Home, add_habit, pty::Pty, terminal::PROMPT};

const SIZE: (u16, u16) = (80, 40);
const OPTIONS: [&str; 4] = ["--locale", "en", "--session", "one"];

fn text(text: &str) -> Value {
    json!({ "text": text })
}

/// A call that must be confirmed, after some thinking of the model.
fn slow_habit() -> Value {
    let mut slow = add_habit();
    slow["text"] = json!("I think. ");
    slow["delay_ms"] = json!(1_500);
    slow
}

#[test]
fn a_sentence_typed_while_the_model_thinks_answers_nothing_and_waits_for_the_prompt() {
    let home = Home::new();
    let script = [slow_habit(), text("Then not."), text("A plan.")];
    let mut chat = Pty::chat(&home, &script, &OPTIONS, SIZE);
    chat.until_shown(PROMPT);
    chat.write("add it\r");
    chat.until_shown("I think");
    // It contains every letter that is an answer, and Enter.
    chat.write("and then many yes ㅁㅛ plan my day\r");
    let question = chat.until_shown("[y/n]");
    assert!(question.contains("Morning sunlight"), "{question}");
    chat.write("n");
    chat.until_shown(" no");
    chat.until_shown("Then not.");
    chat.until_shown("> and then many yes ㅁㅛ plan my day");
    chat.write("\r");
    chat.until_shown("A plan.");
    chat.until_shown(PROMPT);
    chat.write([4]);
    assert!(chat.ended().0.success());
    assert_eq!(home.habits(), 0);
    let rows = home.run(&["ledger", "--session", "one"], "").events();
    assert_eq!(rows[0]["outcome"], json!({ "status": "cancelled", "reason": "denied" }));
}

#[test]
fn the_rest_of_an_answer_that_is_typed_as_a_word_is_no_message() {
    for (letter, answer, rest) in [("n", " no", "o\r"), ("y", " yes", "es\r")] {
        let home = Home::new();
        let script = [add_habit(), text("So be it."), text("A plan.")];
        let mut chat = Pty::chat(&home, &script, &OPTIONS, SIZE);
        chat.until_shown(PROMPT);
        chat.write("add it\r");
        chat.until_shown("[y/n]");
        chat.write(letter);
        chat.until_shown(answer);
        chat.until_shown("So be it.");
        chat.until_shown(PROMPT);
        chat.write(rest);
        chat.until_shown(PROMPT);
        // Only the first line after the answer is the rest of its word.
        chat.write(rest);
        chat.until_shown("A plan.");
        chat.until_shown(PROMPT);
        chat.write([4]);
        assert!(chat.ended().0.success());
        assert_eq!(home.habits(), u64::from(letter == "y"));
        let texts = user_texts(&home);
        assert_eq!(texts, ["add it", rest.trim_end()]);
    }
}

#[tokio::main(flavor = "current_thread")]
async fn user_texts(home: &Home) -> Vec<String> {
    let options = SqliteConnectOptions::new().filename(home.database()).read_only(true);
    let mut db = options.connect().await.unwrap();
    let texts = "SELECT content ->> '$.text' FROM madang_messages \
                 WHERE content ->> '$.role' = 'user' ORDER BY seq";
    sqlx::query_scalar(texts).fetch_all(&mut db).await.unwrap()
}

#[test]
fn keys_right_behind_a_question_answer_nothing_until_the_person_was_told_how() {
    for always in ["a\r", "ㅁ\r"] {
        let home = Home::new();
        let mut chat = Pty::chat(&home, &[add_habit(), text("Then not.")], &OPTIONS, SIZE);
        chat.until_shown(PROMPT);
        chat.write("add it\r");
        chat.until_shown("Morning sunlight");
        let begin = Instant::now();
        chat.write("y");
        chat.write(always);
        chat.until_shown("[y/n]");
        assert!(begin.elapsed() >= Duration::from_millis(700), "{:?}", begin.elapsed());
        // Pasted keys behind it answer nothing either.
        chat.write("yes, always\r");
        chat.write("n");
        chat.write(always);
        assert!(!chat.rest().contains("yes"), "{}", chat.rest());
        chat.write([3]);
        chat.until_shown("Stopped.");
        chat.until_shown(PROMPT);
        chat.write([4]);
        assert!(chat.ended().0.success());
        assert_eq!(home.habits(), 0);
    }
}

#[test]
fn always_is_said_by_its_key_and_confirmed_by_enter() {
    for (letter, locale, asked) in [
        ("a", "en", "Enter confirms"),
        ("A", "en", "Enter confirms"),
        ("ㅁ", "ko", "Enter를 누르면 확정"),
    ] {
        let home = Home::new();
        let script = [add_habit(), text("First."), add_habit(), text("Second.")];
        let options = ["--locale", locale, "--session", "one"];
        let mut chat = Pty::chat(&home, &script, &options, (200, 40));
        chat.until_shown(PROMPT);
        chat.write("add it\r");
        chat.until_shown("[y/n]");
        chat.write(letter);
        chat.until_shown(asked);
        // Any other key cancels it.
        chat.write("x");
        chat.until_shown("[y/n]");
        assert_eq!(home.run(&["ledger", "--session", "one"], "").events()[0]["state"], "awaiting");
        chat.write(letter);
        chat.until_shown(asked);
        chat.write("\r");
        chat.until_shown("First.");
        chat.until_shown(PROMPT);
        chat.write("again\r");
        chat.until_shown("Second.");
        chat.until_shown(PROMPT);
        chat.write([4]);
        assert!(chat.ended().0.success());
        let rows = home.run(&["ledger", "--session", "one"], "").events();
        let kinds: Vec<_> = rows.iter().map(|row| &row["approval"]["kind"]).collect();
        assert_eq!(kinds, ["always", "standing"]);
    }
}
