//! Makes databases for the tests, one for each.

use std::{
    env,
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use madang_actors::ledger::SealKeys;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions,
};
use tokio::{sync::OnceCell, time::Instant};

use crate::store::{PostgresOptions, PostgresStore};

/// Names the server of the tests.
const VARIABLE: &str = "MADANG_TEST_POSTGRES";

/// How long a test waits for a state.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The keys of all databases of this process.
static KEYS: LazyLock<SealKeys> = LazyLock::new(|| SealKeys::for_this_process().unwrap());

/// Returns whether there is a server.
pub(super) fn has_server() -> bool {
    let is_here = env::var_os(VARIABLE).is_some();
    assert!(
        is_here || env::var_os("NO_SKIP").is_none_or(|value| value != "1"),
        "the tests of PostgreSQL need a server: set {VARIABLE} to what scripts/postgres.sh start DIR prints"
    );
    is_here
}

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
            template.store().await.close_it().await;
            template.name().to_owned()
        });
        let template = template.await;
        Self::made(&format!("TEMPLATE {template}")).await
    }

    /// Makes a database without tables.
    pub(super) async fn empty() -> Self {
        Self::made("TEMPLATE template0").await
    }

    async fn made(like: &str) -> Self {
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
}

impl PostgresStore {
    /// Closes the store.
    pub(super) async fn close_it(&self) {
        madang_actors::port::Store::close(self).await;
    }
}

fn server() -> String {
    env::var(VARIABLE).expect("the test looked whether there is a server")
}

/// Returns the URL of the server without a database.
fn address() -> String {
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
