//! A table of a toolkit's own, for benches whose tools write.

use std::sync::LazyLock;

use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};

pub(crate) static NOTES: LazyLock<Migrator> = LazyLock::new(|| {
    let table = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT";
    let first =
        Migration::new(1, "notes".into(), MigrationType::Simple, table.into_sql_str(), false);
    let mut migrator = Migrator::with_migrations(vec![first]);
    migrator.dangerous_set_table_name("_notes_migrations");
    migrator
});
