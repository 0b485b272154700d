//! The program as a person runs it: cases are scored and printed; bad files are told in one
//! sentence; sealed ones are not shown.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The hash of the cases below as hexadecimal digits.
const SEAL: &str = "36ca81bc9082e2cd33f2f59a289789a156936fa7c1d825c358d997c3c595e291";

fn call(name: &str, arguments: &Value) -> Value {
    json!({ "tool_calls": [{ "name": name, "arguments": arguments }] })
}

/// Two cases; a word in the first may be shown only if the case is open.
fn cases() -> String {
    let search = json!({ "name": "search_catalog", "arguments": { "keyword": "zither" } });
    let first = json!({
        "id": "one", "toolkit": "life", "language": "en", "kind": "single",
        "turns": [{ "user": "Look up zither.", "calls": [search] }],
    });
    let second = json!({
        "id": "two", "toolkit": "life", "language": "ko", "kind": "restraint",
        "turns": [{ "user": "안녕", "calls": [] }], "never": ["any"],
    });
    format!("{first}\n\n{second}\n")
}

/// Runs the program with these cases and a script that is right only in the second.
fn half_right(home: &Home, cases: &Path, options: &[&str]) -> Ended {
    let script = [
        call("search_catalog", &json!({ "keyword": "lute" })),
        json!({ "text": "There is nothing." }),
        json!({ "text": "안녕하세요." }),
    ];
    let script = home.file("script.jsonl", script.map(|line| line.to_string()).join("\n"));
    let cases = cases.to_str().unwrap();
    let script = script.to_str().unwrap();
    home.run(&[&["--cases", cases, "--script", script], options].concat())
}

#[test]
fn cases_are_scored_in_a_table_and_as_json() {
    let home = Home::new();
    let cases = home.file("cases.jsonl", cases());
    let ended = half_right(&home, &cases, &[]);
    assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{ended:?}");
    let all = ended.out.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(all, "all 2 1/2 50.0 % - 2/2 100.0 % 2/2 100.0 % 1/2 50.0 %");
    assert!(!ended.out.contains("zither"), "{}", ended.out);

    let ended = half_right(&home, &cases, &["--json"]);
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(report["model"], "script");
    let complaint =
        r#"expected search_catalog {"keyword":"zither"}, got search_catalog {"keyword":"lute"}"#;
    let first = json!({
        "id": "one", "kind": "single", "language": "en", "toolkit": "life", "part": "open",
        "calls": false, "restraint": true, "truth": true, "complaints": [complaint],
    });
    assert_eq!(report["cases"][0], first);
    assert_eq!(report["cases"][1]["calls"], true);
}

#[test]
fn no_text_of_a_case_reaches_the_terminal_as_it_obeys_it() {
    let home = Home::new();
    // Other letters are no part of an id.
    let hostile = cases().replace("\"one\"", r#""o\u202ene""#);
    let cases = home.file("cases.jsonl", hostile.replace("up zither.", r"up\u009b zither."));
    for options in [&[][..], &["--details"], &["--json"]] {
        let ended = half_right(&home, &cases, options);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(!ended.out.contains(is_obeyed), "{options:?}: {:?}", ended.out);
        assert!(!ended.err.contains(is_obeyed), "{options:?}: {:?}", ended.err);
        assert_eq!(ended.out.contains(r"o\u202ene"), !options.is_empty(), "{:?}", ended.out);
    }
}

#[test]
fn details_show_what_was_expected_and_a_bound_makes_the_exit_code() {
    let home = Home::new();
    let cases = home.file("cases.jsonl", cases());
    let ended = half_right(&home, &cases, &["--details", "--at-least", "50"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.out.contains("> Look up zither.") && ended.out.contains("\"lute\""),
        "{}",
        ended.out
    );
    assert!(!ended.out.contains("안녕"), "a case that is right is not shown: {}", ended.out);
    let ended = half_right(&home, &cases, &["--at-least", "51"]);
    ended.complained_with(&["50.0 % of the cases are right in everything, 51 % are asked for"]);
}

#[test]
fn of_sealed_cases_only_the_marks_are_printed_and_a_broken_seal_is_refused() {
    let home = Home::new();
    let digits: String = cases().bytes().map(|byte| format!("{byte:02x}")).collect();
    let sealed = home.file("cases.hex", digits);
    home.file("cases.hex.sha256", "7f1b  cases.hex\n");
    half_right(&home, &sealed, &[]).failed_with(&["the seal of", "cases.hex is broken"]);
    std::fs::remove_file(home.path("cases.hex.sha256")).unwrap();
    half_right(&home, &sealed, &[]).failed_with(&["there is no file", "cases.hex.sha256"]);

    home.file("cases.hex.sha256", format!("{SEAL}  cases.hex\n"));
    for options in [&["--details"][..], &["--json"]] {
        let ended = half_right(&home, &sealed, options);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.out.contains("sealed") && !ended.out.contains("zither"), "{}", ended.out);
    }
    let ended = half_right(&home, &sealed, &["--details", "--show-sealed"]);
    assert!(ended.out.contains("zither"), "{}", ended.out);
}

#[test]
fn a_file_of_cases_that_cannot_be_used_is_told_in_one_sentence() {
    let home = Home::new();
    let missing = home.path("nowhere.jsonl");
    let half = home.file("half.jsonl", format!("{}{{\"id\": \"three\"}}\n", cases()));
    let twice = home.file("twice.jsonl", cases().repeat(2));
    let noise = home.file("noise.jsonl", b"\xff\xfe");
    let empty = home.file("empty.jsonl", "\n");
    let foreign = home.file("foreign.jsonl", cases().replace("\"life\"", "\"chess\""));
    for (path, words) in [
        (&missing, &["there is no file", "nowhere.jsonl"][..]),
        (&half, &["line 4 of", "half.jsonl is not a case: missing field `toolkit`"]),
        (&twice, &["two cases are called one"]),
        (&noise, &["noise.jsonl is not UTF-8"]),
        (&empty, &["empty.jsonl has no cases"]),
        (&foreign, &["the cases need other toolkits"]),
    ] {
        half_right(&home, path, &[]).failed_with(words);
    }
}

#[test]
fn a_check_plays_cases_as_they_are_meant_and_says_which_cannot_be() {
    let home = Home::new();
    let good = home.file("cases.jsonl", cases());
    let ended = home.run(&["--check", "--cases", good.to_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        ended.out,
        "2 cases can be played as they are meant, 0 of them sealed; 0 need other toolkits\n"
    );
    let bad = home.file("bad.jsonl", cases().replace("search_catalog", "search_attic"));
    let ended = home.run(&["--check", "--cases", bad.to_str().unwrap()]);
    ended.failed_with(&["the case one has a call of search_attic, which is not a tool"]);
}

/// Tells whether a terminal obeys this letter, or it turns the direction of text.
fn is_obeyed(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || letter == '\u{202e}'
}

/// A folder in which the program runs.
struct Home {
    folder: TempDir,
}

/// The end of a run.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_eval"));
        command.args(arguments).current_dir(self.folder.path()).env_clear();
        let ended = command.env("XDG_CONFIG_HOME", self.path("config")).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended { code: ended.status.code(), out: text(ended.stdout), err: text(ended.stderr) }
    }
}

impl Ended {
    /// Requires a failure in one sentence with all of these words.
    fn failed_with(&self, words: &[&str]) {
        assert_eq!(self.out, "", "{self:?}");
        self.complained_with(words);
    }

    /// Requires the same after any output.
    fn complained_with(&self, words: &[&str]) {
        assert_eq!(self.code, Some(1), "{self:?}");
        let lines: Vec<&str> = self.err.lines().collect();
        let [line] = lines[..] else { panic!("more or less than one sentence: {self:?}") };
        for word in words {
            assert!(line.contains(word), "{word:?} is missing in {line:?}");
        }
    }
}
