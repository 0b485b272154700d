//! Tests that `madang forget` leaves no text of a user, and a ledger that holds.

use std::{fs, path::Path};

use serde_json::{Value, json};
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};

use super::{Home, RunningProgram, add_habit, verify::tamper};

/// A text that stands nowhere else.
const SECRET: &str = "zebrawood-4711";

/// Makes chats of two users with the secret and another word in messages, arguments, pages and
/// files.
fn written() -> Home {
    let home = Home::new();
    for (user, word) in [("kim", SECRET), ("lee", "rosewood")] {
        let page = json!({ "title": word, "blocks": [{ "content": format!("about {word}"), "indent": 0 }] });
        let script = [
            json!({ "tool_calls": [{ "name": "create_page_with_blocks", "arguments": page }] }),
            add_habit(),
            json!({ "text": format!("Wrote of {word}.") }),
        ];
        let session = format!("{user}-{word}");
        let options = ["--user", user, "--session", &session, "--toolkit", "life,notes"];
        let options = [&options[..], &["--confirm", "approve"]].concat();
        let ended = home.chat(&script, &options, format!("write of {word}\n"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert!(lies_in(&home.path("data"), SECRET), "it is searched for where it is");
    home
}

/// Tells whether a file contains a word or has it in its name.
pub(super) fn lies_in(folder: &Path, word: &str) -> bool {
    let has = |bytes: &[u8]| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        has(path.as_os_str().as_encoded_bytes())
            || if path.is_dir() { lies_in(&path, word) } else { has(&fs::read(path).unwrap()) }
    })
}

fn forget(home: &Home, user: &str) -> Value {
    let ended = home.run(&["forget", user, "--yes", "--by", "root"], "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("Not reached: backups"), "{ended:?}");
    ended.events().remove(0)
}

/// Lists the users of whose files the database knows.
async fn mirrored(home: &Home) -> Vec<String> {
    let options = SqliteConnectOptions::new().filename(home.database());
    let mut db = options.connect().await.unwrap();
    let users =
        sqlx::query_scalar("SELECT DISTINCT user_id FROM notes_files_written ORDER BY user_id");
    let users = users.fetch_all(&mut db).await.unwrap();
    db.close().await.unwrap();
    users
}

fn verified(home: &Home, options: &[&str]) -> Vec<Value> {
    let ended = home.run(&[&["ledger", "--verify"], options].concat(), "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.events()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_user_leaves_no_text_and_a_ledger_that_holds() {
    let home = written();
    let session = format!("kim-{SECRET}");
    let head = verified(&home, &["--session", &session])[0]["head"].clone();
    assert_eq!(mirrored(&home).await, ["kim", "lee"]);
    let told = forget(&home, "kim");
    assert_eq!(mirrored(&home).await, ["lee"]);
    assert_eq!(
        (&told["sessions"], &told["calls"], &told["messages"], &told["workspace"]),
        (&json!(1), &json!(2), &json!(2), &json!(true))
    );
    assert!(!lies_in(&home.path("data"), SECRET), "{told}");
    assert!(lies_in(&home.path("data"), "rosewood"), "the other user's is there");

    let lines = verified(&home, &[]);
    let [erased, other] = &lines[..] else { panic!("two lines: {lines:?}") };
    assert_eq!(
        (&erased["by"], &erased["calls"], &erased["head"]),
        (&json!("root"), &json!(2), &head)
    );
    assert_eq!(other["session"], "lee-rosewood");
    let with_head = ["--session", &session, "--head", head.as_str().unwrap()];
    assert_eq!(verified(&home, &with_head), lines[..1], "it was erased, not removed");
    let lees = home.run(&["call", "list_active_habits", "{}", "--user", "lee"], "");
    assert_eq!(lees.events()[0]["data"]["count"], 1);
    assert_eq!(home.habits(), 0);

    let again =
        home.chat(&[json!({ "text": "Hello." })], &["--json", "--session", &session], "hi\n");
    assert_eq!((again.code, again.of_type("tool_call_ended")), (Some(0), vec![]), "{again:?}");
    assert_eq!(home.run(&["ledger", "--session", &session], "").out, "", "it begins empty");
    verified(&home, &with_head);

    let id = erased["erased"].as_str().unwrap();
    for change in [
        "calls = 1",
        "at = at + 1",
        "by_user = 'kim'",
        "hashes = zeroblob(32)",
        "seal = NULL",
        "messages = 0",
    ] {
        let copy = home.path("copy.db");
        fs::copy(home.database(), &copy).unwrap();
        tamper(&copy, &format!("UPDATE madang_erased SET {change}")).await;
        let told = home.run(&["ledger", "--verify", "--db", copy.to_str().unwrap()], "");
        assert_eq!(told.code, Some(1), "{change}: {told:?}");
        assert!(told.err.contains(&format!("the erased session {id} does not hold")), "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_were_removed_do_not_pass_for_forgotten_ones() {
    let home = written();
    let session = format!("kim-{SECRET}");
    let head = verified(&home, &["--session", &session])[0]["head"].clone();
    let head = head.as_str().unwrap();
    let mut sql = format!(
        "INSERT INTO madang_erased SELECT '00000000-0000-0000-0000-000000000000', 'kim', 5, 2, 2, chain_head, NULL \
         FROM madang_sessions WHERE session = '{session}';"
    );
    for table in ["calls", "messages", "turns", "transitions", "sessions"] {
        sql += &format!("DELETE FROM madang_{table} WHERE session = '{session}';");
    }
    tamper(&home.database(), &sql).await;
    home.run(&["ledger", "--verify", "--session", &session, "--head", head], "")
        .failed_with(&["the erased session 0000", "it has no seal"]);
}

#[test]
fn no_user_is_forgotten_unasked() {
    let home = Home::new();
    home.run(&["forget", "kim", "--yes"], "").failed_with(&["there is no database"]);
    let home = written();
    home.run(&["forget", "kim"], "kim\n").failed_with(&["nothing was erased", "--yes"]);
    let script = home.script(&[json!({ "text": "Here." })]);
    let mut chat = RunningProgram::start(home.command(&[
        "chat",
        "--json",
        "--script",
        script.to_str().unwrap(),
    ]));
    chat.write(b"hello\n");
    chat.until("turn_ended");
    home.run(&["forget", "kim", "--yes"], "").failed_with(&["in use by another process"]);
    assert_eq!(chat.ended().code, Some(0));
    assert!(lies_in(&home.path("data"), SECRET));

    let strange = forget(&home, "a\u{202e}b");
    assert_eq!((&strange["user"], &strange["sessions"]), (&json!("a\u{202e}b"), &json!(0)));
    let raw = home.run(&["forget", "a\u{202e}b", "--yes", "--locale", "ko"], "");
    assert!(!raw.out.contains('\u{202e}') && raw.err.contains("백업"), "{raw:?}");
}

/// Types this at the question of `madang forget kim`, and returns the output.
#[cfg(target_os = "linux")]
fn answered(home: &Home, typed: &str) -> (Option<i32>, String) {
    use super::pty::{Control, Pty};

    let command = home.command(&["forget", "kim", "--locale", "en"]);
    let mut asked = Pty::start(command, (200, 24), Control::Not);
    let question = asked.until_shown("Type the name of the user to go on.");
    assert!(question.contains("all chats, habits and notes of kim"), "{question}");
    asked.write(typed);
    let (status, said) = asked.ended();
    (status.code(), said)
}

#[cfg(target_os = "linux")]
#[test]
fn only_the_name_that_is_typed_is_a_yes() {
    let home = written();
    for typed in ["\n", "y\n", "yes\n", "lee\n", "KIM\n", "ki\n", "kimm\n", " kim\n", "\u{4}"] {
        let (code, said) = answered(&home, typed);
        let is_told = said.contains("nothing was erased: what was typed is not the name");
        assert!(code == Some(1) && is_told, "{typed:?}: {code:?} {said}");
        assert!(lies_in(&home.path("data"), SECRET), "{typed:?}");
    }
    let (code, said) = answered(&home, "kim\n");
    assert!(code == Some(0) && said.contains("\"sessions\":1"), "{code:?} {said}");
    assert!(!lies_in(&home.path("data"), SECRET), "{said}");
}

#[test]
fn killed_at_any_moment_it_is_run_again_and_nothing_is_left() {
    let source = written();
    for spins in [0_u32, 1_000, 10_000, 50_000, 100_000, 200_000, 400_000] {
        let home = Home::new();
        copy(&source.path("data"), &home.path("data"));
        copy(&source.path("config"), &home.path("config"));
        let mut killed = home.command(&["forget", "kim", "--yes"]).spawn().unwrap();
        for _ in 0..spins {
            std::thread::yield_now();
        }
        killed.kill().unwrap();
        killed.wait().unwrap();
        verified(&home, &[]);
        forget(&home, "kim");
        assert!(!lies_in(&home.path("data"), SECRET), "{spins}");
        assert_eq!(verified(&home, &[]).len(), 2, "{spins}: one erased, and lee's");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn a_named_folder_loses_what_was_written_there_and_keeps_what_a_person_changed() {
    let home = Home::new();
    let folder = home.path("named");
    let named = folder.to_str().unwrap().to_owned();
    for title in ["Plain", "Edited"] {
        let page = json!({ "title": title, "blocks": [{ "content": SECRET, "indent": 0 }] });
        let options = ["--toolkit", "notes", "--user", "kim", "--workspace", &named];
        let call = ["call", "create_page_with_blocks", &page.to_string()];
        let ended = home.run(&[&call[..], &options].concat(), "");
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let files = || {
        let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
        names.retain(|name| name.ends_with(".md"));
        names.sort();
        names
    };
    assert_eq!(files(), ["Edited.md", "Plain.md"]);
    fs::write(folder.join("Edited.md"), "my own words\n").unwrap();

    let missing = home.path("missing");
    let order = |folder: &Path| {
        home.run(&["forget", "kim", "--yes", "--workspace", folder.to_str().unwrap()], "")
    };
    order(&missing).failed_with(&["nothing was erased", "missing"]);
    assert_eq!(files(), ["Edited.md", "Plain.md"]);

    let ended = order(&folder);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let told = ended.events().remove(0);
    assert_eq!((&told["sessions"], &told["left"]), (&json!(2), &json!(["Edited.md"])), "{told}");
    assert_eq!(files(), ["Edited.md"]);
    assert_eq!(fs::read_to_string(folder.join("Edited.md")).unwrap(), "my own words\n");
    assert!(!lies_in(&home.path("data"), SECRET));
}
