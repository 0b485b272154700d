//! The tables, made by migrations in a private table: an embedder may have migrations in the same file.

use std::{path::Path, sync::LazyLock};

use sqlx::{
    SqliteConnection,
    migrate::{MigrateError, Migrator},
};

use super::{OpenError, Trouble};

static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!("src/store/sql/migrations");
    migrator.dangerous_set_table_name("_madang_migrations");
    migrator
});

/// The version that this program makes.
pub(super) fn newest() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// Makes the store's own tables, then those of toolkits and embedder.
pub(super) async fn migrate(
    path: &Path,
    db: &mut SqliteConnection,
    others: &[(&'static str, &'static Migrator)],
) -> Result<(), OpenError> {
    let own = std::iter::once(("the store", &*MIGRATIONS));
    for (name, migrator) in own.chain(others.iter().copied()) {
        let made = migrator.run_direct(None, db, false).await;
        made.map_err(|cause| refusal(path, name, cause))?;
    }
    Ok(())
}

fn refusal(path: &Path, name: &'static str, cause: MigrateError) -> OpenError {
    let path = path.to_owned();
    if matches!(cause, MigrateError::VersionMissing(_) | MigrateError::VersionTooNew(..)) {
        return OpenError::Newer { path };
    }
    let statement =
        if let MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) = &cause {
            Some(error)
        } else {
            None
        };
    match statement.and_then(Trouble::kind) {
        Some(kind) => OpenError::troubled(&path, kind, cause),
        None => OpenError::Tables { path, of: name, cause: Box::new(cause) },
    }
}
