//! Makes databases for the tests, one for each, and facts to write.

use std::{
    env,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use madang_actors::{
    ledger::{Ended, Proposal, SealKeys, Transition, text_digest},
    port::{Store as _, StoreError, Write},
    protocol::{
        CallId, CallResult, ChatMessage, Content, Digest, Effect, Limits, SessionId, Timestamp,
        ToolOutcome, TurnId, TurnOptions, UserId,
    },
    store::{Keep, Lease, StoreHandle},
};
use madang_testing::lone_store;
use serde_json::json;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, migrate::Migrator,
    postgres::PgConnectOptions,
};
use tokio::{sync::OnceCell, time::Instant};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::store::{PostgresOptions, PostgresStore};

/// Names the server of the tests.
const VARIABLE: &str = "MADANG_TEST_POSTGRES";

/// How long a test waits for a state.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The keys of all databases of this process.
pub(super) static KEYS: LazyLock<SealKeys> =
    LazyLock::new(|| SealKeys::for_this_process().unwrap());

/// A toolkit's table and its versions.
pub(super) static NOTES: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!("src/store/postgres/tests/notes");
    migrator.dangerous_set_table_name("_notes_migrations");
    migrator
});

/// Returns whether there is a server. The suite `postgres` starts one.
pub(super) fn has_server() -> bool {
    env::var_os(VARIABLE).is_some()
}

/// Ends a test of a machine without a server.
macro_rules! needs_server {
    () => {
        if !crate::store::postgres::tests::support::has_server() {
            return;
        }
    };
}
pub(super) use needs_server;

/// A database of a test.
pub(super) struct Database {
    pub(super) url: String,
}

impl Database {
    /// Makes a database with the tables of the store.
    pub(super) async fn new() -> Self {
        static TEMPLATE: OnceCell<String> = OnceCell::const_new();
        let template = TEMPLATE.get_or_init(async || {
            drop_old_ones().await;
            let template = Self::empty().await;
            template.store().await.close().await;
            template.name().to_owned()
        });
        let template = template.await;
        Self::made(&format!("TEMPLATE {template}")).await
    }

    /// Makes a database without tables.
    pub(super) async fn empty() -> Self {
        Self::made("TEMPLATE template0").await
    }

    pub(super) async fn made(like: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let number = NEXT.fetch_add(1, SeqCst);
        let name = format!("madang_test_{since}_{}_{number}", std::process::id());
        let create = format!("CREATE DATABASE {name} {like}");
        let mut server = connect(&server()).await;
        let deadline = Instant::now() + PATIENCE;
        // Connections of a template that has just been closed may still be there.
        while let Err(error) = run(&mut server, &create).await {
            assert!(Instant::now() < deadline, "{error}");
            tokio::task::yield_now().await;
        }
        server.close().await.unwrap();
        Self { url: format!("{}/{name}", address()) }
    }

    pub(super) fn name(&self) -> &str {
        self.url.rsplit('/').next().unwrap()
    }

    pub(super) fn options(&self) -> PostgresOptions {
        PostgresStore::options(self.url.as_str()).seal_keys(KEYS.clone())
    }

    pub(super) async fn store(&self) -> PostgresStore {
        self.options().open().await.unwrap()
    }

    /// Connects as another program.
    pub(super) async fn other_program(&self) -> PgConnection {
        connect(&self.url).await
    }

    /// Says something as another program.
    pub(super) async fn says(&self, sql: &str) -> sqlx::Result<()> {
        run(&mut self.other_program().await, sql).await
    }

    /// Counts rows from another program.
    pub(super) async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&mut self.other_program().await).await.unwrap()
    }

    /// Waits until another program counts a row.
    pub(super) async fn until(&self, sql: &'static str) {
        let mut db = self.other_program().await;
        let deadline = Instant::now() + PATIENCE;
        while sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut db).await.unwrap() == 0 {
            assert!(Instant::now() < deadline, "{sql}");
            tokio::task::yield_now().await;
        }
    }
}

/// The server of the tests.
pub(super) fn server() -> String {
    env::var(VARIABLE).expect("the test looked whether there is a server")
}

/// Returns the URL of the server without a database.
pub(super) fn address() -> String {
    let server = server();
    server.rsplit_once('/').expect("a URL of a database").0.to_owned()
}

pub(super) async fn connect(url: &str) -> PgConnection {
    let options: PgConnectOptions = url.parse().unwrap();
    options.connect().await.unwrap()
}

/// Runs statements without values.
pub(super) async fn run(db: &mut PgConnection, sql: &str) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(db).await.map(drop)
}

/// Drops what earlier runs left on the server, an hour later.
async fn drop_old_ones() {
    let mut server = connect(&server()).await;
    let old = "SELECT datname::text FROM pg_database WHERE datname ~ '^madang_test_[0-9]+_' \
               AND split_part(datname, '_', 3)::bigint < extract(epoch FROM now()) - 3600";
    let old: Vec<String> = sqlx::query_scalar(old).fetch_all(&mut server).await.unwrap();
    for name in old {
        // Another run may drop it first.
        let _ = run(&mut server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    }
}

/// A store with a StoreActor, on a database of its own that has a table of notes.
pub(super) struct StoreFixture {
    pub(super) database: Database,
    pub(super) store: PostgresStore,
    pub(super) handle: StoreHandle,
    tasks: TaskTracker,
}

impl StoreFixture {
    pub(super) async fn new() -> Self {
        let database = Database::new().await;
        let store = database.options().migrations("notes", &NOTES).open().await.unwrap();
        Self::of(database, store).await
    }

    pub(super) async fn of(database: Database, store: PostgresStore) -> Self {
        let tasks = TaskTracker::new();
        let handle = lone_store(Arc::new(store.clone()), Limits::default(), tasks.clone()).await;
        Self { database, store, handle, tasks }
    }

    pub(super) async fn chat(&self, name: &str) {
        self.handle.write(opening(name, "kim")).await.unwrap();
    }

    pub(super) async fn lease(&self) -> Lease {
        self.handle.lease("tool".into()).await.unwrap()
    }

    /// Lends the transaction to a handler and ends the lease.
    pub(super) async fn call(
        &self,
        number: u64,
        keep: Keep,
        handler: impl AsyncFnOnce(&mut PgConnection),
    ) -> Result<(), StoreError> {
        let mut lease = self.lease().await;
        handler(db(&mut lease)).await;
        lease.end(keep, record("s", number)).await
    }

    pub(super) async fn close(self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
    }
}

pub(super) fn db(lease: &mut Lease) -> &mut PgConnection {
    lease.connection().downcast_mut().unwrap()
}

/// Writes a note about a call.
pub(super) async fn note(db: &mut PgConnection, call: u64) -> sqlx::Result<()> {
    let insert = sqlx::query("INSERT INTO notes (call) VALUES ($1)").bind(call.cast_signed());
    insert.execute(db).await.map(drop)
}

pub(super) const NOTES_COUNT: &str = "SELECT count(*) FROM notes";

pub(super) fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub(super) fn user(name: &str) -> UserId {
    UserId::new(name).unwrap()
}

pub(super) fn turn() -> TurnId {
    TurnId::new(Uuid::from_u128(1))
}

pub(super) fn call(number: u64) -> CallId {
    CallId::new(Uuid::from_u128(number.into()))
}

pub(super) const fn at() -> Timestamp {
    Timestamp::from_millis(1)
}

/// Opens a session of a user, with a turn.
pub(super) fn opening(name: &str, owner: &str) -> Vec<Write> {
    let began = Write::TurnStarted {
        session: session(name),
        turn: turn(),
        at: at(),
        options: TurnOptions::default(),
        text: text_digest("hi"),
        max_stored_bytes: u64::MAX,
    };
    vec![Write::Session { session: session(name), user: user(owner), at: at() }, began]
}

/// Writes a user's message.
pub(super) fn say(name: &str, seq: u64) -> Vec<Write> {
    let message = ChatMessage { seq, turn: turn(), at: at(), content: Content::user("hi") };
    vec![Write::Message { session: session(name), message }]
}

pub(super) fn step(name: &str, number: u64, transition: Transition) -> Write {
    Write::Call { session: session(name), call: call(number), at: at(), transition }
}

pub(super) fn proposal(seq: u64) -> Proposal {
    Proposal {
        turn: turn(),
        seq,
        name: "note".into(),
        arguments: "{}".into(),
        model: None,
        opaque: None,
        user: user("kim"),
    }
}

pub(super) fn ended() -> Ended {
    Ended {
        arguments: None,
        outcome: ToolOutcome::ok(json!("done")),
        effect: Effect::Committed,
        result: CallResult::Shown,
        decided_by: None,
    }
}

/// Records a call of this number, which ran and was done.
pub(super) fn record(name: &str, number: u64) -> Vec<Write> {
    let running = Transition::Running { arguments: json!({}).into(), digest: Digest::new([7; 32]) };
    vec![
        step(name, number, Transition::Proposed(proposal(number))),
        step(name, number, running),
        step(name, number, Transition::Ended(ended())),
    ]
}

/// Counts the ended calls.
pub(super) const ENDED: &str = "SELECT count(*) FROM madang.calls WHERE state = 'ended'";
