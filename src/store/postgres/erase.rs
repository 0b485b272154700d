//! Erases the texts of temporary chats. The ledger of their calls is kept.

use madang_actors::{
    port::{StoreError, TemporaryChat},
    protocol::{SessionId, TurnOptions},
};
use sqlx::postgres::PgRow;

use super::own::Own;
use crate::store::rows::{columns::Columns as _, value};

/// The temporary chats that have a text or a title.
const TEMPORARY: &str = "SELECT its.session, its.user_id AS \"user\" FROM madang.sessions AS its \
    WHERE its.is_temporary AND (its.title IS NOT NULL \
    OR EXISTS (SELECT 1 FROM madang.messages WHERE session = its.session AND content IS NOT NULL)) \
    ORDER BY its.session LIMIT $1";

/// What the texts of a session count: those of its messages, and the instructions of its turns.
pub(super) const UNCOUNT: &str = "UPDATE madang.users SET bytes = bytes \
    - (SELECT coalesce(sum(octet_length(content) + 256), 0) FROM madang.messages WHERE session = $1 AND content IS NOT NULL) \
    - (SELECT coalesce(sum(counted), 0) FROM madang.turns WHERE session = $1) \
    WHERE user_id = (SELECT user_id FROM madang.sessions WHERE session = $1)";

/// The statements that erase the texts of a session, in their order, before the instructions of its
/// turns. Messages can be deleted while the session is listed in `erasing`.
const STATEMENTS: [&str; 4] = [
    "INSERT INTO madang.erasing VALUES ($1)",
    UNCOUNT,
    "UPDATE madang.sessions AS its SET title = NULL, \
     last_at = CASE WHEN has.last > its.erased_to THEN NULL ELSE its.last_at END, \
     erased_to = CASE WHEN has.last > its.erased_to THEN has.last ELSE its.erased_to END \
     FROM (SELECT max(seq) AS last FROM madang.messages WHERE session = $1) AS has WHERE its.session = $1",
    "DELETE FROM madang.messages WHERE session = $1 AND content IS NOT NULL",
];

/// Lists the temporary chats that have a text or a title, and no more than `most`.
pub(super) async fn temporary(
    own: &mut Own<'_>,
    most: usize,
) -> Result<Vec<TemporaryChat>, StoreError> {
    let chat = |row: &PgRow| {
        Ok(TemporaryChat {
            session: value::session(row.text("session")?)?,
            user: value::user(row.text("user")?)?,
        })
    };
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let query = own.query(TEMPORARY).bind(most);
    own.all(query).await?.iter().map(chat).collect()
}

/// Erases the texts of a session.
pub(super) async fn erase(own: &mut Own<'_>, session: &SessionId) -> Result<(), StoreError> {
    let its = own.query("SELECT 1 FROM madang.sessions WHERE session = $1 AND is_temporary");
    if own.one(its.bind(session.as_str())).await?.is_none() {
        return Err(StoreError::refused(format!("session {session} is not a temporary chat")));
    }
    for sql in STATEMENTS {
        let statement = own.query(sql).bind(session.as_str());
        own.run(statement).await?;
    }
    erase_instructions(own, session).await?;
    let done = own.query("DELETE FROM madang.erasing");
    own.run(done).await?;
    Ok(())
}

/// Takes the instructions out of the options of turns. The database does not read JSON.
async fn erase_instructions(own: &mut Own<'_>, session: &SessionId) -> Result<(), StoreError> {
    let turns = own.query(
        "SELECT turn::text AS turn, options FROM madang.turns WHERE session = $1 AND counted > 0",
    );
    for row in &own.all(turns.bind(session.as_str())).await? {
        let turn = value::turn(row.text("turn")?)?;
        let options: TurnOptions = value::from_json(row.text("options")?)?;
        let options = value::json(&TurnOptions { instructions: None, ..options });
        let without = own.query(
            "UPDATE madang.turns SET options = $3, counted = 0 WHERE session = $1 AND turn = $2",
        );
        let without = without.bind(session.as_str()).bind(turn.uuid()).bind(options);
        own.run(without).await?;
    }
    Ok(())
}
