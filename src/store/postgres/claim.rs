//! The right of one process to write a database: a lock, and a claim of each user that is part of
//! every write.
//!
//! The lock keeps a second process out as long as the first one lives. It belongs to a connection, and
//! a connection can be lost. So the lock alone is no proof. A process that opens the database claims
//! all users anew, which waits for commits that are under way. After that the former process writes
//! nothing.

use madang_actors::port::StoreError;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::{
    PostgresOpenError,
    error::{Fenced, code},
    own::{patiently, say},
};

/// The number of the lock: "madang" in letters.
const LOCK: i64 = 0x6d61_6461_6e67;

/// The settings of the connection that has the lock. A process that has just ended may still have it
/// for a moment.
const SETTINGS: &str = "SET lock_timeout = '3s'; SET statement_timeout = '0'; SET idle_session_timeout = 0; \
    SET client_connection_check_interval = '250ms'; SELECT set_config('synchronous_commit', 'on', FALSE) \
    WHERE current_setting('synchronous_commit') <> 'remote_apply'";

/// The right to write a database.
#[derive(Debug)]
pub(super) struct Claim {
    /// The row of this process.
    pub(super) node: i64,
    /// Stands in the row of each user for which this process writes.
    pub(super) claim: Uuid,
    options: PgConnectOptions,
    control: Mutex<Control>,
}

/// The connection that has the lock.
#[derive(Debug)]
struct Control {
    /// `None` once it is lost or given up.
    db: Option<PgConnection>,
    /// The process of the server that it led to.
    backend: Backend,
}

/// A process of the server: its number, which another may have later, and its beginning.
type Backend = (i32, String);

impl Claim {
    /// Takes the lock on a connection that has no transaction.
    pub(super) async fn lock(
        db: &mut PgConnection,
        database: &str,
    ) -> Result<(), PostgresOpenError> {
        match lock(db).await {
            Ok(()) => Ok(()),
            Err(error) if code(&error).as_deref() == Some("55P03") => {
                Err(PostgresOpenError::Held { database: database.to_owned() })
            }
            Err(cause) => Err(PostgresOpenError::of_sql(database, cause)),
        }
    }

    /// Claims all users, on the connection that has the lock. Waits for commits of former processes.
    pub(super) async fn all_users(
        mut db: PgConnection,
        options: PgConnectOptions,
    ) -> sqlx::Result<Self> {
        let claim = Uuid::now_v7();
        say(&mut db, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE".to_owned()).await?;
        // First the rows of processes: a new user is made under the lock of one of them.
        let former = sqlx::query("DELETE FROM madang.nodes");
        patiently(former.execute(&mut db)).await?;
        let node =
            sqlx::query_scalar("INSERT INTO madang.nodes (program) VALUES ($1) RETURNING node");
        let node = patiently(node.bind(env!("CARGO_PKG_VERSION")).fetch_one(&mut db)).await?;
        let claims = sqlx::query(
            "UPDATE madang.users AS its SET node = $1, epoch = its.epoch + 1, claim = $2 \
             FROM (SELECT user_id FROM madang.users ORDER BY user_id FOR NO KEY UPDATE) AS held \
             WHERE its.user_id = held.user_id",
        );
        // With many users this takes a while, and nothing else writes meanwhile.
        claims.bind(node).bind(claim).execute(&mut db).await?;
        say(&mut db, "COMMIT".to_owned()).await?;
        let backend = backend_of(&mut db).await?;
        let control = Mutex::new(Control { db: Some(db), backend });
        Ok(Self { node, claim, options, control })
    }

    /// Confirms that this process has the lock, and takes it again if its connection was lost.
    pub(super) async fn confirm(&self) -> Result<(), StoreError> {
        let mut control = self.control.lock().await;
        if let Some(db) = control.db.as_mut()
            && patiently(db.ping()).await.is_ok()
        {
            return Ok(());
        }
        control.db = None;
        let connected = async {
            let mut db = patiently(self.options.connect()).await?;
            end(&mut db, &control.backend).await?;
            lock(&mut db).await?;
            let backend = backend_of(&mut db).await?;
            Ok(Control { db: Some(db), backend })
        };
        *control = connected.await.map_err(|error: sqlx::Error| match code(&error).as_deref() {
            Some("55P03") => StoreError::unavailable(Fenced(Some(error))),
            Some(_) | None => StoreError::unavailable(error),
        })?;
        Ok(())
    }

    /// Gives the lock back.
    pub(super) async fn release(&self) {
        if let Some(db) = self.control.lock().await.db.take()
            && let Err(error) = patiently(db.close()).await
        {
            tracing::debug!(%error, "the connection with the lock did not close");
        }
    }
}

async fn backend_of(db: &mut PgConnection) -> sqlx::Result<Backend> {
    let backend =
        "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()";
    patiently(sqlx::query_as(backend).fetch_one(db)).await
}

/// Ends the process of the server that a lost connection led to: where the way to it is broken, the
/// server does not notice, and the process would keep the lock.
async fn end(db: &mut PgConnection, (pid, since): &Backend) -> sqlx::Result<()> {
    let ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start::text = $2";
    patiently(sqlx::query(ends).bind(pid).bind(since).execute(db)).await.map(drop)
}

/// Takes the lock, which lasts as long as the connection.
async fn lock(db: &mut PgConnection) -> sqlx::Result<()> {
    say(db, SETTINGS.to_owned()).await?;
    say(db, format!("SELECT pg_advisory_lock({LOCK})")).await
}
