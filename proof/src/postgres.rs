//! Databases of a PostgreSQL server, each of one run.

use std::{error::Error, sync::LazyLock};

use madang::store::{PostgresOpenError, PostgresStore, Store as _};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
    postgres::PgConnectOptions,
};
use uuid::Uuid;

use crate::{
    audit::{Counter, Findings, Moment, audit},
    oracle::Oracle,
    workload::{EffectRow, SessionPlan},
};

/// The table of effects, as in a file.
static EFFECTS: LazyLock<Migrator> = LazyLock::new(|| {
    let table = "CREATE TABLE proof_effects \
                 (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, token text NOT NULL, act text NOT NULL, part bigint NOT NULL, \
                 call text NOT NULL)";
    let first =
        Migration::new(1, "effects".into(), MigrationType::Simple, table.into_sql_str(), false);
    let mut migrator = Migrator::with_migrations(vec![first]);
    migrator.dangerous_set_table_name("_proof_migrations");
    migrator
});

/// A database that was made for one run.
#[derive(Debug)]
pub struct Database {
    server: PgConnectOptions,
    name: String,
}

impl Database {
    /// Makes an empty database on the server at this URL.
    ///
    /// # Errors
    /// The URL is none, or the server cannot be reached or refuses.
    pub async fn make(server: &str) -> Result<Self, sqlx::Error> {
        let made =
            Self { server: server.parse()?, name: format!("proof_{}", Uuid::now_v7().simple()) };
        made.say(format!("CREATE DATABASE {}", made.name)).await?;
        Ok(made)
    }

    /// Returns its URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.clone().database(&self.name).to_url_lossy().into()
    }

    /// Drops it, and ends the connections of processes that were killed.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub async fn remove(self) -> Result<(), sqlx::Error> {
        self.say(format!("DROP DATABASE {} WITH (FORCE)", self.name)).await
    }

    async fn say(&self, statement: String) -> Result<(), sqlx::Error> {
        let mut db = self.server.connect().await?;
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut db).await?;
        db.close().await
    }
}

/// Opens the database at this URL with the tables of the tools.
pub(crate) async fn open(url: &str) -> Result<PostgresStore, PostgresOpenError> {
    PostgresStore::options(url).migrations("proof", &EFFECTS).open().await
}

/// Audits the database at this URL, as the next process finds it. Facts that the last process
/// reported without storing them come from the oracle.
pub(crate) async fn audit_database(
    url: &str,
    sessions: &[SessionPlan],
    oracle: &Oracle,
    moment: Moment,
) -> Findings {
    let read = async {
        // This waits for commits that the killed process began.
        let store = open(url).await?;
        let effects = effects(url).await?;
        let findings = audit(&store, effects, sessions, oracle, moment).await;
        store.close().await;
        Ok(findings)
    };
    read.await.unwrap_or_else(|error: Box<dyn Error + Send + Sync>| {
        let cause = error.source().map_or_else(String::new, ToString::to_string);
        let mut findings = Findings::default();
        findings.find(Counter::Damaged, format!("{error}: {cause}"));
        findings
    })
}

async fn effects(url: &str) -> sqlx::Result<Vec<EffectRow>> {
    let mut db = url.parse::<PgConnectOptions>()?.connect().await?;
    let rows = "SELECT token, act, part, call FROM proof_effects ORDER BY id";
    let rows = sqlx::query_as(rows).fetch_all(&mut db).await?;
    db.close().await?;
    Ok(rows)
}
