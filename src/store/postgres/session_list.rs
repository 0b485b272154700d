//! Lists the chats of a user, newest first, without reading their transcripts.

use madang_actors::{
    port::{SessionPage, SessionSummary, StoreError},
    protocol::{SessionId, UserId},
};
use sqlx::{Postgres, QueryBuilder, postgres::PgRow};

use super::own::Own;
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
SELECT its.session, its.user_id AS owner, its.opened_at, its.seal AS owner_seal, its.last_at,
    its.title AS given_title,
    open.turn::text AS open_turn,
    EXISTS (
        SELECT 1 FROM madang.calls AS call
        WHERE call.session = its.session AND call.ended_at IS NULL AND call.state = 'awaiting' AND call.turn = open.turn
    )::int::bigint AS waits,
    last.seq AS last_seq, (ended.turn IS NOT NULL)::int::bigint AS is_ended,
    first.seq AS first_seq, first.content, first.session AS of_session
FROM madang.sessions AS its
LEFT JOIN madang.turns AS open ON open.session = its.session AND open.ended_at IS NULL
LEFT JOIN madang.messages AS last ON last.session = its.session AND last.seq = (
    SELECT max(seq) FROM madang.messages
    WHERE session = its.session AND seq < coalesce(
        (SELECT min(seq) FROM madang.calls WHERE session = its.session AND ended_at IS NULL), 9223372036854775807))
LEFT JOIN madang.turns AS ended
    ON ended.session = its.session AND ended.turn = last.turn AND ended.ended_behind = last.seq
LEFT JOIN madang.messages AS first ON first.session = its.session AND first.seq = coalesce(
    (SELECT seq FROM madang.messages
     WHERE session = its.session AND starts_with(content, '{"role":"user"') AND seq > (
        SELECT max(seq) FROM madang.messages
        WHERE session = its.session AND content = '{"role":"cleared"}')
     ORDER BY seq LIMIT 1),
    (SELECT seq FROM madang.messages
     WHERE session = its.session AND starts_with(content, '{"role":"user"') ORDER BY seq LIMIT 1))
WHERE its.last_at IS NOT NULL AND its.user_id = "#;

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
    type Row = PgRow;

    async fn chats_behind(
        &mut self,
        place: Option<Place>,
        limit: usize,
    ) -> Result<Vec<PgRow>, StoreError> {
        let mut query = QueryBuilder::<Postgres>::new(SESSIONS);
        query.push_bind(self.user.as_str());
        if let Some((last_at, session)) = place {
            query.push(" AND (its.last_at, its.session) < (").push_bind(last_at);
            query.push(", ").push_bind(session).push(")");
        }
        query.push(" ORDER BY its.last_at DESC, its.session DESC LIMIT ");
        query.push_bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let query = self.own.prepared(query.build());
        self.own.all(query).await
    }
}

/// Reads the summary of one of the user's chats, or `None` if it is not listed.
pub(super) async fn one(
    own: &mut Own<'_>,
    user: &UserId,
    session: &SessionId,
) -> Result<Option<SessionSummary>, StoreError> {
    let mut query = QueryBuilder::<Postgres>::new(SESSIONS);
    query.push_bind(user.as_str()).push(" AND its.session = ").push_bind(session.as_str());
    let query = own.prepared(query.build());
    let row = own.one(query).await?;
    row.map(|row| summary(&row, own.keys)).transpose()
}
