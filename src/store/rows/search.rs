//! Searches the texts of a user's chats, the newest chat first, some entries at a time.

use std::collections::HashMap;

use madang_actors::{
    ledger::SealKeys,
    port::{SearchPage, SearchQuery, SessionCursor, SessionSummary, StoreError, UnfinishedSearch},
    protocol::{ChatMessage, SessionId},
};
use tracing::error;

use super::{
    chat::{content, sealed_owner},
    columns::Columns,
    value,
};

/// How many chats are read at once.
pub(crate) const CHATS_AT_ONCE: u32 = 64;
/// How many entries of a chat are read at once. All of them may be long texts, which are in memory
/// together. The time is looked at before each read.
pub(crate) const ENTRIES_AT_ONCE: u32 = 32;

/// A place in the list of a user's chats: the moment of the last event, and the session.
pub(crate) type Place = (i64, String);

/// Whether the chat at a place is among those that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Here,
    Behind,
}

/// The chats of one user, as a database has them.
pub(crate) trait SearchedChats: Send {
    type Row: Columns + Send + Sync;

    /// Reads the next [`CHATS_AT_ONCE`] chats in the list: their `session`, `last_at` and the columns
    /// of their owner.
    fn chats(
        &mut self,
        from: From,
        place: &Place,
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    /// Reads the next [`ENTRIES_AT_ONCE`] entries of a chat since its last clearing: `seq`, `turn` and
    /// `at`, with the `content` of those that are texts.
    fn entries(
        &mut self,
        session: &SessionId,
        after: u64,
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    /// Reads the summary of a chat.
    fn summary(
        &mut self,
        session: &SessionId,
    ) -> impl Future<Output = Result<Option<SessionSummary>, StoreError>> + Send;
}

/// Searches the texts of a user.
pub(crate) async fn search(
    its: &mut impl SearchedChats,
    keys: &SealKeys,
    query: &SearchQuery,
) -> Result<SearchPage, StoreError> {
    let mut found = UnfinishedSearch::of(query);
    let after = query.after.as_ref();
    let first = after.map_or((i64::MAX, String::new()), |after| place(after.chat()));
    let mut chats = next_chats(its, keys, From::Here, &first).await?;
    'chats: loop {
        let NextChats { chats: next, rest } = chats;
        for chat in next {
            let resumed = after.filter(|after| *after.chat() == chat);
            let mut seq = resumed.map_or(0, |after| after.seq());
            loop {
                if !found.reads_on(&chat, seq) {
                    break 'chats;
                }
                let Entries { texts, rest } = entries(its, chat.session(), seq).await?;
                if !texts.iter().all(|(entry, bytes)| found.take(&chat, entry, *bytes)) {
                    break 'chats;
                }
                let Some(rest) = rest else { break };
                seq = rest;
            }
        }
        let Some(rest) = rest else { break };
        chats = next_chats(its, keys, From::Behind, &rest).await?;
    }
    with_titles(its, found.done()).await
}

/// Some chats of a user.
struct NextChats {
    chats: Vec<SessionCursor>,
    /// The place after which there may be more.
    rest: Option<Place>,
}

fn place(chat: &SessionCursor) -> Place {
    (chat.last_at().millis(), chat.session().as_str().to_owned())
}

/// Reads the chats of a user that come next.
async fn next_chats(
    its: &mut impl SearchedChats,
    keys: &SealKeys,
    from: From,
    place: &Place,
) -> Result<NextChats, StoreError> {
    let rows = its.chats(from, place).await?;
    let mut next = NextChats { chats: Vec::with_capacity(rows.len()), rest: None };
    for row in &rows {
        match chat(row, keys) {
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

fn chat(row: &impl Columns, keys: &SealKeys) -> Result<SessionCursor, StoreError> {
    let session = value::session(row.text("session")?)?;
    // If another program changed the owner of a session to this user, it is not this user's.
    sealed_owner(row, &session, keys)?.map_err(StoreError::unavailable)?;
    Ok(SessionCursor::new(row.moment("last_at")?, session))
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
    its: &mut impl SearchedChats,
    session: &SessionId,
    after: u64,
) -> Result<Entries, StoreError> {
    let rows = its.entries(session, after).await?;
    let last = rows.last().filter(|_| rows.len() == ENTRIES_AT_ONCE as usize);
    Ok(Entries {
        texts: rows.iter().filter_map(|row| text(row).transpose()).collect::<Result<_, _>>()?,
        rest: last.map(|row| row.number("seq")).transpose()?,
    })
}

fn text(row: &impl Columns) -> Result<Option<(ChatMessage, usize)>, StoreError> {
    let Some(text) = row.maybe_text("content")? else { return Ok(None) };
    let seq = row.number("seq")?;
    let turn = value::turn(row.text("turn")?)?;
    let at = row.moment("at")?;
    let entry = ChatMessage { seq, turn, at, content: content(row, text, seq) };
    Ok(Some((entry, text.len())))
}

/// Adds the titles of the chats to what was found.
async fn with_titles(
    its: &mut impl SearchedChats,
    mut page: SearchPage,
) -> Result<SearchPage, StoreError> {
    let mut titles: HashMap<SessionId, String> = HashMap::new();
    for hit in &mut page.hits {
        if !titles.contains_key(&hit.session) {
            let listed = its.summary(&hit.session).await?;
            let title = listed.map_or_else(String::new, |listed| listed.title);
            titles.insert(hit.session.clone(), title);
        }
        hit.title.clone_from(&titles[&hit.session]);
    }
    Ok(page)
}
