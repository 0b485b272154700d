//! Deletes a session for its user, while the store is in use.

use madang_actors::{
    port::StoreError,
    protocol::{SessionId, Timestamp, UserId},
};

use super::{erase::UNCOUNT, forget, own::Own, read};

/// Asks whether a turn or a call of a session has not ended.
const IS_OPEN: &str = "SELECT EXISTS (SELECT 1 FROM madang_turns WHERE session = $1 AND ended_at IS NULL) \
    OR EXISTS (SELECT 1 FROM madang_calls WHERE session = $1 AND ended_at IS NULL)";

/// What the steps of a session's calls count, but for the record and the hashes that stay, as
/// [`erased_bytes`](madang_actors::port::erased_bytes) counts them.
const UNCOUNT_STEPS: &str = "UPDATE madang_stored SET bytes = bytes + 256 \
    - (SELECT coalesce(sum(octet_length(transition) + 256 - 32), 0) FROM madang_transitions WHERE session = $1) \
    WHERE user = (SELECT user FROM madang_sessions WHERE session = $1)";

/// The statements before the rows go.
const STATEMENTS: [&str; 3] = [UNCOUNT, UNCOUNT_STEPS, "INSERT INTO madang_erasing VALUES ($1)"];

/// Deletes a session of this user, and records its chain.
pub(super) async fn delete(
    own: &mut Own<'_>,
    session: &SessionId,
    user: &UserId,
    at: Timestamp,
) -> Result<(), StoreError> {
    match read::owner_by_seal(own, session).await? {
        Some(Ok(owner)) if owner == *user => {}
        Some(Ok(_) | Err(_)) | None => {
            return Err(StoreError::refused(format!("session {session} is not {user}'s")));
        }
    }
    let is_open = sqlx::query_scalar(own.sql(IS_OPEN)).bind(session.as_str());
    if is_open.fetch_one(&mut *own.db).await.map_err(StoreError::unavailable)? {
        let why = format!("a turn or a call of session {session} has not ended");
        return Err(StoreError::refused(why));
    }
    // SQLite overwrites what is deleted, which costs the writes again, so only a deletion orders it.
    // No rollback takes a pragma back.
    pragma(own, "PRAGMA secure_delete = ON").await?;
    let erased = erase(own, session, at).await;
    pragma(own, "PRAGMA secure_delete = OFF").await?;
    erased
}

async fn erase(own: &mut Own<'_>, session: &SessionId, at: Timestamp) -> Result<(), StoreError> {
    for sql in STATEMENTS {
        let statement = sqlx::query(own.sql(sql)).bind(session.as_str());
        statement.execute(&mut *own.db).await.map_err(StoreError::unavailable)?;
    }
    forget::erase_listed(own, None, at).await?;
    Ok(())
}

async fn pragma(own: &mut Own<'_>, sql: &'static str) -> Result<(), StoreError> {
    let set = sqlx::query(own.sql(sql)).execute(&mut *own.db).await;
    set.map_err(StoreError::unavailable)?;
    Ok(())
}
