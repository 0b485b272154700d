//! Refuses servers and databases that cannot keep what the store promises.

use sqlx::{PgConnection, postgres::PgConnectOptions};

use super::{PostgresOpenError, own::patiently};

/// The oldest PostgreSQL: the first whose rules of the store were tested.
const OLDEST: i32 = 150_000;

/// Names a database for messages, without its password.
pub(super) fn name_of(options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or(options.get_username());
    format!("{}:{}/{database}", options.get_host(), options.get_port())
}

/// Refuses a server that is too old, follows another, may only read, or keeps texts otherwise. The
/// connection has the settings of the server, and none of the store's.
pub(super) async fn must_fit(
    db: &mut PgConnection,
    database: &str,
) -> Result<(), PostgresOpenError> {
    let looked = sqlx::query_as(
        "SELECT current_setting('server_version_num')::int, current_setting('server_version'), pg_is_in_recovery(), \
         current_setting('transaction_read_only') = 'on', pg_encoding_to_char(encoding)::text, current_setting('fsync') = 'on' \
         FROM pg_database WHERE datname = current_database()",
    );
    let looked: (i32, String, bool, bool, String, bool) = patiently(looked.fetch_one(db))
        .await
        .map_err(|cause| PostgresOpenError::of_sql(database, cause))?;
    let (version, found, is_standby, is_read_only, encoding, syncs) = looked;
    let database = database.to_owned();
    if is_too_old(version) {
        return Err(PostgresOpenError::OldServer { database, found });
    }
    if is_standby {
        return Err(PostgresOpenError::Standby { database });
    }
    if is_read_only {
        return Err(PostgresOpenError::ReadOnly { database });
    }
    if encoding != "UTF8" {
        return Err(PostgresOpenError::Encoding { database, found: encoding });
    }
    if !syncs {
        tracing::warn!(%database, "the server has fsync off: a power cut loses acknowledged writes");
    }
    Ok(())
}

/// Returns what commits wait for (`synchronous_commit`): the disk, or also a standby where the server is
/// set to that. Refuses a connection whose commits are acknowledged earlier.
pub(super) async fn durability(
    db: &mut PgConnection,
    database: &str,
) -> Result<String, PostgresOpenError> {
    let found = sqlx::query_scalar("SELECT current_setting('synchronous_commit')");
    let found: String = patiently(found.fetch_one(db))
        .await
        .map_err(|cause| PostgresOpenError::of_sql(database, cause))?;
    if is_durable(&found) {
        return Ok(found);
    }
    Err(PostgresOpenError::NotDurable { database: database.to_owned(), found })
}

const fn is_too_old(version: i32) -> bool {
    version < OLDEST
}

fn is_durable(synchronous_commit: &str) -> bool {
    matches!(synchronous_commit, "on" | "remote_apply")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_without_its_password() {
        let options: PgConnectOptions = "postgres://kim:secret@db:5433/app".parse().unwrap();
        assert_eq!(name_of(&options), "db:5433/app");
    }

    #[test]
    fn versions_before_fifteen_are_too_old() {
        assert!(is_too_old(140_013) && is_too_old(90_624));
        assert!(!is_too_old(150_000) && !is_too_old(180_001));
    }

    #[test]
    fn a_commit_is_durable_once_it_is_on_the_disk() {
        assert!(is_durable("on") && is_durable("remote_apply"));
        for weaker in ["off", "local", "remote_write"] {
            assert!(!is_durable(weaker), "{weaker}");
        }
    }
}
