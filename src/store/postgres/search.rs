//! Reads what a search of a user's texts looks at.

use madang_actors::{
    port::{SearchPage, SearchQuery, SessionSummary, StoreError},
    protocol::{SessionId, UserId},
};
use sqlx::postgres::PgRow;

use super::{own::Own, session_list};
use crate::store::rows::search::{
    self as rows, CHATS_AT_ONCE, ENTRIES_AT_ONCE, From, Place, SearchedChats,
};

/// The next chats of a user in the list. The position itself is among them at first.
macro_rules! chats {
    ($compares:literal) => {
        concat!(
            "SELECT session, last_at, user_id AS owner, opened_at, seal AS owner_seal FROM madang.sessions \
             WHERE last_at IS NOT NULL AND user_id = $1 AND (last_at, session) ",
            $compares,
            " ($2, $3) ORDER BY last_at DESC, session DESC LIMIT $4"
        )
    };
}

/// The next entries of a chat since its last clearing, with the content of those that are texts. The
/// user is compared as well, because the chat may have been deleted since, and opened by another.
const ENTRIES: &str = r#"
SELECT m.session AS of_session, m.seq, m.turn::text AS turn, m.at,
    CASE WHEN starts_with(m.content, '{"role":"user"') OR starts_with(m.content, '{"role":"model"') THEN m.content END AS content
FROM madang.messages AS m
WHERE m.session = $1 AND m.seq > greatest($2, coalesce(
    (SELECT max(seq) FROM madang.messages WHERE session = $1 AND content = '{"role":"cleared"}'), 0))
AND EXISTS (SELECT 1 FROM madang.sessions WHERE session = $1 AND user_id = $3)
ORDER BY m.seq LIMIT $4"#;

/// Searches the texts of a user.
pub(super) async fn search(
    own: &mut Own<'_>,
    user: &UserId,
    query: &SearchQuery,
) -> Result<SearchPage, StoreError> {
    let keys = own.keys;
    rows::search(&mut ChatsOf { own, user }, keys, query).await
}

/// The chats of a user.
struct ChatsOf<'c, 'o> {
    own: &'c mut Own<'o>,
    user: &'c UserId,
}

impl SearchedChats for ChatsOf<'_, '_> {
    type Row = PgRow;

    async fn chats(&mut self, from: From, (at, session): &Place) -> Result<Vec<PgRow>, StoreError> {
        let sql = match from {
            From::Here => chats!("<="),
            From::Behind => chats!("<"),
        };
        let query = self.own.query(sql).bind(self.user.as_str());
        let query = query.bind(*at).bind(session.as_str()).bind(i64::from(CHATS_AT_ONCE));
        self.own.all(query).await
    }

    async fn entries(&mut self, session: &SessionId, after: u64) -> Result<Vec<PgRow>, StoreError> {
        let query = self
            .own
            .query(ENTRIES)
            .bind(session.as_str())
            .bind(i64::try_from(after).unwrap_or(i64::MAX))
            .bind(self.user.as_str())
            .bind(i64::from(ENTRIES_AT_ONCE));
        self.own.all(query).await
    }

    async fn summary(&mut self, session: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
        session_list::one(self.own, self.user, session).await
    }
}
