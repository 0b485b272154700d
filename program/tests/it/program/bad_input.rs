//! Tests bad input: one clear sentence with advice, and nothing lost or half-written.

use serde_json::{Value, json};

use super::{Home, RunningProgram, add_habit};

fn text(text: &str) -> Value {
    json!({ "text": text })
}

#[test]
fn a_database_that_cannot_be_used_is_left_as_it_was() {
    let home = Home::new();
    let foreign = home.file("letter.txt", "Dear madam, this is no database.");
    for (path, words) in [
        (foreign.clone(), &["letter.txt is not a Madang database", "choose another file"][..]),
        (
            foreign.join("in-a-file.db"),
            &["failed to open the database", "check that its folder exists"],
        ),
        (
            home.path("nowhere/a.db"),
            &["failed to open the database", "check that its folder exists"],
        ),
        (home.folder.path().to_owned(), &["is not a Madang database"]),
    ] {
        let ended = home.chat(&[text("Hello.")], &["--db", path.to_str().unwrap()], "hello\n");
        ended.failed_with(words);
    }
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "Dear madam, this is no database.");
}

#[cfg(unix)]
#[test]
fn a_folder_for_the_database_that_cannot_be_made_is_named() {
    let home = Home::new();
    home.file("data", "not a folder");
    let ended = home.chat(&[text("Hello.")], &[], "hello\n");
    ended.failed_with(&["failed to create the folder", "--db PATH"]);
}

/// Makes a database that the program may only read, and the program to run on it. Root may write
/// everything, so tests of root run the program as another account.
#[cfg(target_os = "linux")]
fn read_only(home: &Home) -> impl Fn(&[&str]) -> super::Ended {
    use std::os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    };
    const OTHER_USER: u32 = 65_534;
    let folder = home.database().parent().unwrap().to_owned();
    std::fs::set_permissions(home.database(), PermissionsExt::from_mode(0o444)).unwrap();
    let is_root = std::fs::metadata(&folder).unwrap().uid() == 0;
    let program = home.path("program");
    if is_root {
        std::fs::copy(env!("CARGO_BIN_EXE_madang"), &program).unwrap();
        for path in [home.folder.path().to_owned(), home.path("data"), folder.clone()] {
            chown(path, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
        }
        for file in std::fs::read_dir(folder).unwrap() {
            chown(file.unwrap().path(), Some(OTHER_USER), Some(OTHER_USER)).unwrap();
        }
    }
    move |arguments| {
        let mut command = home.command(arguments);
        if is_root {
            let mut other = std::process::Command::new(&program);
            other.args(arguments).current_dir(home.folder.path()).uid(OTHER_USER).gid(OTHER_USER);
            other
                .env_clear()
                .env("XDG_DATA_HOME", home.path("data"))
                .env("XDG_CONFIG_HOME", home.path("config"))
                .env("USER", "kim");
            command = other;
        }
        RunningProgram::start(command).ended()
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_database_is_told_and_can_still_be_read() {
    let home = Home::new();
    home.call("list_active_habits", &json!({}));
    let before = std::fs::read(home.database()).unwrap();
    let run = read_only(&home);
    run(&["call", "list_active_habits", "{}"])
        .failed_with(&["madang.db is read-only; make it and its folder writable"]);
    assert_eq!(run(&["ledger"]).events().len(), 1);
    assert_eq!(run(&["ledger", "--verify"]).code, Some(0));
    assert_eq!(std::fs::read(home.database()).unwrap(), before);
}

/// Writes the database as a program without our lock.
#[tokio::test]
async fn a_locked_database_is_told_and_the_next_run_has_all_that_was_acknowledged() {
    use sqlx::{Connection, SqliteConnection};

    let home = Home::new();
    let reply = [text("One."), text("Two.")];
    let script = home.script(&reply);
    let mut chat = RunningProgram::start(home.command(&[
        "chat",
        "--json",
        "--session",
        "one",
        "--script",
        script.to_str().unwrap(),
    ]));
    chat.write(b"one\n");
    chat.until("turn_ended");
    let url = format!("sqlite:{}", home.database().display());
    let mut other = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    chat.write(b"two\n");
    let ended = chat.ended();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let sentence = "failed to go on with session one: the database is locked by another program: end that one and try again";
    assert_eq!(ended.err, format!("madang: {sentence}\n"));
    other.close().await.unwrap();
    let again = home.chat(&reply[1..], &["--json", "--session", "one"], "two\n");
    assert_eq!((again.code, again.of_type("model_message").len()), (Some(0), 1), "{again:?}");
    assert!(again.events()[0]["seq"].is_number());
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_not_touched() {
    use sqlx::{Connection, SqliteConnection};

    let home = Home::new();
    home.call("list_active_habits", &json!({}));
    let url = format!("sqlite:{}", home.database().display());
    let mut db = SqliteConnection::connect(&url).await.unwrap();
    let newer = "UPDATE _madang_migrations SET version = 9000 WHERE version = (SELECT max(version) FROM _madang_migrations)";
    sqlx::query(newer).execute(&mut db).await.unwrap();
    db.close().await.unwrap();
    for arguments in [&["call", "list_active_habits", "{}"][..], &["ledger"]] {
        home.run(arguments, "").failed_with(&["was made by a newer version", "use that version"]);
    }
}

#[tokio::test]
async fn another_applications_database_is_not_touched() {
    use sqlx::{Connection, SqliteConnection};

    let home = Home::new();
    let path = home.path("shop.db");
    let mut db =
        SqliteConnection::connect(&format!("sqlite:{}?mode=rwc", path.display())).await.unwrap();
    sqlx::query("CREATE TABLE orders (id INTEGER PRIMARY KEY)").execute(&mut db).await.unwrap();
    db.close().await.unwrap();
    let before = std::fs::read(&path).unwrap();
    let ended = home.chat(&[text("Hello.")], &["--db", path.to_str().unwrap()], "hello\n");
    ended.failed_with(&["shop.db is not a Madang database"]);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_ledger_without_a_database_or_a_session_says_so() {
    let home = Home::new();
    home.run(&["ledger"], "").failed_with(&["there is no database", "begin a chat"]);
    home.call("list_active_habits", &json!({}));
    home.run(&["ledger", "--session", "nobody"], "")
        .failed_with(&["there is no session \"nobody\"", "--session"]);
}

#[test]
fn a_script_that_runs_out_fails_the_turn_and_the_next_line_is_read() {
    let home = Home::new();
    let ended = home.chat(&[text("Hello.")], &["--json", "--locale", "ko"], "one\ntwo\nthree\n");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.of_type("turn_ended").len(), 3);
    let errors = ended.of_type("error");
    assert_eq!(errors.len(), 2);
    for error in errors {
        assert_eq!(error["error"], json!({ "code": "model", "kind": "ScriptExhausted" }));
        assert_eq!(error["text"], "LLM 응답 실패: ScriptExhausted");
    }
}

#[test]
fn a_script_that_cannot_be_read_ends_before_anything_is_opened() {
    let home = Home::new();
    for (script, words) in [
        (&b"{\"text\":\"a\"}\nnonsense\n"[..], &["line 2 of the script", "try again"][..]),
        (b"{}", &["line 1 of the script needs a `text`"]),
        (b"\xff\xfe", &["is not UTF-8", "convert it"]),
    ] {
        let script = home.file("bad.jsonl", script);
        let ended = home.run(&["chat", "--script", script.to_str().unwrap()], "hello\n");
        ended.failed_with(words);
    }
    assert!(!home.database().exists());
}

#[test]
fn a_line_that_is_no_text_is_skipped_and_named() {
    let home = Home::new();
    let ended = home.chat(
        &[text("a"), text("b")],
        &["--json", "--session", "one"],
        b"one\n\xff\xfe\ntwo\n",
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let texts: Vec<Value> =
        ended.of_type("user_message").iter().map(|event| event["text"].clone()).collect();
    assert_eq!(texts, ["one", "two"]);
    assert_eq!(ended.err.lines().count(), 1);
    assert!(ended.err.contains("line 2 of the input is not UTF-8"), "{ended:?}");
}

#[test]
fn a_script_without_end_is_refused_before_it_takes_the_memory() {
    let home = Home::new();
    let script = home.path("endless.jsonl");
    std::fs::File::create(&script).unwrap().set_len(1 << 40).unwrap();
    let ended = home.run(&["chat", "--script", script.to_str().unwrap()], "hello\n");
    ended.failed_with(&["endless.jsonl", "64 MiB", "shorter"]);
    assert!(!home.database().exists());
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_is_read() {
    let home = Home::new();
    let long = "a".repeat(1 << 20);
    let endless = "가".repeat(3 << 20);
    let input = format!("one\n{long}\n{endless}\ntwo\n");
    let ended = home.chat(&[text("a"), text("b")], &["--json", "--session", "one"], input);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.of_type("user_message").len(), 2);
    let told: Vec<&str> = ended.err.lines().collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].contains("(1048576 bytes): shorten it to 65536 bytes"), "{told:?}");
    assert!(told[1].contains("(9437185 bytes)"), "{told:?}");
}

/// Arguments that every schema refuses: no JSON, no object, too deep, too long.
fn bad_arguments() -> [String; 5] {
    let deep = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    let long = json!({ "keyword": "a".repeat(10 << 20) }).to_string();
    ["{not json".to_owned(), "[1]".to_owned(), "7".to_owned(), deep, long]
}

#[test]
fn bad_arguments_of_a_call_are_a_validation_error() {
    let home = Home::new();
    for arguments in bad_arguments() {
        let ended = home.run(&["call", "search_catalog", "-"], &arguments);
        let shown: String = arguments.chars().take(20).collect();
        assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{shown}");
        let envelope: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(
            (&envelope["status"], &envelope["code"]),
            (&json!("error"), &json!("validation")),
            "{shown}"
        );
        assert!(ended.out.len() < 2_048, "{shown}");
    }
    let ended = home.run(&["call", "search_catalog", "-"], b"\xff\xfe");
    ended.failed_with(&["the arguments are not UTF-8", "convert them"]);
    let rows = home.run(&["ledger"], "").events();
    let raw: Vec<&str> = rows.iter().map(|row| row["raw_arguments"].as_str().unwrap()).collect();
    let mut kept = bad_arguments();
    let long = kept.last_mut().unwrap();
    *long = format!("{}…(+{} bytes)", &long[..1_024], long.len() - 1_024);
    assert!(raw == kept, "the ledger has them as they were written, of the longest the beginning");
}

#[test]
fn bad_arguments_by_the_model_are_told_to_it_and_the_turn_goes_on() {
    let home = Home::new();
    for arguments in bad_arguments() {
        let call = json!({ "tool_calls": [{ "name": "add_habit", "arguments": arguments }] });
        let ended =
            home.chat(&[call, text("I see.")], &["--json", "--confirm", "approve"], "add it\n");
        assert_eq!(ended.code, Some(0));
        assert_eq!(ended.of_type("tool_call_ended")[0]["outcome"]["code"], "validation");
        assert_eq!(ended.of_type("turn_ended")[0]["ending"], "answered");
    }
    assert_eq!(home.habits(), 0);
}

#[test]
fn an_unknown_tool_by_the_model_is_told_to_it_and_the_turn_goes_on() {
    let home = Home::new();
    let call = json!({ "tool_calls": [{ "name": "fly", "arguments": {} }] });
    let ended = home.chat(&[call, text("I cannot.")], &["--json", "--locale", "ko"], "fly\n");
    let outcome =
        json!({ "status": "error", "code": "unknown_tool", "reason": "알 수 없는 도구: fly" });
    assert_eq!(ended.of_type("tool_call_ended")[0]["outcome"], outcome);
    assert_eq!(ended.types().last().unwrap(), "turn_ended");
}

#[test]
fn a_chat_beside_another_process_is_refused_and_the_other_goes_on() {
    let home = Home::new();
    let script = home.script(&[text("One."), text("Two.")]);
    let mut first = RunningProgram::start(home.command(&[
        "chat",
        "--json",
        "--script",
        script.to_str().unwrap(),
    ]));
    first.write(b"one\n");
    first.until("turn_ended");
    let second =
        home.chat(&[add_habit()], &["--confirm", "approve", "--session", "two"], "add it\n");
    second.failed_with(&["in use by another process", "end that one first"]);
    first.write(b"two\n");
    assert!(first.until("turn_ended").contains("Two."));
    assert_eq!(first.ended().code, Some(0));
    home.run(&["ledger", "--session", "two"], "").failed_with(&["there is no session"]);
}

#[cfg(feature = "llama")]
#[test]
fn a_model_that_cannot_be_used_ends_before_anything_is_opened() {
    let home = Home::new();
    let header =
        [b"GGUF".as_slice(), &3_u32.to_le_bytes(), &291_u64.to_le_bytes(), &30_u64.to_le_bytes()]
            .concat();
    home.file("foreign.gguf", "PK\u{3}\u{4} this is a zip file, or so it says");
    home.file("empty.gguf", "");
    home.file("truncated.gguf", header);
    for (path, words) in [
        ("nowhere.gguf", &["there is no file nowhere.gguf", "give the path"][..]),
        ("foreign.gguf", &["foreign.gguf is not a GGUF file"]),
        ("empty.gguf", &["empty.gguf"]),
        ("truncated.gguf", &["truncated.gguf", "again"]),
        (".", &["failed to"]),
    ] {
        let ended = home.run(&["chat", "--model", path], "hello\n");
        ended.failed_with(words);
    }
    assert!(!home.database().exists());
}
