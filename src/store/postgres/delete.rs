//! Deletes a session for its user, while the store is in use.

use madang_actors::{
    port::StoreError,
    protocol::{SessionId, Timestamp, UserId},
};

use super::{erase::UNCOUNT, forget, own::Own, read};

/// Finds a turn or a call of a session that has not ended.
const OPEN: &str = "SELECT 1 FROM madang.turns WHERE session = $1 AND ended_at IS NULL \
    UNION ALL SELECT 1 FROM madang.calls WHERE session = $1 AND ended_at IS NULL";

/// What the steps of a session's calls count, but for the record and the hashes that stay, as
/// [`erased_bytes`](madang_actors::port::erased_bytes) counts them.
const UNCOUNT_STEPS: &str = "UPDATE madang.users SET bytes = bytes + 256 \
    - (SELECT coalesce(sum(octet_length(transition) + 256 - 32), 0) FROM madang.transitions WHERE session = $1) \
    WHERE user_id = (SELECT user_id FROM madang.sessions WHERE session = $1)";

/// The statements before the rows go.
const STATEMENTS: [&str; 3] = [UNCOUNT, UNCOUNT_STEPS, "INSERT INTO madang.erasing VALUES ($1)"];

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
    let open = own.query(OPEN).bind(session.as_str());
    if !own.all(open).await?.is_empty() {
        let why = format!("a turn or a call of session {session} has not ended");
        return Err(StoreError::refused(why));
    }
    for sql in STATEMENTS {
        let statement = own.query(sql).bind(session.as_str());
        own.run(statement).await?;
    }
    forget::erase_listed(own, None, at).await?;
    Ok(())
}
