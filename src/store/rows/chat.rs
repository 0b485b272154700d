//! Reads chats from rows: their owners, turns, entries and summaries.

use madang_actors::{
    ledger::{SealError, SealKeys},
    port::{
        InterruptedSession, OpenTurn, Owner, SessionRow, SessionSummary, StoreError, StoredEnd,
        StoredSession, StoredTurn, SubmittedTurn, TranscriptRow, session_title,
    },
    protocol::{
        ChatMessage, Content, EventCursor, IdempotencyKey, Notice, SessionId, TurnOptions, UserId,
    },
};
use tracing::error;

use super::{
    columns::Columns,
    ledger,
    value::{self, digest, from_json, from_name, unreadable},
};

/// Reads the columns `owner`, `opened_at` and `owner_seal`.
pub(crate) fn owner(row: &impl Columns) -> Result<Owner, StoreError> {
    Ok(Owner {
        user: value::user(row.text("owner")?)?,
        opened_at: row.moment("opened_at")?,
        seal: value::seal(row.maybe_text("owner_seal")?)?,
    })
}

/// Reads the owner in a row if its seal fits: a write into the table makes no user the owner of
/// another's chat. A store without keys is read-only, and reads the owner unchecked.
pub(crate) fn sealed_owner(
    row: &impl Columns,
    session: &SessionId,
    keys: &SealKeys,
) -> Result<Result<UserId, NotTheOwner>, StoreError> {
    let Owner { user, opened_at, seal } = owner(row)?;
    if !keys.is_empty() {
        let checked = keys.check_owner(session, &user, opened_at, seal.as_ref());
        if let Err(cause) = checked {
            return Ok(Err(NotTheOwner { session: session.clone(), cause }));
        }
    }
    Ok(Ok(user))
}

/// The seal does not confirm the owner of a session.
#[derive(Debug, thiserror::Error)]
#[error(
    "the owner of session {session} is not the user that opened it, as far as the seal keys tell"
)]
pub(crate) struct NotTheOwner {
    session: SessionId,
    #[source]
    cause: SealError,
}

/// Reads a session from rows that repeat it with each of its entries. A session without entries is
/// one row.
pub(crate) fn session(
    rows: &[impl Columns],
    session: &SessionId,
    keys: &SealKeys,
) -> Result<Option<StoredSession>, StoreError> {
    let Some(first) = rows.first() else { return Ok(None) };
    let user = sealed_owner(first, session, keys)?.map_err(StoreError::unavailable)?;
    let opened_at = first.moment("opened_at")?;
    let open_turn = open_turn(first)?;
    let mut messages = Vec::with_capacity(rows.len());
    let mut last_seq = first.number("erased_to")?;
    for row in rows {
        let Some(seq) = row.maybe_number("message_seq")? else { continue };
        last_seq = seq;
        messages.extend(entry(row, seq)?);
    }
    let row = SessionRow { session: session.clone(), user, opened_at, last_seq };
    Ok(Some(StoredSession { row, messages, open_turn }))
}

/// Reads an open turn; `None` if an outer join found none.
fn open_turn(row: &impl Columns) -> Result<Option<OpenTurn>, StoreError> {
    let Some(id) = row.maybe_text("open_turn")? else { return Ok(None) };
    let key = row.maybe_text("key")?.map(IdempotencyKey::new).transpose();
    let key = key.map_err(|cause| unreadable("a key", cause))?;
    Ok(Some(OpenTurn {
        turn: value::turn(id)?,
        options: TurnOptions { key, ..from_json(row.text("options")?)? },
        text: digest(row.bytes("text")?)?,
        round: row.count("round")?,
        from: row.number("round_from")?,
        usage: from_json(row.text("usage")?)?,
        is_dismissed: row.maybe_integer("dismissed_at")?.is_some(),
        resumes: row.count("resumes")?,
    }))
}

/// Reads a session that has an open turn.
pub(crate) fn interrupted(row: &impl Columns) -> Result<InterruptedSession, StoreError> {
    Ok(InterruptedSession {
        session: value::session(row.text("session")?)?,
        user: value::user(row.text("user")?)?,
        turn: value::turn(row.text("turn")?)?,
    })
}

/// Reads a turn and its end.
pub(crate) fn submitted(row: &impl Columns) -> Result<SubmittedTurn, StoreError> {
    let turn = value::turn(row.text("turn")?)?;
    let text = digest(row.bytes("text")?)?;
    Ok(SubmittedTurn { turn, text, end: turn_end(row)? })
}

/// Reads the number of a turn's first entry, and its end.
pub(crate) fn stored_turn(row: &impl Columns) -> Result<StoredTurn, StoreError> {
    let first = row.maybe_number("first")?.unwrap_or_default();
    let behind = row.maybe_number("ended_behind")?;
    Ok(StoredTurn { first, end: behind.zip(turn_end(row)?) })
}

/// Reads the end of a turn, if it has one.
fn turn_end(row: &impl Columns) -> Result<Option<StoredEnd>, StoreError> {
    let Some(ending) = row.maybe_text("ending")? else { return Ok(None) };
    let error = row.maybe_text("error")?.map(from_json).transpose()?;
    let usage = from_json(row.text("usage")?)?;
    Ok(Some(StoredEnd { ending: from_name(ending)?, error, usage }))
}

/// Reads an entry of the transcript, and the end of its turn if the turn ended after it.
pub(crate) fn transcript_row(row: &impl Columns) -> Result<TranscriptRow, StoreError> {
    let seq = row.number("message_seq")?;
    let language = row.maybe_text("language")?.map(value::language).transpose()?;
    let ended_at = row.maybe_moment("turn_ended_at")?;
    let behind = row.maybe_integer("ended_behind")?;
    let is_here = behind.is_some_and(|behind| u64::try_from(behind) == Ok(seq));
    let end = ended_at.zip(turn_end(row)?).filter(|_| is_here);
    let bytes = usize::try_from(row.integer("entry_bytes")?).unwrap_or(usize::MAX);
    Ok(TranscriptRow { seq, bytes, message: entry(row, seq)?, language, end })
}

/// Reads an entry of the transcript: its own content, or its call once the call has ended.
fn entry(row: &impl Columns, seq: u64) -> Result<Option<ChatMessage>, StoreError> {
    let Some(text) = row.maybe_text("content")? else {
        return Ok(ledger::call_as_far_as_readable(row)?.and_then(|call| call.entry()));
    };
    let turn = value::turn(row.text("message_turn")?)?;
    let at = row.moment("at")?;
    Ok(Some(ChatMessage { seq, turn, at, content: content(row, text, seq) }))
}

/// Reads the content of an entry, or returns a notice if it cannot be read.
pub(crate) fn content(row: &impl Columns, text: &str, seq: u64) -> Content {
    serde_json::from_str(text).unwrap_or_else(|cause| {
        let session = row.maybe_text("of_session");
        error!(?session, seq, %cause, "an entry of a transcript cannot be read");
        Content::Notice { notice: Notice::Unreadable }
    })
}

/// Reads the summary of a chat in a list.
pub(crate) fn summary(row: &impl Columns, keys: &SealKeys) -> Result<SessionSummary, StoreError> {
    let session = value::session(row.text("session")?)?;
    // If another program changed the owner of a session to this user, it is not this user's.
    sealed_owner(row, &session, keys)?.map_err(StoreError::unavailable)?;
    let last = row.maybe_number("last_seq")?;
    let last = last.map_or(EventCursor::START, EventCursor::of_entry);
    Ok(SessionSummary {
        session,
        opened_at: row.moment("opened_at")?,
        last_at: row.moment("last_at")?,
        last: if row.is_set("is_ended")? { last.end() } else { last },
        title: title(row)?,
        open_turn: row.maybe_text("open_turn")?.map(value::turn).transpose()?,
        waits: row.is_set("waits")?,
    })
}

fn title(row: &impl Columns) -> Result<String, StoreError> {
    if let Some(given) = row.maybe_text("given_title")? {
        return Ok(given.to_owned());
    }
    let Some(text) = row.maybe_text("content")? else { return Ok(String::new()) };
    Ok(match content(row, text, row.number("first_seq")?) {
        Content::User { text, .. } => session_title(&text),
        Content::Model { .. }
        | Content::ToolCall(_)
        | Content::Notice { .. }
        | Content::Cleared => String::new(),
    })
}
