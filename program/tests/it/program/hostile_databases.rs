//! Tests hostile databases: each command answers, or says one clear sentence and leaves the file
//! unchanged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::{Ended, Home, add_habit};

/// Every command that takes a database.
fn commands(home: &Home) -> Vec<(Vec<String>, &'static str)> {
    let script = home.script(&[json!({ "text": "Hello." })]);
    let script = script.to_str().unwrap();
    let habit = r#"{"protocol_id":"fixed-wake","frame_level":"L2","framed_text":"wake"}"#;
    let all: [(&[&str], &str); 8] = [
        (&["chat", "--script", script, "--session", "s"], "hello\n"),
        (&["call", "add_habit", habit, "--confirm", "approve"], ""),
        (&["call", "list_active_habits", "{}"], ""),
        (&["call", "list_active_habits", "{}", "--session", "s"], ""),
        (&["ledger"], ""),
        (&["ledger", "--verify"], ""),
        (&["forget", "kim", "--yes"], ""),
        (&["notes", "repair"], ""),
    ];
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    all.into_iter().map(|(words, input)| (owned(words), input)).collect()
}

/// Makes a database with a chat, a call and a habit, in one file without a log.
async fn good(home: &Home) -> PathBuf {
    let ended = home.chat(
        &[add_habit(), json!({ "text": "Done." })],
        &["--session", "s", "--confirm", "approve"],
        "add\n",
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let path = home.path("good.db");
    let mut db = connect(&home.database()).await;
    sqlx::query("VACUUM INTO ?").bind(path.to_str().unwrap()).execute(&mut db).await.unwrap();
    db.close().await.unwrap();
    path
}

async fn connect(path: &Path) -> SqliteConnection {
    SqliteConnection::connect(&format!("sqlite:{}?mode=rwc", path.display())).await.unwrap()
}

fn try_all(home: &Home, path: &Path, mut check: impl FnMut(&str, Ended)) {
    for (mut words, input) in commands(home) {
        words.extend(["--db".to_owned(), path.to_str().unwrap().to_owned()]);
        check(&words.join(" "), home.run(&words, input));
    }
}

/// Requires one sentence in the program's form.
fn says_one_sentence(name: &str, ended: &Ended) {
    assert_eq!(ended.code, Some(1), "{name}: {ended:?}");
    let complaints: Vec<_> = ended.err.lines().filter(|line| !line.is_empty()).collect();
    assert!(complaints.len() == 1 && complaints[0].starts_with("madang: "), "{name}: {ended:?}");
    assert_eq!(ended.out, "", "{name}");
}

#[tokio::test]
async fn a_database_that_is_none_is_refused_by_every_command_and_left_as_it_was() {
    let home = Home::new();
    let good = fs::read(good(&home).await).unwrap();
    let mut first_page = good.clone();
    first_page[..4_096].fill(0xa5);
    let mut other_application = connect(&home.path("shop.db")).await;
    let orders = "CREATE TABLE orders (id INTEGER PRIMARY KEY); CREATE TABLE madang_calls (x)";
    sqlx::raw_sql(orders).execute(&mut other_application).await.unwrap();
    other_application.close().await.unwrap();
    let shop = fs::read(home.path("shop.db")).unwrap();
    for (name, bytes, words) in [
        ("text.db", b"no database\n".repeat(99), "is not a Madang database"),
        ("shop.db", shop, "is not a Madang database"),
        ("header.db", good[..100].to_vec(), "is not a Madang database"),
        ("first-page.db", first_page, "is not a Madang database"),
        ("two-pages.db", good[..8_192].to_vec(), "is damaged; restore it from a backup"),
        ("half.db", good[..good.len() / 2].to_vec(), "is damaged; restore it from a backup"),
        ("last.db", good[..good.len() - 4_096].to_vec(), "is damaged; restore it from a backup"),
    ] {
        let path = home.file(name, &bytes);
        try_all(&home, &path, |command, ended| {
            says_one_sentence(command, &ended);
            assert!(ended.err.contains(words), "{command}: {ended:?}");
            assert!(fs::read(&path).unwrap() == bytes, "{command} changed the file");
        });
    }
}

/// Foreign changes of `made`, a table of migrations, and the messages about them.
const MIGRATIONS: [(&str, &str, &str); 7] = [
    (
        "other",
        "UPDATE made SET checksum = x'00' WHERE version = 1",
        "failed to prepare the tables of",
    ),
    (
        "failed",
        "UPDATE made SET success = FALSE WHERE version = 1",
        "failed to prepare the tables of",
    ),
    ("unknown", "UPDATE made SET version = 0 WHERE version = 1", "failed to prepare the tables of"),
    ("columns", "DROP TABLE made; CREATE TABLE made (version)", "failed to prepare the tables of"),
    ("future", FUTURE, "was made by a newer version; use that version"),
    ("word", "UPDATE made SET version = 'one' WHERE version = 1", "is damaged; restore it"),
    ("none", "UPDATE made SET version = NULL WHERE version = 1", "failed to prepare the tables of"),
];
const FUTURE: &str = "INSERT INTO made (version, description, success, checksum, execution_time) \
     VALUES (9999, 'the future', TRUE, x'00', 0)";

/// Makes the good database with another table of migrations.
async fn with_migrations(home: &Home, good: &[u8], name: &str, sql: String) -> (PathBuf, Vec<u8>) {
    let path = home.file(&format!("{name}.db"), good);
    let mut db = connect(&path).await;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut db).await.unwrap();
    db.close().await.unwrap();
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
}

#[tokio::test]
async fn migrations_that_do_not_fit_are_told_of_by_every_command_and_left_as_they_were() {
    let home = Home::new();
    let good = fs::read(good(&home).await).unwrap();
    let of_the_stores_own = [
        ("unsure", "UPDATE made SET success = 'perhaps'", "is damaged; restore it"),
        ("gone", "DROP TABLE made", "is not a Madang database"),
    ];
    for (name, sql, words) in MIGRATIONS.into_iter().chain(of_the_stores_own) {
        let sql = sql.replace("made", "_madang_migrations");
        let (path, bytes) = with_migrations(&home, &good, name, sql).await;
        try_all(&home, &path, |command, ended| {
            says_one_sentence(command, &ended);
            assert!(ended.err.contains(words), "{command}: {ended:?}");
            assert!(fs::read(&path).unwrap() == bytes, "{command} changed the file");
        });
    }
}

#[tokio::test]
async fn reading_the_ledger_needs_no_missing_migration_and_none_of_a_toolkit() {
    let home = Home::new();
    let good = fs::read(good(&home).await).unwrap();
    let gone = [("gone", "DROP TABLE made"), ("emptied", "DELETE FROM made")];
    let gone = gone.map(|(name, sql)| (name, sql, "failed to prepare the tables of"));
    let of_a_toolkit = MIGRATIONS.into_iter().chain(gone);
    let of_a_toolkit = of_a_toolkit
        .map(|(name, sql, words)| (name, sql.replace("made", "_life_migrations"), words));
    let emptied = (
        "own",
        "DELETE FROM _madang_migrations".to_owned(),
        "failed to prepare the tables of the store",
    );
    for (name, sql, words) in of_a_toolkit.chain([emptied]) {
        let (path, bytes) = with_migrations(&home, &good, name, sql).await;
        try_all(&home, &path, |command, ended| {
            // The notes need no table of the habits.
            if command.starts_with("notes") && name != "own" {
                return;
            }
            if command.starts_with("ledger") {
                assert_eq!(ended.code, Some(0), "{command}: {ended:?}");
            } else {
                says_one_sentence(command, &ended);
                assert!(ended.err.contains(words), "{command}: {ended:?}");
            }
            assert!(fs::read(&path).unwrap() == bytes, "{command} changed the file");
        });
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_name_that_leads_to_no_file_is_refused_by_every_command() {
    use std::os::unix::fs::symlink;

    let home = Home::new();
    fs::create_dir(home.path("folder.db")).unwrap();
    symlink("loop.db", home.path("loop.db")).unwrap();
    symlink("nowhere/gone.db", home.path("gone.db")).unwrap();
    symlink("/dev/null", home.path("null.db")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(home.path("pipe.db")).status().unwrap();
    assert!(made.success());
    for name in ["folder.db", "loop.db", "gone.db", "null.db", "pipe.db"] {
        try_all(&home, &home.path(name), |command, ended| says_one_sentence(command, &ended));
    }
    assert!(!home.path("nowhere").exists());
}

/// The part that reads a damaged page reports it, if any does.
#[tokio::test]
async fn a_page_of_rubbish_never_ends_a_command_in_another_way() {
    let home = Home::new();
    let good = fs::read(good(&home).await).unwrap();
    let pages = good.len() / 4_096;
    let mut refused = 0;
    for page in (1..pages).step_by(pages / 6) {
        let mut bytes = good.clone();
        for (index, byte) in bytes[page * 4_096..][..4_096].iter_mut().enumerate() {
            *byte = u8::try_from((index * 7 + page * 13) % 251).unwrap();
        }
        let path = home.file(&format!("page{page}.db"), &bytes);
        try_all(&home, &path, |command, ended| {
            assert!(matches!(ended.code, Some(0 | 1)), "{command}: {ended:?}");
            assert!(!ended.err.contains("panicked"), "{command}: {ended:?}");
            refused += usize::from(ended.code == Some(1));
            let is_told = ended.err.lines().any(|line| line.starts_with("madang: "));
            assert_eq!(is_told, ended.code == Some(1), "{command}: {ended:?}");
        });
    }
    assert!(refused > 6, "{refused}");
}

/// Makes a file that SQLite has begun and that has no table.
async fn empty(home: &Home) -> PathBuf {
    let path = home.path("empty.db");
    let mut db = connect(&path).await;
    sqlx::raw_sql("CREATE TABLE a (b); DROP TABLE a").execute(&mut db).await.unwrap();
    db.close().await.unwrap();
    path
}

/// Leaves what a program without a log leaves that dies while it writes: a part of its pages, and a
/// journal to undo them.
async fn half_written(home: &Home, whole: &Path) -> PathBuf {
    let left = home.path("left.db");
    let mut db = connect(whole).await;
    // With a cache of one page, pages are written before the end.
    let writes = "PRAGMA cache_size = 1; BEGIN; CREATE TABLE more (a); WITH RECURSIVE n (i) AS \
        (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO more SELECT randomblob(4000) FROM n";
    sqlx::raw_sql(writes).execute(&mut db).await.unwrap();
    for end in ["", "-journal"] {
        let name = |path: &Path| format!("{}{end}", path.display());
        fs::copy(name(whole), name(&left)).unwrap();
    }
    left
}

#[tokio::test]
async fn a_half_written_database_is_read_only_once_a_writer_has_undone_that() {
    for has_been_whole in [true, false] {
        let home = Home::new();
        let whole = if has_been_whole { good(&home).await } else { empty(&home).await };
        let path = half_written(&home, &whole).await;
        let files =
            || [path.clone(), home.path("left.db-journal")].map(|file| fs::read(file).unwrap());
        let before = files();
        let path = path.to_str().unwrap();
        for order in [&["ledger", "--db", path][..], &["ledger", "--verify", "--db", path]] {
            home.run(order, "").failed_with(&[
                "left.db is half written",
                "begin a chat with it",
                "again",
            ]);
        }
        assert!(files() == before, "a reader changes nothing");
        let written = home.run(&["call", "list_active_habits", "{}", "--db", path], "");
        assert_eq!(written.code, Some(0), "{written:?}");
        let rows = home.run(&["ledger", "--db", path], "").events();
        assert_eq!(rows.len(), 1 + usize::from(has_been_whole), "{rows:?}");
        assert_eq!(home.run(&["ledger", "--verify", "--db", path], "").code, Some(0));
    }
}
