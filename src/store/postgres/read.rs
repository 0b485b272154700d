//! Answers questions from rows. Each question is one statement, so that it sees a single moment.

use madang_actors::{
    ledger::{ChainEnd, Link},
    port::{
        InterruptedSession, PartSize, StoreError, StoredSession, StoredTurn, SubmittedTurn,
        TranscriptPart, UnfinishedPart,
    },
    protocol::{IdempotencyKey, SessionId, TurnId, UserId},
};

use super::own::Own;
use crate::store::rows::{
    chat::{self, NotTheOwner},
    ledger,
};

/// The columns of a call `c`, as `store::rows` reads them.
macro_rules! call_columns {
    () => {
        "c.number, c.tx::text::bigint AS tx, c.call::text AS call, c.session, c.turn::text AS turn, c.seq, c.user_id AS \"user\", \
         c.name, c.raw_arguments, c.model, c.opaque, c.arguments, c.asked, c.schema, c.shown, c.digest, c.state, c.outcome, \
         c.effect, c.result, c.decided_by, c.approval, c.seal, c.approved_at, c.expires_at, c.revoked_at, c.resolved_by, \
         c.resolved_at, c.proposed_at, c.ended_at"
    };
}

/// Selects calls `c`.
pub(super) const CALL: &str = concat!("SELECT ", call_columns!(), " FROM madang.calls AS c");

/// The columns of a link `t`, as `store::rows` reads them.
macro_rules! link_columns {
    () => {
        "t.position, t.call::text AS call, t.at, t.step, t.transition, t.salt, t.hash"
    };
}
pub(super) use link_columns;

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
    let sql = "SELECT user_id AS owner, opened_at, seal AS owner_seal FROM madang.sessions WHERE session = $1";
    let query = own.query(sql).bind(session.as_str());
    let found = own.one(query).await?;
    found.map(|found| chat::sealed_owner(&found, session, own.keys)).transpose()
}

/// Reads a session with its transcript.
pub(super) async fn session(
    own: &mut Own<'_>,
    session: &SessionId,
) -> Result<Option<StoredSession>, StoreError> {
    // A session without messages returns one row. Only the options of its open turn may be long, so
    // only the first row has them. The columns of a call come last: the others of these names are of
    // the row as a whole.
    let query = own.query(concat!(
        "SELECT s.user_id AS owner, s.opened_at, s.seal AS owner_seal, s.erased_to, o.turn::text AS open_turn, o.key, o.text, \
         CASE WHEN m.seq IS NOT DISTINCT FROM (SELECT min(seq) FROM madang.messages WHERE session = $1 AND seq > s.erased_to) \
         THEN o.options END AS options, \
         o.round, o.round_from, o.usage, o.dismissed_at, o.resumes, m.seq AS message_seq, m.turn::text AS message_turn, m.at, \
         m.content, m.session AS of_session, ",
        call_columns!(),
        " FROM madang.sessions AS s \
         LEFT JOIN madang.turns AS o ON o.session = s.session AND o.ended_at IS NULL \
         LEFT JOIN madang.messages AS m ON m.session = s.session AND m.seq > s.erased_to \
         LEFT JOIN madang.calls AS c ON c.call = m.call \
         WHERE s.session = $1 ORDER BY m.seq",
    ));
    let rows = own.all(query.bind(session.as_str())).await?;
    chat::session(&rows, session, own.keys)
}

/// Counts the bytes of an entry in the store.
macro_rules! entry_bytes {
    () => {
        "(coalesce(octet_length(m.content), 0) + coalesce(octet_length(c.raw_arguments), 0) \
     + coalesce(octet_length(c.opaque), 0) + coalesce(octet_length(c.arguments), 0) + coalesce(octet_length(c.asked), 0) \
     + coalesce(octet_length(c.shown), 0) + coalesce(octet_length(c.outcome), 0))::bigint"
    };
}

/// Reads a part of a transcript.
const TRANSCRIPT: &str = concat!(
    "SELECT ",
    entry_bytes!(),
    " AS entry_bytes, t.language, t.ended_at AS turn_ended_at, t.ended_behind, t.ending, t.error, t.usage, m.seq AS message_seq, \
     m.turn::text AS message_turn, m.at, m.content, m.session AS of_session, ",
    call_columns!(),
    " FROM madang.messages AS m \
     JOIN madang.turns AS t ON t.session = m.session AND t.turn = m.turn \
     LEFT JOIN madang.calls AS c ON c.call = m.call \
     WHERE m.session = $1 AND m.seq >= $2 \
     AND m.seq > (SELECT erased_to FROM madang.sessions WHERE session = $1) ORDER BY m.seq LIMIT 1 + (SELECT greatest(count(*), 1) FROM ( \
     SELECT sum(bytes) OVER (ORDER BY seq) AS total FROM (SELECT m.seq, ",
    entry_bytes!(),
    " AS bytes \
     FROM madang.messages AS m LEFT JOIN madang.calls AS c ON c.call = m.call \
     WHERE m.session = $1 AND m.seq >= $2 \
     AND m.seq > (SELECT erased_to FROM madang.sessions WHERE session = $1) ORDER BY m.seq LIMIT $3) AS its) AS sums WHERE total <= $4)",
);

/// Reads a part of a transcript, and one more row to see where the next part begins. The database
/// counts the bytes, so that no more rows than these are in memory.
pub(super) async fn transcript(
    own: &mut Own<'_>,
    session: &SessionId,
    from: u64,
    size: PartSize,
) -> Result<TranscriptPart, StoreError> {
    let most = |bound: usize| i64::try_from(bound).unwrap_or(i64::MAX);
    let query = own
        .query(TRANSCRIPT)
        .bind(session.as_str())
        .bind(i64::try_from(from).unwrap_or(i64::MAX))
        .bind(most(size.numbers))
        .bind(most(size.bytes));
    let rows = own.all(query).await?;
    let mut part = UnfinishedPart::of(size);
    for found in &rows {
        if !part.take(chat::transcript_row(found)?) {
            break;
        }
    }
    Ok(part.done())
}

/// Lists the sessions that have an open turn.
pub(super) async fn interrupted(own: &mut Own<'_>) -> Result<Vec<InterruptedSession>, StoreError> {
    let query = own.query(
        "SELECT t.session, t.turn::text AS turn, s.user_id AS \"user\" FROM madang.turns AS t \
         JOIN madang.sessions AS s ON s.session = t.session \
         WHERE t.ended_at IS NULL ORDER BY t.began_at, t.session",
    );
    own.all(query).await?.iter().map(chat::interrupted).collect()
}

/// Finds the turn that was submitted with a key.
pub(super) async fn submitted(
    own: &mut Own<'_>,
    session: &SessionId,
    key: &IdempotencyKey,
) -> Result<Option<SubmittedTurn>, StoreError> {
    let query = own.query(
        "SELECT turn::text AS turn, text, ending, error, usage FROM madang.turns WHERE session = $1 AND key = $2",
    );
    let query = query.bind(session.as_str()).bind(key.as_str());
    own.one(query).await?.as_ref().map(chat::submitted).transpose()
}

/// Reads a turn, and the number of its first entry.
pub(super) async fn turn(
    own: &mut Own<'_>,
    session: &SessionId,
    turn: TurnId,
) -> Result<Option<StoredTurn>, StoreError> {
    let query = own.query(
        "SELECT (SELECT min(seq) FROM madang.messages WHERE session = $1 AND turn = $2 \
         AND seq > (SELECT erased_to FROM madang.sessions WHERE session = $1)) AS first, \
         ended_behind, ending, error, usage FROM madang.turns WHERE session = $1 AND turn = $2",
    );
    let query = query.bind(session.as_str()).bind(turn.uuid());
    own.one(query).await?.as_ref().map(chat::stored_turn).transpose()
}

/// Reads the links of a session's chain, and the end that the session's row states.
pub(super) async fn links(
    own: &mut Own<'_>,
    session: &SessionId,
) -> Result<(Vec<Link>, ChainEnd), StoreError> {
    let query = own.query(concat!(
        "SELECT s.chain_length, s.chain_head, ",
        link_columns!(),
        " FROM madang.sessions AS s LEFT JOIN madang.transitions AS t ON t.session = s.session \
         WHERE s.session = $1 ORDER BY t.position",
    ));
    let rows = own.all(query.bind(session.as_str())).await?;
    let Some(first) = rows.first() else { return Ok((Vec::new(), ChainEnd::EMPTY)) };
    let end = ledger::chain_end(first)?;
    let links =
        rows.iter().filter_map(|row| ledger::link(row).transpose()).collect::<Result<_, _>>()?;
    Ok((links, end))
}
