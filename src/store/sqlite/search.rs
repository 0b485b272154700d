//! Searches the texts of a user's chats, the newest chat first, some entries at a time.

use std::collections::HashMap;

use madang_actors::{
    port::{SearchPage, SearchQuery, SessionCursor, StoreError, UnfinishedSearch},
    protocol::{ChatMessage, SessionId, UserId},
};
use sqlx::sqlite::SqliteRow;
use tracing::error;

use super::{own::Own, read, session_list};
use crate::store::rows::{
    chat::{content, sealed_owner},
    columns::Columns,
    value,
};

/// How many chats are read at once.
const CHATS_AT_ONCE: u32 = 64;
/// How many entries of a chat are read at once. All of them may be long texts, which are in memory
/// together. The time is looked at before each read.
const ENTRIES_AT_ONCE: u32 = 32;

/// The next chats of a user in the list. The position itself is among them at first. The plus, here
/// and below, is there for the reason given at [`TRANSCRIPT`](super::read::TRANSCRIPT).
macro_rules! chats {
    ($compares:literal) => {
        concat!(
            "SELECT session, last_at, user AS owner, opened_at, seal AS owner_seal FROM madang_sessions \
             WHERE last_at IS NOT NULL AND user = $1 AND (last_at, session) ",
            $compares,
            " ($2, $3) ORDER BY last_at DESC, session DESC LIMIT +$4"
        )
    };
}

/// The next entries of a chat since its last clearing, with the content of those that are texts. The
/// user is compared as well, because the chat may have been deleted since, and opened by another.
const ENTRIES: &str = r#"
SELECT m.session AS of_session, m.seq, m.turn, m.at,
    CASE WHEN m.content GLOB '{"role":"user"*' OR m.content GLOB '{"role":"model"*' THEN m.content END AS content
FROM madang_messages AS m
WHERE m.session = $1 AND m.seq > max($2, coalesce(
    (SELECT max(seq) FROM madang_messages INDEXED BY madang_clearings
     WHERE session = $1 AND content = '{"role":"cleared"}'), 0))
AND EXISTS (SELECT 1 FROM madang_sessions WHERE session = $1 AND user = $3)
ORDER BY m.seq LIMIT +$4"#;

/// Searches the texts of a user.
pub(super) async fn search(
    own: &mut Own<'_>,
    user: &UserId,
    query: &SearchQuery,
) -> Result<SearchPage, StoreError> {
    let mut found = UnfinishedSearch::of(query);
    let after = query.after.as_ref();
    let first = after.map_or((i64::MAX, String::new()), |after| place(after.chat()));
    let mut chats = next_chats(own, user, chats!("<="), &first).await?;
    'chats: loop {
        let NextChats { chats: next, rest } = chats;
        for chat in next {
            let resumed = after.filter(|after| *after.chat() == chat);
            let mut seq = resumed.map_or(0, |after| after.seq());
            loop {
                if !found.reads_on(&chat, seq) {
                    break 'chats;
                }
                let Entries { texts, rest } = entries(own, user, chat.session(), seq).await?;
                if !texts.iter().all(|(entry, bytes)| found.take(&chat, entry, *bytes)) {
                    break 'chats;
                }
                let Some(rest) = rest else { break };
                seq = rest;
            }
        }
        let Some(rest) = rest else { break };
        chats = next_chats(own, user, chats!("<"), &rest).await?;
    }
    with_titles(own, user, found.done()).await
}

/// Some chats of a user.
struct NextChats {
    chats: Vec<SessionCursor>,
    /// The place after which there may be more.
    rest: Option<(i64, String)>,
}

fn place(chat: &SessionCursor) -> (i64, String) {
    (chat.last_at().millis(), chat.session().as_str().to_owned())
}

/// Reads the chats of a user that come next.
async fn next_chats(
    own: &mut Own<'_>,
    user: &UserId,
    sql: &str,
    (at, session): &(i64, String),
) -> Result<NextChats, StoreError> {
    let query = sqlx::query(own.sql(sql)).bind(user.as_str()).bind(*at).bind(session.as_str());
    let query = query.bind(CHATS_AT_ONCE);
    let rows = read::all(own.db, query).await?;
    let chat = |row: &SqliteRow| -> Result<SessionCursor, StoreError> {
        let session = value::session(row.text("session")?)?;
        // If another program changed the owner of a session to this user, it is not this user's.
        sealed_owner(row, &session, own.keys)?.map_err(StoreError::unavailable)?;
        Ok(SessionCursor::new(row.moment("last_at")?, session))
    };
    let mut next = NextChats { chats: Vec::with_capacity(rows.len()), rest: None };
    for row in &rows {
        match chat(row) {
            Ok(chat) => next.chats.push(chat),
            Err(cause) => {
                let session = row.text("session");
                let cause = &cause as &dyn std::error::Error;
                error!(?session, cause, "a chat is not searched");
            }
        }
    }
    if let Some(last) = rows.last().filter(|_| rows.len() == CHATS_AT_ONCE as usize) {
        next.rest = Some((last.integer("last_at")?, last.text("session")?.to_owned()));
    }
    Ok(next)
}

/// Some entries of a chat.
struct Entries {
    /// Those that are texts, each with its bytes in the store.
    texts: Vec<(ChatMessage, usize)>,
    /// The number of the entry after which there may be more.
    rest: Option<u64>,
}

/// Reads the entries of a chat that come next.
async fn entries(
    own: &mut Own<'_>,
    user: &UserId,
    session: &SessionId,
    after: u64,
) -> Result<Entries, StoreError> {
    let query = sqlx::query(own.sql(ENTRIES))
        .bind(session.as_str())
        .bind(i64::try_from(after).unwrap_or(i64::MAX))
        .bind(user.as_str())
        .bind(ENTRIES_AT_ONCE);
    let rows = read::all(own.db, query).await?;
    let seq = |row: &SqliteRow| row.number("seq");
    let text = |row: &SqliteRow| -> Result<Option<(ChatMessage, usize)>, StoreError> {
        let Some(text) = row.maybe_text("content")? else { return Ok(None) };
        let seq = seq(row)?;
        let turn = value::turn(row.text("turn")?)?;
        let at = row.moment("at")?;
        let entry = ChatMessage { seq, turn, at, content: content(row, text, seq) };
        Ok(Some((entry, text.len())))
    };
    let last = rows.last().filter(|_| rows.len() == ENTRIES_AT_ONCE as usize);
    Ok(Entries {
        texts: rows.iter().filter_map(|row| text(row).transpose()).collect::<Result<_, _>>()?,
        rest: last.map(seq).transpose()?,
    })
}

/// Adds the titles of the chats to what was found.
async fn with_titles(
    own: &mut Own<'_>,
    user: &UserId,
    mut page: SearchPage,
) -> Result<SearchPage, StoreError> {
    let mut titles: HashMap<SessionId, String> = HashMap::new();
    for hit in &mut page.hits {
        if !titles.contains_key(&hit.session) {
            let listed = session_list::one(own, user, &hit.session).await?;
            let title = listed.map_or_else(String::new, |listed| listed.title);
            titles.insert(hit.session.clone(), title);
        }
        hit.title.clone_from(&titles[&hit.session]);
    }
    Ok(page)
}
