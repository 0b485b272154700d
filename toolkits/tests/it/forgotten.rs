//! Tests that a forgotten user is in no table and no index, and that the user's approvals are gone.

use std::{collections::BTreeMap, fs};

use madang::{
    Clock as _, LanguageTag, Runtime, Session, SystemClock, UserId,
    approval::Decision,
    ledger::{Forget, LedgerFilter},
    model::Completion,
    store::{SqliteStore, Store as _},
    tool::{ToolOutcome, WantedCall},
};
use madang_testing::{HandScript, Probe, model_pair};
use madang_toolkits::{life, notes};
use serde_json::{Value, json};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions,
};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::support::{PATIENCE, data};

/// Names that stand in no other text.
const USER: &str = "zelkova";
const SESSION: &str = "paulownia";

/// One process with both toolkits, in the user's session.
struct Life {
    runtime: Runtime,
    session: Session,
    script: HandScript,
}

async fn open(folder: &TempDir) -> SqliteStore {
    let options = SqliteStore::open(folder.path().join("a.db"));
    let options = options.migrations("life", &life::MIGRATIONS);
    options.migrations("notes", &notes::MIGRATIONS).await.unwrap()
}

impl Life {
    async fn new(folder: &TempDir) -> Self {
        let (model, script) = model_pair();
        let builder = Runtime::builder().model(model).store(open(folder).await);
        let builder = builder.language(LanguageTag::EN).tools(life::tools()).tools(notes::tools());
        let runtime = builder.start().await.unwrap();
        let session = runtime.user(USER).unwrap().session(SESSION).await.unwrap();
        Self { runtime, session, script }
    }

    /// Runs a turn with one call and gives this answer to its question. Returns whether a question
    /// came, and the end of the call.
    async fn calls(
        &mut self,
        name: &str,
        arguments: &Value,
        answer: Decision,
    ) -> (bool, ToolOutcome) {
        let turn = async {
            let mut probe = Probe::new(self.session.subscribe());
            let turn = self.session.send("go").await.unwrap();
            let tool_calls = vec![WantedCall::new(name, arguments.to_string())];
            self.script.next().await.finish(Completion { tool_calls, ..Completion::default() });
            let request = tokio::select! {
                request = probe.approval_request() => Some(request),
                completion = self.script.next() => {
                    completion.say("Well.");
                    None
                }
            };
            let was_asked = request.is_some();
            if let Some(request) = request {
                self.session.decide(&request, answer).await.unwrap();
                self.script.next().await.say("Well.");
            }
            turn.ended().await.unwrap();
            let rows = self.runtime.ledger(&LedgerFilter::default()).await.unwrap();
            (was_asked, rows.last().unwrap().outcome.clone().unwrap())
        };
        timeout(PATIENCE, turn).await.expect("it comes in time")
    }

    /// Runs a turn with one call that must succeed, and returns its data.
    async fn does(&mut self, name: &str, arguments: Value) -> Value {
        let (_, outcome) = self.calls(name, &arguments, Decision::Approve).await;
        assert!(outcome.is_ok(), "{name}: {outcome}");
        data(&outcome).clone()
    }
}

/// Writes the user's notes to files, in a temporary folder.
#[cfg(unix)]
async fn mirrored(folder: &TempDir) {
    let store = open(folder).await;
    let work = tempfile::tempdir().unwrap();
    let user = UserId::new(USER).unwrap();
    let report = notes::mirror::repair(&store, user, &work.path().join("work")).await.unwrap();
    assert!(!report.written.is_empty(), "{report:?}");
    store.close().await;
}

/// Erases the user, also from the tables of both toolkits.
async fn forget(folder: &TempDir) {
    let store = open(folder).await;
    let order = Forget {
        user: UserId::new(USER).unwrap(),
        by: UserId::new("root").unwrap(),
        at: SystemClock.now(),
        tables: [&life::FORGET[..], &notes::FORGET].concat(),
    };
    assert_eq!(store.forget(&order).await.unwrap().sessions, 1);
    store.close().await;
}

async fn reader(folder: &TempDir) -> SqliteConnection {
    SqliteConnectOptions::new().filename(folder.path().join("a.db")).connect().await.unwrap()
}

/// Counts the rows of each table, without the tables of store and SQLite that hold no user's rows.
async fn rows(db: &mut SqliteConnection) -> BTreeMap<String, i64> {
    let tables =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'";
    let mut tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut *db).await.unwrap();
    tables.retain(|table| ["madang_", "life_", "notes_"].iter().any(|its| table.starts_with(its)));
    let mut rows = BTreeMap::new();
    for table in tables {
        let count = AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        rows.insert(table, sqlx::query_scalar(count).fetch_one(&mut *db).await.unwrap());
    }
    rows
}

/// Lists the indexed words.
async fn words(db: &mut SqliteConnection) -> Vec<String> {
    let mut words = Vec::new();
    for index in ["notes_words", "notes_title_words"] {
        let view = format!(
            "CREATE VIRTUAL TABLE temp.{index}_seen USING fts5vocab (main, {index}, instance)"
        );
        sqlx::query(AssertSqlSafe(view)).execute(&mut *db).await.unwrap();
        let terms = AssertSqlSafe(format!("SELECT term FROM temp.{index}_seen"));
        words.extend(sqlx::query_scalar::<_, String>(terms).fetch_all(&mut *db).await.unwrap());
    }
    words
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_user_has_no_row_in_a_table_and_no_word_in_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::new(&folder).await;
    let blocks = json!([{ "content": "wenge" }, { "content": "padauk", "indent": 1 }]);
    let page = json!({ "title": "sapele", "blocks": blocks });
    let page = life.does("create_page_with_blocks", page).await;
    life.does("open_page", json!({ "pageId": page["id"] })).await;
    let gone = life.does("create_page", json!({ "title": "bubinga" })).await;
    #[cfg(unix)]
    {
        life.runtime.shutdown().await.unwrap();
        mirrored(&folder).await;
        life = Life::new(&folder).await;
    }
    life.does("delete_page", json!({ "id": gone["id"] })).await;
    life.does("rename_page", json!({ "id": page["id"], "title": "iroko" })).await;
    let habit = json!({
        "protocol_id": "morning-light", "frame_level": "L2", "framed_text": "I look at the light",
    });
    life.does("add_habit", habit).await;
    life.does("log_tracker_entry", json!({ "habit_id": 1, "value": "blank" })).await;
    life.runtime.shutdown().await.unwrap();

    let mut db = reader(&folder).await;
    let before = rows(&mut db).await;
    for table in [
        "madang_messages",
        "madang_turns",
        "life_entries",
        "notes_blocks",
        "notes_contexts",
        "notes_changes",
        "notes_files",
        #[cfg(unix)]
        "notes_files_written",
    ] {
        assert!(before[table] > 0, "there is something to erase in {table}: {before:?}");
    }
    let found = words(&mut db).await;
    assert!(["wenge", "iroko"].iter().all(|word| found.iter().any(|its| its == word)), "{found:?}");
    db.close().await.unwrap();

    forget(&folder).await;
    let mut db = reader(&folder).await;
    let kept = rows(&mut db).await.into_iter().filter(|(table, rows)| {
        // The names of the keys stay, and the empty structure of the indexes.
        let stays =
            ["_config", "_data", "_idx", "_seal_keys"].iter().any(|end| table.ends_with(end));
        *rows > 0 && !stays
    });
    let kept: Vec<_> = kept.collect();
    assert_eq!(kept, [("madang_erased".to_owned(), 1)]);
    assert_eq!(words(&mut db).await, <[String; 0]>::default());
    db.close().await.unwrap();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let (path, bytes) = {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            (path, bytes)
        };
        // An index stores a word without the letters that it shares with the one before.
        for word in [USER, SESSION, "enge", "adauk", "apele", "binga", "roko", "look at the light"]
        {
            let is_there = bytes.windows(word.len()).any(|part| part == word.as_bytes());
            assert!(!is_there, "{word} is in {}", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_allowed_for_ever_is_asked_about_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::new(&folder).await;
    for (number, was_asked) in [(1, true), (2, false)] {
        let page = life.does("create_page", json!({ "title": format!("page {number}") })).await;
        let page = json!({ "id": page["id"] });
        let (asked, outcome) = life.calls("delete_page", &page, Decision::ApproveAlways).await;
        assert_eq!((asked, outcome.is_ok()), (was_asked, true));
    }
    life.runtime.shutdown().await.unwrap();
    forget(&folder).await;

    let mut life = Life::new(&folder).await;
    assert_eq!(life.session.standing_approvals().await.unwrap(), []);
    assert_eq!(life.session.state().await.unwrap().messages.len(), 0);
    let page = life.does("create_page", json!({ "title": "page 3" })).await;
    let (asked, _) = life.calls("delete_page", &json!({ "id": page["id"] }), Decision::Deny).await;
    assert!(asked, "nothing is allowed any more");
    life.runtime.shutdown().await.unwrap();
}
