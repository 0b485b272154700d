//! Finds out whether a file is a Madang database, without changing it.

use std::{fs, io::ErrorKind, path::Path};

use sqlx::SqliteConnection;

use super::{OpenError, schema};

/// The first SQLite without the bug that may corrupt a database in WAL mode.
const OLDEST_SQLITE: (u32, u32, u32) = (3, 51, 3);

/// What is at the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No file or an empty one: a database can be made there.
    Nothing,
    /// A file with something in it.
    Something,
}

/// The size of the smallest SQLite database: one page.
const SHORTEST: u64 = 512;

/// Looks whether the file has content, without opening it: closing it would drop all locks of this
/// process on it. SQLite checks the content later.
pub(super) fn file(path: &Path) -> Result<Found, OpenError> {
    match fs::metadata(path) {
        // A named pipe must not be opened even by SQLite: it would wait for a writer.
        Ok(metadata) if !metadata.is_file() => Err(OpenError::Foreign { path: path.to_owned() }),
        Ok(metadata) if metadata.len() == 0 => Ok(Found::Nothing),
        // SQLite would take a file of one byte for an empty one.
        Ok(metadata) if metadata.len() < SHORTEST => {
            Err(OpenError::Foreign { path: path.to_owned() })
        }
        Ok(_) => Ok(Found::Something),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Found::Nothing),
        Err(error) => Err(OpenError::of_io(path, error)),
    }
}

/// Whether other applications' tables may be in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Sharing {
    /// A file that has tables, but none of the store's, belongs to another program.
    #[default]
    Alone,
    /// The embedder said that the file is its own.
    WithEmbedder,
}

/// Refuses another application's database, and one that a newer version changed.
pub(super) async fn tables(
    path: &Path,
    db: &mut SqliteConnection,
    sharing: Sharing,
) -> Result<(), OpenError> {
    let unusable = |cause| OpenError::of_sql(path, cause);
    let version = sqlx::query_scalar("SELECT sqlite_version()");
    let found: String = version.fetch_one(&mut *db).await.map_err(unusable)?;
    if is_too_old(&found) {
        return Err(OpenError::OldSqlite { found });
    }
    let counts = "SELECT count(*), coalesce(sum(name = '_madang_migrations'), 0) FROM sqlite_schema WHERE type = 'table'";
    let counts = sqlx::query_as(counts).fetch_one(&mut *db).await;
    let (all, ours): (i64, i64) = counts.map_err(unusable)?;
    if ours == 0 {
        let is_foreign = all > 0 && sharing == Sharing::Alone;
        return if is_foreign { Err(OpenError::Foreign { path: path.to_owned() }) } else { Ok(()) };
    }
    schema::must_be_ours(path, db).await
}

/// Returns whether the store's tables exist.
pub(super) async fn has_tables(path: &Path, db: &mut SqliteConnection) -> Result<bool, OpenError> {
    let ours = "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'madang_sessions'";
    let found = sqlx::query_scalar(ours).fetch_one(db).await;
    found.map_err(|cause| OpenError::of_sql(path, cause))
}

fn is_too_old(sqlite: &str) -> bool {
    version(sqlite).is_none_or(|version| version < OLDEST_SQLITE)
}

fn version(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for new in ["3.51.3", "3.51.10", "3.100.0", "4.0.0"] {
            assert!(!is_too_old(new), "{new}");
        }
        for old in ["3.51.2", "3.9.99", "2.100.100", "three"] {
            assert!(is_too_old(old), "{old}");
        }
    }

    #[test]
    fn a_page_is_something_and_less_is_another_kind_of_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        assert_eq!(file(&path).unwrap(), Found::Nothing);
        for (length, found) in [(0, Found::Nothing), (512, Found::Something)] {
            fs::write(&path, vec![0; length]).unwrap();
            assert_eq!(file(&path).unwrap(), found, "{length}");
        }
        for length in [1, 511] {
            fs::write(&path, vec![0; length]).unwrap();
            assert!(matches!(file(&path), Err(OpenError::Foreign { .. })), "{length}");
        }
        // The system reports no kind for a path below a file.
        #[cfg(unix)]
        assert!(matches!(file(&path.join("below")), Err(OpenError::Unusable { .. })));
    }
}
