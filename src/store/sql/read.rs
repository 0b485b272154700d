//! Rows become answers. Each question is one statement, so that it sees one moment.

use madang_actors::{
    ledger::{ChainEnd, Link},
    port::{LedgerFilter, LedgerRow, SessionRow, StoreError, StoredSession},
    protocol::{ChatMessage, SessionId, Timestamp, UserId},
};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection, sqlite::SqliteRow};

use super::row::{self, column};

/// Whose session it is.
pub(super) async fn owner(
    db: &mut SqliteConnection,
    session: &SessionId,
) -> Result<Option<UserId>, StoreError> {
    let found =
        sqlx::query_scalar::<_, String>("SELECT user FROM madang_sessions WHERE session = $1")
            .bind(session.as_str())
            .fetch_optional(db)
            .await
            .map_err(StoreError::unavailable)?;
    found.as_deref().map(row::user).transpose()
}

/// A session with its transcript.
pub(super) async fn session(
    db: &mut SqliteConnection,
    session: &SessionId,
) -> Result<Option<StoredSession>, StoreError> {
    // A session without messages gives one row. The session's own columns come again with each message, which costs
    // little beside a second moment in time.
    let rows = sqlx::query(
        "SELECT s.user AS owner, s.opened_at, \
         (SELECT turn FROM madang_turns WHERE session = $1 AND ended_at IS NULL ORDER BY began_at DESC LIMIT 1) \
         AS open_turn, m.seq AS place, m.turn AS message_turn, m.at, m.content, c.* \
         FROM madang_sessions AS s \
         LEFT JOIN madang_messages AS m ON m.session = s.session \
         LEFT JOIN madang_calls AS c ON c.call = m.call \
         WHERE s.session = $1 ORDER BY m.seq",
    )
    .bind(session.as_str())
    .fetch_all(db)
    .await
    .map_err(StoreError::unavailable)?;
    let Some(first) = rows.first() else { return Ok(None) };
    let user = row::user(column(first, "owner")?)?;
    let opened_at = Timestamp::from_millis(column(first, "opened_at")?);
    let open_turn = column::<Option<&str>>(first, "open_turn")?.map(row::turn).transpose()?;
    let mut messages = Vec::with_capacity(rows.len());
    let mut last_seq = 0;
    for row in &rows {
        let Some(seq) = column::<Option<i64>>(row, "place")? else { continue };
        last_seq = row::number(seq, "seq")?;
        messages.extend(entry(row, last_seq)?);
    }
    let row = SessionRow { session: session.clone(), user, opened_at, last_seq };
    Ok(Some(StoredSession { row, messages, open_turn }))
}

/// An entry of the transcript: its own content, or the call that has its place, once that has ended.
fn entry(row: &SqliteRow, seq: u64) -> Result<Option<ChatMessage>, StoreError> {
    let Some(content) = column::<Option<&str>>(row, "content")? else {
        return Ok(row::call(row)?.and_then(|call| call.entry()));
    };
    let turn = row::turn(column(row, "message_turn")?)?;
    let at = Timestamp::from_millis(column(row, "at")?);
    Ok(Some(ChatMessage { seq, turn, at, content: row::from_json(content)? }))
}

/// The calls of a filter.
pub(super) async fn calls(
    db: &mut SqliteConnection,
    filter: &LedgerFilter,
) -> Result<Vec<LedgerRow>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT * FROM madang_calls WHERE TRUE");
    if let Some(session) = &filter.session {
        query.push(" AND session = ").push_bind(session.as_str());
    }
    if let Some(call) = &filter.call {
        query.push(" AND call = ").push_bind(call.to_string());
    }
    if filter.only_open {
        query.push(" AND state <> 'ended'");
    }
    if filter.only_grants {
        query.push(" AND approval ->> '$.kind' = 'always' AND revoked_at IS NULL");
    }
    query.push(" ORDER BY number");
    let rows = query.build().fetch_all(db).await.map_err(StoreError::unavailable)?;
    rows.iter().filter_map(|row| row::call(row).transpose()).collect()
}

/// A session's chain and where the session row says it ends.
pub(super) async fn links(
    db: &mut SqliteConnection,
    session: &SessionId,
) -> Result<(Vec<Link>, ChainEnd), StoreError> {
    let rows = sqlx::query(
        "SELECT s.chain_length, s.chain_head, t.* FROM madang_sessions AS s \
         LEFT JOIN madang_transitions AS t ON t.session = s.session \
         WHERE s.session = $1 ORDER BY t.position",
    )
    .bind(session.as_str())
    .fetch_all(db)
    .await
    .map_err(StoreError::unavailable)?;
    let Some(first) = rows.first() else { return Ok((Vec::new(), ChainEnd::EMPTY)) };
    let end = row::chain_end(first)?;
    let links =
        rows.iter().filter_map(|row| row::link(row).transpose()).collect::<Result<_, _>>()?;
    Ok((links, end))
}
