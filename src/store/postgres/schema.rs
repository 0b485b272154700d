//! Creates the tables of the store in the schema `madang`, by numbered migrations.

use sha2::{Digest as _, Sha256};
use sqlx::{PgConnection, migrate::Migrator};

use super::{
    PostgresOpenError,
    own::{patiently, say},
};

/// The migrations, in the order of their versions, which begin with 1. What was released once is
/// never changed.
const MIGRATIONS: [&str; 3] = [
    include_str!("migrations/0001_chats_and_ledger.sql"),
    include_str!("migrations/0002_rows_follow_the_ledger.sql"),
    include_str!("migrations/0003_write_v1.sql"),
];

/// Refuses a schema that this program did not make, or not completely, and makes what is missing. The
/// caller has the lock of the database.
pub(super) async fn prepare(
    db: &mut PgConnection,
    database: &str,
) -> Result<(), PostgresOpenError> {
    let made = made(db, database).await?;
    let known = MIGRATIONS.iter().zip(1..);
    for (version, hash) in &made {
        let Some((sql, _)) = known.clone().find(|(_, known)| known == version) else {
            return Err(PostgresOpenError::Newer { database: database.to_owned() });
        };
        if *hash != hash_of(sql) {
            return Err(PostgresOpenError::Changed {
                database: database.to_owned(),
                version: *version,
            });
        }
    }
    let newest = made.last().map_or(0, |(version, _)| *version);
    for (sql, version) in known.filter(|(_, version)| *version > newest) {
        apply(db, sql, version)
            .await
            .map_err(|cause| PostgresOpenError::Tables { database: database.to_owned(), cause })?;
    }
    Ok(())
}

/// Lists the versions that were applied, with the hashes of their texts.
async fn made(
    db: &mut PgConnection,
    database: &str,
) -> Result<Vec<(i32, Vec<u8>)>, PostgresOpenError> {
    let unusable = |cause| PostgresOpenError::of_sql(database, cause);
    let found = sqlx::query_as(
        "SELECT to_regnamespace('madang') IS NOT NULL, to_regclass('madang.migrations') IS NOT NULL",
    );
    let (has_schema, has_versions): (bool, bool) =
        patiently(found.fetch_one(&mut *db)).await.map_err(unusable)?;
    match (has_schema, has_versions) {
        (false, _) => return Ok(Vec::new()),
        (true, false) => {
            return Err(PostgresOpenError::Foreign { database: database.to_owned() });
        }
        (true, true) => {}
    }
    let made = sqlx::query_as("SELECT version, hash FROM madang.migrations ORDER BY version");
    let made = patiently(made.fetch_all(db)).await;
    made.map_err(|_| PostgresOpenError::Foreign { database: database.to_owned() })
}

/// Applies one version in a transaction of its own. The first makes the schema.
async fn apply(db: &mut PgConnection, sql: &str, version: i32) -> sqlx::Result<()> {
    let schema = if version == 1 {
        "CREATE SCHEMA madang; \
         CREATE TABLE madang.migrations (version int PRIMARY KEY, hash bytea NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());"
    } else {
        ""
    };
    let hash: String = hash_of(sql).iter().map(|byte| format!("{byte:02x}")).collect();
    let note = format!(
        "INSERT INTO madang.migrations (version, hash) VALUES ({version}, decode('{hash}', 'hex'))"
    );
    // Statements that come together are one transaction, which the first failure undoes.
    let all = format!("SET LOCAL default_transaction_read_only = off; {schema}\n{sql};\n{note}");
    say(db, format!("BEGIN READ WRITE; {all}; COMMIT")).await
}

fn hash_of(sql: &str) -> Vec<u8> {
    Sha256::digest(sql).to_vec()
}

/// Creates the tables of toolkits and embedder.
pub(super) async fn migrate_others(
    db: &mut PgConnection,
    database: &str,
    others: &[(&'static str, &'static Migrator)],
) -> Result<(), PostgresOpenError> {
    for (of, migrator) in others {
        let made = migrator.run_direct(None, db, false).await;
        made.map_err(|cause| PostgresOpenError::Migrations {
            database: database.to_owned(),
            of,
            cause: Box::new(cause),
        })?;
    }
    Ok(())
}
