//! Tests that `ledger --verify` finds and names every hidden change of the file, or says that it
//! cannot.

use std::{fs, path::Path};

use serde_json::{Value, json};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions,
};

use super::{Home, RunningProgram, add_habit, is_obeyed};

/// Makes a database with two calls in session `one` and one in session `two`. The first call is
/// steps 1 to 3, the second the rest.
fn written() -> Home {
    let home = Home::new();
    for session in ["one", "two"] {
        chat(&home, session, &json!({ "name": "list_active_habits", "arguments": {} }));
    }
    chat(&home, "one", &add_habit()["tool_calls"][0]);
    home
}

fn chat(home: &Home, session: &str, call: &Value) {
    let script = [json!({ "tool_calls": [call] }), json!({ "text": "Done." })];
    let ended = home.chat(&script, &["--session", session, "--confirm", "approve"], "please\n");
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Returns the output of `--verify` about session `one`.
fn verified(home: &Home, options: &[&str]) -> Value {
    let ended = home.run(&[&["ledger", "--verify", "--session", "one"], options].concat(), "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.events().remove(0)
}

/// Changes the file in a hidden way: drops the triggers and creates them again.
pub(super) async fn tamper(path: &Path, sql: &str) {
    let mut db = connect(path).await;
    let triggers = drop_triggers(&mut db).await;
    run(&mut db, sql.to_owned()).await;
    for sql in triggers {
        run(&mut db, sql).await;
    }
    db.close().await.unwrap();
}

/// Opens the file without the triggers that guard the ledger.
pub(super) async fn without_triggers(path: &Path) {
    let mut db = connect(path).await;
    assert!(!drop_triggers(&mut db).await.is_empty());
    db.close().await.unwrap();
}

async fn connect(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).foreign_keys(false).connect().await.unwrap()
}

async fn run(db: &mut SqliteConnection, sql: String) {
    sqlx::query(AssertSqlSafe(sql)).execute(db).await.unwrap();
}

/// Returns the statements that create them again.
async fn drop_triggers(db: &mut SqliteConnection) -> Vec<String> {
    let triggers =
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'madang_%'";
    let triggers: Vec<(String, String)> =
        sqlx::query_as(triggers).fetch_all(&mut *db).await.unwrap();
    for (name, _) in &triggers {
        run(db, format!("DROP TRIGGER {name}")).await;
    }
    triggers.into_iter().map(|(_, sql)| sql).collect()
}

/// SQL that gives other positions to the transitions of session `one`.
fn renumber(moves: &[(i64, i64)]) -> String {
    let one = |(from, to): &(i64, i64)| {
        format!(
            "UPDATE madang_transitions SET position = {to} WHERE session = 'one' AND position = {from};"
        )
    };
    moves.iter().map(one).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_found_and_named() {
    let home = written();
    let length = verified(&home, &[])["transitions"].as_i64().unwrap();
    assert!(length >= 8, "two calls, the second asked about: {length}");
    let later: Vec<(i64, i64)> = (5..=length).map(|position| (position, position - 1)).collect();
    let up: Vec<(i64, i64)> = (4..=length).rev().map(|position| (position, position + 1)).collect();
    let last = format!("session = 'one' AND position = {length}");
    let (second, end) =
        ("(SELECT call FROM madang_calls WHERE name = 'add_habit')", "WHERE session = 'one'");
    let broken_at = |position: i64| format!("at or before transition {position}");
    let damaged = |position: i64| format!("transition {position} is not as it was written");
    let cases = [
        ("an outcome", format!("UPDATE madang_transitions SET transition = replace(transition, 'habit_id', 'habit') WHERE {last}"), broken_at(length)),
        ("a time", "UPDATE madang_transitions SET at = at + 1 WHERE session = 'one' AND position = 2".to_owned(), broken_at(2)),
        ("a hash", format!("UPDATE madang_transitions SET hash = randomblob(32) WHERE {last}"), broken_at(length)),
        ("a space", "UPDATE madang_transitions SET transition = transition || ' ' WHERE session = 'one' AND position = 3".to_owned(), damaged(3)),
        ("no JSON", "UPDATE madang_transitions SET transition = '{' WHERE session = 'one' AND position = 3".to_owned(), damaged(3)),
        ("a step's name", "UPDATE madang_transitions SET step = 'ended' WHERE session = 'one' AND position = 2".to_owned(), damaged(2)),
        ("a salt", "UPDATE madang_transitions SET salt = zeroblob(16) WHERE session = 'one' AND position = 2".to_owned(), broken_at(2)),
        ("a deleted step", "DELETE FROM madang_transitions WHERE session = 'one' AND position = 4".to_owned(), damaged(4)),
        ("a deleted step, renumbered", format!("DELETE FROM madang_transitions WHERE session = 'one' AND position = 4; {}", renumber(&later)), broken_at(4)),
        ("two steps the other way round", renumber(&[(2, 99), (3, 2), (99, 3)]), broken_at(2)),
        ("an inserted step", format!("{} INSERT INTO madang_transitions SELECT session, 4, call, at, step, transition, salt, hash FROM madang_transitions WHERE session = 'one' AND position = 3", renumber(&up)), broken_at(4)),
        ("a cut-off end", format!("DELETE FROM madang_transitions WHERE {last}"), format!("{} transitions where {length} were expected", length - 1)),
        ("another length", format!("UPDATE madang_sessions SET chain_length = 3 {end}"), "where 3 were expected".to_owned()),
        ("another head", format!("UPDATE madang_sessions SET chain_head = zeroblob(32) {end}"), "or another end".to_owned()),
        ("no session row", format!("DELETE FROM madang_sessions {end}"), "where 0 were expected".to_owned()),
        ("a call's outcome", format!("UPDATE madang_calls SET outcome = '{{\"status\":\"ok\",\"data\":1}}' WHERE call = {second}"), "does not stand where its transitions say".to_owned()),
        ("a call's outcome that is none", format!("UPDATE madang_calls SET outcome = '{{' WHERE call = {second}"), "the row of call".to_owned()),
        ("decided by", format!("UPDATE madang_calls SET decided_by = 'lee' WHERE call = {second}"), "does not stand".to_owned()),
        ("another owner", "UPDATE madang_sessions SET user = 'lee' WHERE session = 'one'".to_owned(), "is not surely lee's".to_owned()),
        ("no owner's seal", "UPDATE madang_sessions SET seal = NULL WHERE session = 'one'".to_owned(), "it has no seal".to_owned()),
        ("an approval without its seal", "UPDATE madang_transitions SET transition = json_remove(transition, '$.seal') WHERE step = 'approved'".to_owned(), "is not an approval of call".to_owned()),
        ("an approval for longer", "UPDATE madang_transitions SET transition = json_set(transition, '$.expires_at', 9000000000000000) WHERE step = 'approved'".to_owned(), "is not what was decided".to_owned()),
        ("a row without its seal", format!("UPDATE madang_calls SET seal = NULL WHERE call = {second}"), "has no valid approval".to_owned()),
        ("what was shown", format!("UPDATE madang_calls SET shown = replace(shown, 'add_habit', 'nothing') WHERE call = {second}"), "does not stand".to_owned()),
        ("a call's arguments", format!("UPDATE madang_calls SET arguments = '{{}}' WHERE call = {second}"), "does not stand".to_owned()),
        ("a call's effect", format!("UPDATE madang_calls SET effect = 'none' WHERE call = {second}"), "does not stand".to_owned()),
        ("a deleted call", format!("DELETE FROM madang_calls WHERE call = {second}"), "does not stand".to_owned()),
        ("a call in another session", format!("UPDATE madang_calls SET session = 'two' WHERE call = {second}"), "does not stand".to_owned()),
        ("a call out of the transcript", format!("DELETE FROM madang_messages WHERE call = {second}"), "is not at its position".to_owned()),
    ];
    for (what, sql, words) in cases {
        let copy = home.path("copy.db");
        fs::copy(home.database(), &copy).unwrap();
        tamper(&copy, &sql).await;
        let options = ["ledger", "--verify", "--db", copy.to_str().unwrap()];
        let one = home.run(&[&options[..], &["--session", "one"]].concat(), "");
        one.failed_with(&["the ledger of session \"one\" does not hold", &words]);
        let all = home.run(&options, "");
        assert_eq!(all.code, Some(1), "{what}: {all:?}");
        assert!(all.err.contains("\"one\"") && all.err.contains(&words), "{what}: {all:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_missing_seal_is_named_in_a_sentence_of_its_own() {
    let home = written();
    let sql = "UPDATE madang_sessions SET seal = NULL WHERE session = 'one'; \
               UPDATE madang_calls SET seal = NULL WHERE approval IS NOT NULL";
    tamper(&home.database(), sql).await;
    let told = home.run(&["ledger", "--verify", "--session", "one"], "");
    assert_eq!(told.code, Some(1), "{told:?}");
    for words in ["is not surely kim's", "has no valid approval", "2 things do not hold"] {
        assert!(told.err.contains(words), "{words}: {told:?}");
    }
}

/// Removes the second call of session `one` so that everything fits again.
const CUT_OFF: &str = "\
    DELETE FROM madang_transitions WHERE session = 'one' AND position > 3; \
    DELETE FROM madang_calls WHERE name = 'add_habit'; \
    DELETE FROM madang_messages WHERE session = 'one' AND seq > 4; \
    UPDATE madang_sessions SET chain_length = 3, chain_head = \
    (SELECT hash FROM madang_transitions WHERE session = 'one' AND position = 3) WHERE session = 'one'";

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_was_cut_off_cleanly_is_found_by_a_head_that_was_kept() {
    let home = written();
    let head = verified(&home, &[])["head"].as_str().unwrap().to_owned();
    tamper(&home.database(), CUT_OFF).await;

    let without = home.run(&["ledger", "--verify", "--session", "one"], "");
    assert_eq!(without.code, Some(0), "it stays unknown: {without:?}");
    assert_eq!(without.err.lines().count(), 1);
    assert!(
        without.err.contains("without a head that was kept elsewhere it stays unknown"),
        "{without:?}"
    );
    let with = home.run(&["ledger", "--verify", "--session", "one", "--head", &head], "");
    with.failed_with(&["session \"one\" does not hold", "none of the 3 transitions has the head"]);

    for table in ["transitions", "calls", "messages", "turns", "sessions"] {
        let sql = format!("DELETE FROM madang_{table} WHERE session = 'one'");
        tamper(&home.database(), &sql).await;
    }
    let with = home.run(&["ledger", "--verify", "--session", "one", "--head", &head], "");
    with.failed_with(&["nothing of session \"one\"", "it was removed"]);
    let named = home.run(&["ledger", "--verify", "--session", "one"], "");
    named.failed_with(&["there is no session \"one\""]);
    let all = home.run(&["ledger", "--verify"], "");
    assert_eq!((all.code, all.events().len()), (Some(0), 1), "only session two is left: {all:?}");
    assert!(all.err.contains("without a head that was kept elsewhere it stays unknown"), "{all:?}");
}

#[test]
fn a_head_that_was_kept_vouches_for_what_came_before_it() {
    let home = Home::new();
    let list = json!({ "name": "list_active_habits", "arguments": {} });
    chat(&home, "one", &list);
    let first = verified(&home, &[]);
    assert_eq!(
        (&first["calls"], &first["transitions"], &first["vouched_for"]),
        (&json!(1), &json!(3), &json!(0))
    );
    let head = first["head"].as_str().unwrap();
    assert_eq!(verified(&home, &["--head", head])["vouched_for"], 3);
    chat(&home, "one", &list);
    let second = verified(&home, &["--head", head]);
    assert_eq!((&second["transitions"], &second["vouched_for"]), (&json!(6), &json!(3)));

    let ended =
        home.run(&["ledger", "--verify", "--session", "one", "--head", head, "--locale", "ko"], "");
    assert!(ended.err.contains("전이 3개까지는"), "{ended:?}");
    let other = "0".repeat(63) + "1";
    home.run(&["ledger", "--verify", "--session", "one", "--head", &other], "")
        .failed_with(&["none of the 6"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_and_added_triggers_and_indexes_are_named() {
    let home = written();
    for (sql, words) in [
        ("DROP TRIGGER madang_transitions_stay", "the trigger madang_transitions_stay is missing"),
        ("DROP INDEX madang_calls_run_once", "the index madang_calls_run_once is missing"),
        (
            "CREATE TRIGGER helper AFTER INSERT ON madang_transitions BEGIN SELECT 1; END",
            "the trigger helper is not the store's own",
        ),
        (
            "DROP TRIGGER madang_calls_stay; CREATE TRIGGER madang_calls_stay BEFORE DELETE ON madang_calls BEGIN SELECT 1; END",
            "the trigger madang_calls_stay was changed",
        ),
    ] {
        let copy = home.path("copy.db");
        fs::copy(home.database(), &copy).unwrap();
        let mut db = SqliteConnectOptions::new().filename(&copy).connect().await.unwrap();
        sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut db).await.unwrap();
        db.close().await.unwrap();
        let told = home.run(&["ledger", "--verify", "--db", copy.to_str().unwrap()], "");
        assert!(told.code == Some(1) && told.err.contains(words), "{sql}: {told:?}");
    }
}

#[test]
fn without_the_seal_keys_a_verification_says_what_it_cannot_tell() {
    let home = written();
    let keys = home.path("config/madang/seal.keys");
    let before = fs::read_to_string(&keys).unwrap();
    let rotated = home.run(&["ledger", "--rotate-seal-key"], "");
    assert_eq!(rotated.code, Some(0), "{rotated:?}");
    assert_eq!(rotated.events()[0]["keys"].as_array().unwrap().len(), 2);
    assert!(fs::read_to_string(&keys).unwrap().ends_with(&before), "the older key is kept");
    verified(&home, &[]);
    chat(&home, "one", &add_habit()["tool_calls"][0]);
    verified(&home, &[]);

    fs::remove_file(&keys).unwrap();
    let without = home.run(&["ledger", "--verify"], "");
    assert_eq!(without.code, Some(0), "{without:?}");
    assert!(without.err.contains("Not checked without the seal keys"), "{without:?}");
    let script = home.script(&[json!({ "text": "Hello." })]);
    let chat = home.run(&["chat", "--script", script.to_str().unwrap()], "hi\n");
    chat.failed_with(&["was sealed with key", "seal.keys; restore the file of its keys"]);
    assert!(!keys.exists(), "a fresh key would vouch for nothing");
}

#[test]
fn a_head_belongs_to_one_session_and_to_a_verification() {
    let home = written();
    let head = "0".repeat(64);
    for wrong in [
        &["ledger", "--verify", "--head", &head][..],
        &["ledger", "--session", "one", "--head", &head],
        &["ledger", "--verify", "--session", "one", "--head", "abc"],
    ] {
        assert_eq!(home.run(wrong, "").code, Some(2), "{wrong:?}");
    }
    home.run(&["ledger", "--verify", "--session", "nobody"], "")
        .failed_with(&["there is no session \"nobody\""]);
}

#[test]
fn both_reading_commands_work_while_another_process_holds_the_lock() {
    let home = written();
    let script = home.script(&[json!({ "text": "Here." }), json!({ "text": "Still." })]);
    let mut chat = RunningProgram::start(home.command(&[
        "chat",
        "--json",
        "--session",
        "one",
        "--script",
        script.to_str().unwrap(),
    ]));
    chat.write(b"hello\n");
    chat.until("turn_ended");
    assert_eq!(home.run(&["ledger"], "").events().len(), 3);
    let verified = home.run(&["ledger", "--verify"], "");
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let sessions: Vec<Value> =
        verified.events().iter().map(|line| line["session"].clone()).collect();
    assert_eq!(sessions, ["one", "two"]);
    assert_eq!(chat.ended().code, Some(0));
}

#[test]
fn no_name_of_a_session_reaches_the_terminal_as_it_obeys_it() {
    let home = Home::new();
    let name = "a\u{202e}b";
    chat(&home, name, &json!({ "name": "list_active_habits", "arguments": {} }));
    let verified = home.run(&["ledger", "--verify"], "");
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(!verified.out.contains(is_obeyed), "{:?}", verified.out);
    assert_eq!(verified.events()[0]["session"], name, "it is the same name");
    let missing = home.run(&["ledger", "--verify", "--session", "c\u{202e}d"], "");
    assert!(missing.code == Some(1) && !missing.err.contains(is_obeyed), "{missing:?}");
    let call = ["call", "list_active_habits", "{}", "--user", "lee", "--session", name];
    let foreign = home.run(&call, "");
    foreign.failed_with(&["belongs to another user"]);
    assert!(!foreign.err.contains(is_obeyed), "{foreign:?}");
}
