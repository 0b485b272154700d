//! Lists the chats of a user, newest first, without reading their transcripts.

use madang_actors::{
    port::{SessionPage, SessionSummary, StoreError},
    protocol::{SessionId, UserId},
};
use sqlx::{QueryBuilder, Sqlite, sqlite::SqliteRow};

use super::{own::Own, read};
use crate::store::rows::{
    chat::summary,
    search::Place,
    session_list::{self as list, ListedChats},
};

/// A page of sessions from the index. Each of the joins and subqueries finds one row by an index.
///
/// The last entry is before any call that has not ended. The search for the first text begins after
/// the last clearing, where only calls without a model and notices can come before it.
const SESSIONS: &str = r#"
SELECT its.session, its.user AS owner, its.opened_at, its.seal AS owner_seal, its.last_at,
    its.title AS given_title,
    open.turn AS open_turn,
    EXISTS (
        SELECT 1 FROM madang_calls AS call
        WHERE call.session = its.session AND call.ended_at IS NULL AND call.state = 'awaiting' AND call.turn = open.turn
    ) AS waits,
    last.seq AS last_seq, ended.turn IS NOT NULL AS is_ended,
    first.seq AS first_seq, first.content, first.session AS of_session
FROM madang_sessions AS its
LEFT JOIN madang_turns AS open ON open.session = its.session AND open.ended_at IS NULL
LEFT JOIN madang_messages AS last ON last.session = its.session AND last.seq = (
    SELECT max(seq) FROM madang_messages
    WHERE session = its.session AND seq < coalesce(
        (SELECT min(seq) FROM madang_calls WHERE session = its.session AND ended_at IS NULL), 9223372036854775807))
LEFT JOIN madang_turns AS ended
    ON ended.session = its.session AND ended.turn = last.turn AND ended.ended_behind = last.seq
LEFT JOIN madang_messages AS first ON first.session = its.session AND first.seq = coalesce(
    (SELECT seq FROM madang_messages
     WHERE session = its.session AND content GLOB '{"role":"user"*' AND seq > (
        SELECT max(seq) FROM madang_messages INDEXED BY madang_clearings
        WHERE session = its.session AND content = '{"role":"cleared"}')
     ORDER BY seq LIMIT 1),
    (SELECT seq FROM madang_messages
     WHERE session = its.session AND content GLOB '{"role":"user"*' ORDER BY seq LIMIT 1))
WHERE its.last_at IS NOT NULL AND its.user = "#;

/// Reads a page of the user's chats.
pub(super) async fn read(
    own: &mut Own<'_>,
    user: &UserId,
    page: &SessionPage,
) -> Result<Vec<SessionSummary>, StoreError> {
    let keys = own.keys;
    list::read(&mut ChatsOf { own, user }, keys, page).await
}

/// The chats of a user.
struct ChatsOf<'c, 'o> {
    own: &'c mut Own<'o>,
    user: &'c UserId,
}

impl ListedChats for ChatsOf<'_, '_> {
    type Row = SqliteRow;

    async fn chats_behind(
        &mut self,
        place: Option<Place>,
        limit: usize,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let mut query = query(self.own, self.user, place, limit);
        read::all(self.own.db, query.build()).await
    }
}

/// Reads the summary of one of the user's chats, or `None` if it is not listed.
pub(super) async fn one(
    own: &mut Own<'_>,
    user: &UserId,
    session: &SessionId,
) -> Result<Option<SessionSummary>, StoreError> {
    let mut query = QueryBuilder::new(own.sql(SESSIONS).0);
    query.push_bind(user.as_str()).push(" AND its.session = ").push_bind(session.as_str());
    let row = read::one(own.db, query.build()).await?;
    row.map(|row| summary(&row, own.keys)).transpose()
}

/// Makes the query for the chats after a moment and an id.
pub(super) fn query(
    own: &Own<'_>,
    user: &UserId,
    before: Option<(i64, String)>,
    limit: usize,
) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(own.sql(SESSIONS).0);
    query.push_bind(user.as_str());
    if let Some((last_at, session)) = before {
        query.push(" AND (its.last_at, its.session) < (").push_bind(last_at);
        query.push(", ").push_bind(session).push(")");
    }
    query.push(" ORDER BY its.last_at DESC, its.session DESC LIMIT ");
    query.push_bind(i64::try_from(limit).unwrap_or(i64::MAX));
    query
}
