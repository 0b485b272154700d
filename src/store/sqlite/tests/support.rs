//! Makes a store with its actor for the tests, and facts to write.

use std::sync::{Arc, LazyLock};

use madang_actors::{
    ledger::{Ended, Proposal, Transition, text_digest},
    port::{Store as _, StoreError, Write},
    protocol::{
        CallId, CallResult, ChatMessage, Content, Effect, Limits, SessionId, Timestamp,
        ToolOutcome, TurnId, TurnOptions, UserId,
    },
    store::{Keep, Lease, StoreHandle},
};
use madang_testing::lone_store;
use serde_json::json;
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, QueryBuilder, Sqlite, SqliteConnection,
    migrate::Migrator, sqlite::SqliteConnectOptions,
};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::store::SqliteStore;

/// A toolkit's table and its versions.
pub(super) static NOTES: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!("src/store/sqlite/tests/notes");
    migrator.dangerous_set_table_name("_notes_migrations");
    migrator
});

/// A store on a file of its own, behind a StoreActor.
pub(super) struct StoreFixture {
    pub(super) folder: TempDir,
    pub(super) store: SqliteStore,
    pub(super) handle: StoreHandle,
    tasks: TaskTracker,
}

impl StoreFixture {
    pub(super) async fn new() -> Self {
        Self::with(Limits::default()).await
    }

    pub(super) async fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("store.db"))
            .migrations("notes", &NOTES)
            .await
            .unwrap();
        let tasks = TaskTracker::new();
        let handle = lone_store(Arc::new(store.clone()), limits, tasks.clone()).await;
        Self { folder, store, handle, tasks }
    }

    pub(super) async fn chat(&self, name: &str) {
        let opened = Write::Session { session: session(name), user: user(), at: at() };
        let began = Write::TurnStarted {
            session: session(name),
            turn: turn(),
            at: at(),
            options: TurnOptions::default(),
            text: text_digest("hi"),
            max_stored_bytes: u64::MAX,
        };
        self.handle.write(vec![opened, began]).await.unwrap();
    }

    pub(super) async fn lease(&self, label: &str) -> Lease {
        self.handle.lease(label.into()).await.unwrap()
    }

    /// Lends the transaction to a handler and ends the lease.
    pub(super) async fn call(
        &self,
        number: u64,
        keep: Keep,
        handler: impl AsyncFnOnce(&mut SqliteConnection),
    ) -> Result<(), StoreError> {
        let mut lease = self.lease("tool").await;
        handler(db(&mut lease)).await;
        lease.end(keep, record("s", number)).await
    }

    /// Counts rows from another program.
    pub(super) async fn count(&self, sql: &'static str) -> i64 {
        let file = SqliteConnectOptions::new().filename(self.folder.path().join("store.db"));
        let mut db = file.read_only(true).connect().await.unwrap();
        let count = sqlx::query_scalar(sql).fetch_one(&mut db).await.unwrap();
        db.close().await.unwrap();
        count
    }

    /// Adds the seals of the decisions in these facts.
    pub(super) fn sealed(&self, writes: Vec<Write>) -> Vec<Write> {
        let seal = |write| {
            let Write::Call { session, call, at, transition } = write else { return write };
            let transition = self.store.keys().sealed(&session, call, at, transition);
            Write::Call { session, call, at, transition }
        };
        writes.into_iter().map(seal).collect()
    }

    /// Opens the same file as another program.
    pub(super) async fn other_program(&self) -> SqliteConnection {
        let file = SqliteConnectOptions::new().filename(self.folder.path().join("store.db"));
        file.connect().await.unwrap()
    }

    /// Lets the disk seem full once the file has this many more pages, until the connection closes.
    pub(super) async fn limit_pages(&self, more: i64) {
        let pages = self.count("SELECT page_count FROM pragma_page_count").await;
        self.store.say_as_store(format!("PRAGMA max_page_count = {}", pages + more)).await;
    }

    pub(super) async fn close(self) {
        let _ = self.close_and_leave().await;
    }

    /// Closes the store and leaves its files.
    pub(super) async fn close_and_leave(self) -> TempDir {
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
        self.folder
    }
}

pub(super) fn db(lease: &mut Lease) -> &mut SqliteConnection {
    lease.connection().downcast_mut().unwrap()
}

/// Tells how SQLite finds the rows of this query.
pub(super) async fn plan(fixture: &StoreFixture, query: &QueryBuilder<Sqlite>) -> Vec<String> {
    let plan = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", query.sql().as_str()));
    let steps: Vec<(i64, i64, i64, String)> =
        sqlx::query_as(plan).fetch_all(&mut fixture.other_program().await).await.unwrap();
    steps.into_iter().map(|(.., detail)| detail).collect()
}

/// Writes a note about a call.
pub(super) async fn note(db: &mut SqliteConnection, call: u64) -> sqlx::Result<()> {
    let insert = sqlx::query("INSERT INTO notes (call) VALUES ($1)").bind(call.cast_signed());
    insert.execute(db).await.map(drop)
}

/// Opens the file as a program that knows nothing of the store's tables.
pub(super) async fn vandal(fixture: &StoreFixture) -> SqliteConnection {
    let mut db = fixture.other_program().await;
    for pragma in ["PRAGMA ignore_check_constraints = ON", "PRAGMA foreign_keys = OFF"] {
        sqlx::query(pragma).execute(&mut db).await.unwrap();
    }
    let triggers: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            .fetch_all(&mut db)
            .await
            .unwrap();
    for trigger in triggers {
        let drop = format!("DROP TRIGGER \"{trigger}\"");
        sqlx::query(AssertSqlSafe(drop)).execute(&mut db).await.unwrap();
    }
    db
}

pub(super) async fn change(db: &mut SqliteConnection, sql: &'static str, value: &str) {
    let changed = sqlx::query(sql).bind(value).execute(db).await.unwrap();
    assert_eq!(changed.rows_affected(), 1);
}

pub(super) fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub(super) fn user() -> UserId {
    UserId::new("kim").unwrap()
}

pub(super) fn turn() -> TurnId {
    TurnId::new(Uuid::from_u128(1))
}

pub(super) fn at() -> Timestamp {
    Timestamp::from_millis(1)
}

pub(super) fn say(name: &str, seq: u64) -> Vec<Write> {
    let content = Content::user(format!("{seq}"));
    vec![Write::Message {
        session: session(name),
        message: ChatMessage { seq, turn: turn(), at: at(), content },
    }]
}

/// Records a call that ran; its id is its number in the transcript.
pub(super) fn record(name: &str, number: u64) -> Vec<Write> {
    let proposal = Proposal {
        model: None,
        opaque: None,
        turn: turn(),
        seq: number,
        name: "t".into(),
        arguments: "{}".into(),
        user: user(),
    };
    let outcome = ToolOutcome::ok(json!({ "number": number }));
    let ended = Ended {
        arguments: None,
        outcome,
        effect: Effect::Committed,
        result: CallResult::Shown,
        decided_by: None,
    };
    let name_number = name.bytes().fold(0, |number, byte| number * 256 + u64::from(byte));
    let id = CallId::new(Uuid::from_u64_pair(name_number, number));
    let step = |transition| Write::Call { session: session(name), call: id, at: at(), transition };
    let running = Transition::Running {
        arguments: json!({}).into(),
        digest: madang_actors::protocol::Digest::new([1; 32]),
    };
    vec![step(Transition::Proposed(proposal)), step(running), step(Transition::Ended(ended))]
}
