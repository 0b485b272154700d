//! Tests that `madang bench-model` reports waits and speed, and fails if turns stay unanswered.

use serde_json::{Value, json};

use super::{Ended, Home, RunningProgram, is_obeyed};

fn bench(home: &Home, completions: usize, more: &[&str]) -> Ended {
    let said: Vec<Value> = (0..completions).map(|_| json!({ "text": "안녕하세요" })).collect();
    let script = home.script(&said);
    let common = ["bench-model", "--script", script.to_str().unwrap(), "--sessions", "3"];
    home.run(&[&common, more].concat(), "")
}

#[test]
fn every_completion_is_measured_and_nothing_stays_behind() {
    let home = Home::new();
    let ended = bench(&home, 6, &["--turns", "2", "--json"]);
    assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&report["turns"], &report["completions"]), (&json!(6), &json!(6)), "{report}");
    assert_eq!(report["failed"], json!({}));
    let wait = &report["queue_wait_ms"];
    assert!(wait["p50"].as_f64() > Some(0.0) && wait["max"].as_f64() >= wait["p50"].as_f64());
    assert!(report["first_token_ms"]["p99"].as_f64() > Some(0.0), "{report}");
    assert!(!home.path("data").exists(), "a database stays behind");
}

#[test]
fn turns_without_an_answer_are_counted_by_their_reason_and_end_it_with_1() {
    let ended = bench(&Home::new(), 2, &["--turns", "1"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(ended.err, "madang: 1 of 3 turns failed: ScriptExhausted 1\n");
    assert!(ended.out.contains("failed            ScriptExhausted 1"), "{}", ended.out);
}

#[test]
fn no_word_of_a_model_reaches_the_terminal_as_it_obeys_it() {
    let home = Home::new();
    let hostile = "a\u{1b}[2J\u{9b}2J\u{202e}b";
    let script = home.script(&[json!({ "error": hostile }), json!({ "error": hostile })]);
    let common = ["bench-model", "--script", script.to_str().unwrap(), "--turns", "1"];
    for more in [&[][..], &["--json"]] {
        let mut command = home.command(&[&common, more].concat());
        command.env("RUST_LOG", "debug");
        let ended = RunningProgram::start(command).ended();
        assert_eq!(ended.code, Some(1), "{ended:?}");
        for printed in [&ended.out, &ended.err] {
            assert!(!printed.contains(is_obeyed), "{printed:?}");
            assert!(printed.contains("9b") && printed.contains("202e"), "it is shown: {printed:?}");
        }
        if let [_] = more {
            let report: Value = serde_json::from_str(&ended.out).unwrap();
            assert_eq!(report["failed"][hostile], json!(2), "a reader of JSON gets it as it was");
        }
    }
}

#[cfg(feature = "llama")]
#[test]
fn the_bundled_model_is_measured_with_what_it_reads_and_says() {
    let arguments = ["bench-model", "--sessions", "4", "--turns", "2", "--tokens", "64", "--json"];
    let ended = Home::new().run(&arguments, "");
    assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    assert!(report["completions"].as_u64() >= Some(8), "{report}");
    assert!(report["tokens_per_second"].as_f64() > Some(0.0), "{report}");
    assert!(report["session_tokens_per_second"]["slowest"].as_f64() > Some(0.0), "{report}");
    let prompts = &report["prompt_tokens"];
    // Each second turn builds on the first.
    assert!(prompts["evaluated"].as_u64() > Some(0) && prompts["hits"].as_u64() >= Some(4));
}
