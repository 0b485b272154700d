//! Creates the tables by migrations whose versions are in a table of the store's, because an
//! application may have its own in the same file.

use std::{collections::BTreeMap, path::Path, sync::LazyLock};

use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    migrate::{MigrateError, Migrator},
    sqlite::SqliteConnectOptions,
};

use super::{OpenError, WriteFault, error};

static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!("src/store/sqlite/migrations");
    migrator.dangerous_set_table_name("_madang_migrations");
    migrator
});

/// The owner of the store's own tables in an error.
const OWN: &str = "the store";

/// Refuses tables of the store that this program did not make, or not completely.
pub(super) async fn must_be_ours(path: &Path, db: &mut SqliteConnection) -> Result<(), OpenError> {
    let refused = |cause| refusal(path, OWN, &MIGRATIONS, cause);
    let made = "SELECT version, success, checksum FROM _madang_migrations";
    let made: Vec<(i64, bool, Vec<u8>)> =
        sqlx::query_as(made).fetch_all(db).await.map_err(|cause| refused(cause.into()))?;
    for (version, is_whole, checksum) in made {
        let known = MIGRATIONS.iter().find(|migration| migration.version == version);
        let cause = match known {
            None => MigrateError::VersionMissing(version),
            Some(_) if !is_whole => MigrateError::Dirty(version),
            Some(known) if known.checksum != checksum => MigrateError::VersionMismatch(version),
            Some(_) => continue,
        };
        return Err(refused(cause));
    }
    Ok(())
}

/// Refuses a database whose tables cannot be created or do not fit, before anything is changed:
/// creates them in a transaction and rolls it back.
#[expect(
    clippy::disallowed_methods,
    reason = "sqlx's migrations need its own; it is dropped only together with the connection"
)]
pub(super) async fn rehearse(
    path: &Path,
    db: &mut SqliteConnection,
    others: &[(&'static str, &'static Migrator)],
) -> Result<(), OpenError> {
    // A migration outside of a transaction cannot be rolled back, so neither it nor those after it
    // are rehearsed.
    let others = others.split(|(_, migrator)| migrator.iter().any(|migration| migration.no_tx));
    let others = others.take(1).flatten().copied().collect::<Vec<_>>();
    let begun = db.begin_with("BEGIN IMMEDIATE").await;
    let mut transaction = begun.map_err(|cause| OpenError::of_sql(path, cause))?;
    // Dropping the transaction rolls back all that was created.
    migrate(path, &mut transaction, &others).await
}

/// Creates the store's own tables, then those of toolkits and embedder.
pub(super) async fn migrate(
    path: &Path,
    db: &mut SqliteConnection,
    others: &[(&'static str, &'static Migrator)],
) -> Result<(), OpenError> {
    let own = std::iter::once((OWN, &*MIGRATIONS));
    for (name, migrator) in own.chain(others.iter().copied()) {
        let made = migrator.run_direct(None, db, false).await;
        made.map_err(|cause| refusal(path, name, migrator, cause))?;
    }
    Ok(())
}

/// A table, index, view or trigger that differs from the store's migrations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// It does not exist.
    #[error("the {kind} {name} is missing")]
    Missing {
        /// Table, index, view or trigger.
        kind: String,
        /// Its name in SQLite.
        name: String,
    },
    /// Its SQL differs.
    #[error("the {kind} {name} was changed")]
    Changed {
        /// Table, index, view or trigger.
        kind: String,
        /// Its name in SQLite.
        name: String,
    },
    /// It belongs to a table of the store or has the store's prefix, but the store did not create
    /// it.
    #[error("the {kind} {name} is not the store's own")]
    Added {
        /// Table, index, view or trigger.
        kind: String,
        /// Its name in SQLite.
        name: String,
    },
}

/// The SQL of each object, by kind and name.
type Objects = BTreeMap<(String, String), String>;

/// Lists the objects that differ from the store's migrations. Triggers on another application's own
/// tables do not count.
pub(super) async fn faults(db: &mut SqliteConnection) -> Result<Vec<SchemaFault>, FaultsUnknown> {
    let mut fresh = SqliteConnectOptions::new().in_memory(true).connect().await?;
    MIGRATIONS.run_direct(None, &mut fresh, false).await?;
    let expected = objects(&mut fresh).await?;
    let mut found = objects(db).await?;
    fresh.close().await?;
    let mut faults = Vec::new();
    for ((kind, name), words) in expected {
        match found.remove(&(kind.clone(), name.clone())) {
            None => faults.push(SchemaFault::Missing { kind, name }),
            Some(other) if other != words => faults.push(SchemaFault::Changed { kind, name }),
            Some(_) => {}
        }
    }
    faults.extend(found.into_keys().map(|(kind, name)| SchemaFault::Added { kind, name }));
    Ok(faults)
}

async fn objects(db: &mut SqliteConnection) -> sqlx::Result<Objects> {
    let ours = "SELECT type, name, coalesce(sql, '') FROM sqlite_schema \
                WHERE lower(substr(name, 1, 7)) = 'madang_' OR lower(substr(tbl_name, 1, 7)) = 'madang_'";
    let rows: Vec<(String, String, String)> = sqlx::query_as(ours).fetch_all(db).await?;
    Ok(rows.into_iter().map(|(kind, name, words)| ((kind, name), words)).collect())
}

/// SQLite could not list the tables.
#[derive(Debug, thiserror::Error)]
#[error("failed to compare the tables of the store")]
pub(super) enum FaultsUnknown {
    Sql(#[from] sqlx::Error),
    Made(#[from] MigrateError),
}

fn refusal(path: &Path, name: &'static str, migrator: &Migrator, cause: MigrateError) -> OpenError {
    let path = path.to_owned();
    if let MigrateError::VersionMissing(version) = cause
        && migrator.iter().all(|known| known.version < version)
    {
        return OpenError::Newer { path };
    }
    let statement =
        if let MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) = &cause {
            Some(error)
        } else {
            None
        };
    match statement.and_then(WriteFault::kind) {
        Some(kind) => OpenError::at_fault(&path, kind, cause),
        None if statement.is_some_and(error::is_of_a_damaged_file) => {
            OpenError::Damaged { path, cause: cause.into() }
        }
        None => {
            let migration = (name != OWN).then(|| at_fault(migrator, &cause)).flatten();
            OpenError::Tables { path, of: name, migration, cause: Box::new(cause) }
        }
    }
}

/// Returns the version and the description of the migration that this error is about.
fn at_fault(migrator: &Migrator, cause: &MigrateError) -> Option<String> {
    let (MigrateError::ExecuteMigration(_, version)
    | MigrateError::VersionMismatch(version)
    | MigrateError::VersionMissing(version)) = cause
    else {
        return None;
    };
    let version = *version;
    let known = migrator.iter().find(|migration| migration.version == version);
    Some(
        known.map_or_else(
            || version.to_string(),
            |known| format!("{version} ({})", known.description),
        ),
    )
}
