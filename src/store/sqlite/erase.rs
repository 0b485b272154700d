//! Erases the texts of temporary chats. The ledger of their calls is kept.

use madang_actors::{
    port::{StoreError, TemporaryChat},
    protocol::SessionId,
};
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use super::{own::Own, read::all};
use crate::store::rows::{columns::Columns, value};

/// The temporary chats that have a text or a title.
const TEMPORARY: &str = "SELECT its.session, its.user FROM madang_sessions AS its \
    WHERE its.is_temporary AND (its.title IS NOT NULL \
    OR EXISTS (SELECT 1 FROM madang_messages WHERE session = its.session AND content IS NOT NULL)) \
    ORDER BY its.session LIMIT $1";

/// What the texts of a session count: those of its messages, and the instructions of its turns.
pub(super) const UNCOUNT: &str = "UPDATE madang_stored SET bytes = bytes \
    - (SELECT coalesce(sum(octet_length(content) + 256), 0) FROM madang_messages WHERE session = $1 AND content IS NOT NULL) \
    - (SELECT coalesce(sum(octet_length(options)), 0) FROM madang_turns \
       WHERE session = $1 AND options ->> '$.instructions' IS NOT NULL) \
    WHERE user = (SELECT user FROM madang_sessions WHERE session = $1)";

/// The statements that erase the texts of a session, in their order. Messages can be deleted while
/// the session is listed in `madang_erasing`.
const STATEMENTS: [&str; 7] = [
    "INSERT INTO madang_erasing VALUES ($1)",
    UNCOUNT,
    "UPDATE madang_sessions SET last_at = NULL, \
     erased_to = (SELECT max(seq) FROM madang_messages WHERE session = $1) WHERE session = $1 \
     AND EXISTS (SELECT 1 FROM madang_messages WHERE session = $1 AND seq > erased_to)",
    "UPDATE madang_sessions SET title = NULL WHERE session = $1 AND title IS NOT NULL",
    "DELETE FROM madang_messages WHERE session = $1 AND content IS NOT NULL",
    "UPDATE madang_turns SET options = json_remove(options, '$.instructions') \
     WHERE session = $1 AND options ->> '$.instructions' IS NOT NULL",
    "DELETE FROM madang_erasing",
];

/// Lists the temporary chats that have a text or a title, and no more than `most`.
pub(super) async fn temporary(
    db: &mut SqliteConnection,
    most: usize,
) -> Result<Vec<TemporaryChat>, StoreError> {
    let chat = |row: &SqliteRow| {
        Ok(TemporaryChat {
            session: value::session(row.text("session")?)?,
            user: value::user(row.text("user")?)?,
        })
    };
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    all(db, sqlx::query(TEMPORARY).bind(most)).await?.iter().map(chat).collect()
}

/// Erases the texts of a session.
pub(super) async fn erase(own: &mut Own<'_>, session: &SessionId) -> Result<(), StoreError> {
    let is_temporary = "SELECT is_temporary FROM madang_sessions WHERE session = $1";
    let is_temporary = sqlx::query_scalar(own.sql(is_temporary)).bind(session.as_str());
    let found: Option<bool> =
        is_temporary.fetch_optional(&mut *own.db).await.map_err(StoreError::unavailable)?;
    if found != Some(true) {
        return Err(StoreError::refused(format!("session {session} is not a temporary chat")));
    }
    for sql in STATEMENTS {
        let statement = sqlx::query(own.sql(sql)).bind(session.as_str());
        statement.execute(&mut *own.db).await.map_err(StoreError::unavailable)?;
    }
    Ok(())
}
