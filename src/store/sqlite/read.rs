//! Answers questions from rows. Each question is one statement, so that it sees a single moment.

use madang_actors::{
    ledger::{ChainEnd, Link},
    port::{
        InterruptedSession, PartSize, StoreError, StoredSession, StoredTurn, SubmittedTurn,
        TranscriptPart, UnfinishedPart,
    },
    protocol::{IdempotencyKey, SessionId, TurnId, UserId},
};
use sqlx::{
    Sqlite, SqliteConnection,
    query::Query,
    sqlite::{SqliteArguments, SqliteRow},
};

use super::own::Own;
use crate::store::rows::{
    chat::{self, NotTheOwner},
    ledger,
};

/// Reads the owner of a session.
pub(super) async fn owner(
    own: &mut Own<'_>,
    session: &SessionId,
) -> Result<Option<UserId>, StoreError> {
    let owner = owner_by_seal(own, session).await?;
    owner.transpose().map_err(StoreError::unavailable)
}

/// Reads the owner of a session, or reports that its row has no fitting seal.
pub(super) async fn owner_by_seal(
    own: &mut Own<'_>,
    session: &SessionId,
) -> Result<Option<Result<UserId, NotTheOwner>>, StoreError> {
    let sql = "SELECT user AS owner, opened_at, seal AS owner_seal FROM madang_sessions WHERE session = $1";
    let query = sqlx::query(own.sql(sql)).bind(session.as_str());
    let found = one(own.db, query).await?;
    found.map(|found| chat::sealed_owner(&found, session, own.keys)).transpose()
}

/// Reads a session with its transcript.
pub(super) async fn session(
    own: &mut Own<'_>,
    session: &SessionId,
) -> Result<Option<StoredSession>, StoreError> {
    // A session without messages returns one row. Repeating the session's columns in each row costs
    // little. Only the options of its open turn may be long, so only the first row has them. One
    // statement sees one moment.
    let query = sqlx::query(
        "SELECT s.user AS owner, s.opened_at, s.seal AS owner_seal, s.erased_to, o.turn AS open_turn, o.key, o.text, \
         CASE WHEN m.seq IS (SELECT min(seq) FROM madang_messages WHERE session = $1 \
         AND seq > (SELECT erased_to FROM madang_sessions WHERE session = $1)) THEN o.options END AS options, \
         o.round, o.round_from, o.usage, o.dismissed_at, o.resumes, m.seq AS message_seq, m.turn AS message_turn, m.at, \
         m.content, m.session AS of_session, c.* \
         FROM madang_sessions AS s \
         LEFT JOIN madang_turns AS o ON o.session = s.session AND o.ended_at IS NULL \
         LEFT JOIN madang_messages AS m ON m.session = s.session AND m.seq > s.erased_to \
         LEFT JOIN madang_calls AS c ON c.call = m.call \
         WHERE s.session = $1 ORDER BY m.seq",
    );
    let rows = all(own.db, query.bind(session.as_str())).await?;
    chat::session(&rows, session, own.keys)
}

/// Counts the bytes of an entry in the store.
macro_rules! entry_bytes {
    () => {
        "coalesce(octet_length(m.content), 0) + coalesce(octet_length(c.raw_arguments), 0) \
     + coalesce(octet_length(c.opaque), 0) + coalesce(octet_length(c.arguments), 0) + coalesce(octet_length(c.asked), 0) \
     + coalesce(octet_length(c.shown), 0) + coalesce(octet_length(c.outcome), 0)"
    };
}

/// Reads a part of a transcript. Without the plus, SQLite would prepare the statement again for
/// each value of the limit, which takes longer than the reading.
pub(super) const TRANSCRIPT: &str = concat!(
    "SELECT ",
    entry_bytes!(),
    " AS entry_bytes, t.options ->> '$.language' AS language, t.ended_at AS turn_ended_at, t.ended_behind, t.ending, t.error, t.usage, m.seq AS message_seq, \
     m.turn AS message_turn, m.at, m.content, m.session AS of_session, c.* \
     FROM madang_messages AS m \
     JOIN madang_turns AS t ON t.session = m.session AND t.turn = m.turn \
     LEFT JOIN madang_calls AS c ON c.call = m.call \
     WHERE m.session = $1 AND m.seq >= $2 \
     AND m.seq > (SELECT erased_to FROM madang_sessions WHERE session = $1) ORDER BY m.seq LIMIT 1 + (SELECT max(count(*), 1) FROM ( \
     SELECT sum(bytes) OVER (ORDER BY seq) AS total FROM (SELECT m.seq, ",
    entry_bytes!(),
    " AS bytes \
     FROM madang_messages AS m LEFT JOIN madang_calls AS c ON c.call = m.call \
     WHERE m.session = $1 AND m.seq >= $2 \
     AND m.seq > (SELECT erased_to FROM madang_sessions WHERE session = $1) ORDER BY m.seq LIMIT +$3)) WHERE total <= $4)",
);

/// Reads a part of a transcript, and one more row to see where the next part begins. The database
/// counts the bytes, so that no more rows than these are in memory.
pub(super) async fn transcript(
    db: &mut SqliteConnection,
    session: &SessionId,
    from: u64,
    size: PartSize,
) -> Result<TranscriptPart, StoreError> {
    let most = |bound: usize| i64::try_from(bound).unwrap_or(i64::MAX);
    let query = sqlx::query(TRANSCRIPT)
        .bind(session.as_str())
        .bind(i64::try_from(from).unwrap_or(i64::MAX))
        .bind(most(size.numbers))
        .bind(most(size.bytes));
    let rows = all(db, query).await?;
    let mut part = UnfinishedPart::of(size);
    for found in &rows {
        if !part.take(chat::transcript_row(found)?) {
            break;
        }
    }
    Ok(part.done())
}

/// Lists the sessions that have an open turn.
pub(super) async fn interrupted(
    db: &mut SqliteConnection,
) -> Result<Vec<InterruptedSession>, StoreError> {
    let query = sqlx::query(
        "SELECT t.session, t.turn, s.user FROM madang_turns AS t \
         JOIN madang_sessions AS s ON s.session = t.session \
         WHERE t.ended_at IS NULL ORDER BY t.began_at, t.session",
    );
    all(db, query).await?.iter().map(chat::interrupted).collect()
}

/// Finds the turn that was submitted with a key.
pub(super) async fn submitted(
    db: &mut SqliteConnection,
    session: &SessionId,
    key: &IdempotencyKey,
) -> Result<Option<SubmittedTurn>, StoreError> {
    let query = sqlx::query(
        "SELECT turn, text, ending, error, usage FROM madang_turns WHERE session = $1 AND key = $2",
    );
    let query = query.bind(session.as_str()).bind(key.as_str());
    one(db, query).await?.as_ref().map(chat::submitted).transpose()
}

/// Reads a turn, and the number of its first entry.
pub(super) async fn turn(
    db: &mut SqliteConnection,
    session: &SessionId,
    turn: TurnId,
) -> Result<Option<StoredTurn>, StoreError> {
    let query = sqlx::query(
        "SELECT (SELECT min(seq) FROM madang_messages WHERE session = $1 AND turn = $2 \
         AND seq > (SELECT erased_to FROM madang_sessions WHERE session = $1)) AS first, \
         ended_behind, ending, error, usage FROM madang_turns WHERE session = $1 AND turn = $2",
    );
    let query = query.bind(session.as_str()).bind(turn.to_string());
    one(db, query).await?.as_ref().map(chat::stored_turn).transpose()
}

/// Reads the links of a session's chain, and the end that the session's row states.
pub(super) async fn links(
    db: &mut SqliteConnection,
    session: &SessionId,
) -> Result<(Vec<Link>, ChainEnd), StoreError> {
    let query = sqlx::query(
        "SELECT s.chain_length, s.chain_head, t.* FROM madang_sessions AS s \
         LEFT JOIN madang_transitions AS t ON t.session = s.session \
         WHERE s.session = $1 ORDER BY t.position",
    );
    let rows = all(db, query.bind(session.as_str())).await?;
    let Some(first) = rows.first() else { return Ok((Vec::new(), ChainEnd::EMPTY)) };
    let end = ledger::chain_end(first)?;
    let links =
        rows.iter().filter_map(|row| ledger::link(row).transpose()).collect::<Result<_, _>>()?;
    Ok((links, end))
}

/// A statement with its values.
type Statement<'q> = Query<'q, Sqlite, SqliteArguments>;

pub(super) async fn all(
    db: &mut SqliteConnection,
    statement: Statement<'_>,
) -> Result<Vec<SqliteRow>, StoreError> {
    statement.fetch_all(db).await.map_err(StoreError::unavailable)
}

pub(super) async fn one(
    db: &mut SqliteConnection,
    statement: Statement<'_>,
) -> Result<Option<SqliteRow>, StoreError> {
    statement.fetch_optional(db).await.map_err(StoreError::unavailable)
}
