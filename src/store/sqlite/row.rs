//! Reads values from rows.

use std::sync::Arc;

use madang_actors::{
    ledger::{ChainEnd, ErasedChain, Link},
    port::{LedgerRow, OpenTurn, Owner, StoreError, StoredEnd, StoredTurn, SubmittedTurn},
    protocol::{Content, IdempotencyKey, Notice, Timestamp, TurnOptions},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::{Decode, Row, Sqlite, Type, sqlite::SqliteRow};
use tracing::error;

use crate::store::rows::value::{
    self, call_id, damaged, digest, from_json, from_name, model_name, number, salt, seal, turn,
    unreadable, unreadable_outcome, user, uuid,
};

/// Reads a column.
pub(super) fn column<'r, T>(row: &'r SqliteRow, name: &'static str) -> Result<T, StoreError>
where
    T: Decode<'r, Sqlite> + Type<Sqlite>,
{
    row.try_get(name).map_err(|cause| unreadable(name, cause))
}

/// Reads the columns `chain_length` and `chain_head`.
pub(super) fn chain_end(row: &SqliteRow) -> Result<ChainEnd, StoreError> {
    let length = number(column(row, "chain_length")?, "chain_length")?;
    Ok(ChainEnd { length, head: digest(column(row, "chain_head")?)? })
}

/// Reads the columns `owner`, `opened_at` and `owner_seal`.
pub(super) fn owner(row: &SqliteRow) -> Result<Owner, StoreError> {
    Ok(Owner {
        user: user(column(row, "owner")?)?,
        opened_at: Timestamp::from_millis(column(row, "opened_at")?),
        seal: seal(column(row, "owner_seal")?)?,
    })
}

/// Reads an open turn from the columns of `madang_turns`; `None` if an outer join found none.
pub(super) fn open_turn(row: &SqliteRow) -> Result<Option<OpenTurn>, StoreError> {
    let Some(id) = column::<Option<&str>>(row, "open_turn")? else { return Ok(None) };
    let key = column::<Option<&str>>(row, "key")?.map(IdempotencyKey::new).transpose();
    let key = key.map_err(|cause| unreadable("a key", cause))?;
    Ok(Some(OpenTurn {
        turn: turn(id)?,
        options: TurnOptions { key, ..from_json(column(row, "options")?)? },
        text: digest(column(row, "text")?)?,
        round: column(row, "round")?,
        from: number(column(row, "round_from")?, "round_from")?,
        usage: from_json(column(row, "usage")?)?,
        is_dismissed: column::<Option<i64>>(row, "dismissed_at")?.is_some(),
        resumes: column(row, "resumes")?,
    }))
}

/// Reads a turn and its end.
pub(super) fn submitted(row: &SqliteRow) -> Result<SubmittedTurn, StoreError> {
    let turn = turn(column(row, "turn")?)?;
    let text = digest(column(row, "text")?)?;
    Ok(SubmittedTurn { turn, text, end: turn_end(row)? })
}

/// Reads the number of a turn's first entry, and its end.
pub(super) fn stored_turn(row: &SqliteRow) -> Result<StoredTurn, StoreError> {
    let read = |value: Option<i64>, what| value.map(|value| number(value, what)).transpose();
    let first = read(column(row, "first")?, "first")?;
    let behind = read(column(row, "ended_behind")?, "ended_behind")?;
    Ok(StoredTurn { first: first.unwrap_or_default(), end: behind.zip(turn_end(row)?) })
}

/// Reads the end of a turn, if it has one.
pub(super) fn turn_end(row: &SqliteRow) -> Result<Option<StoredEnd>, StoreError> {
    let Some(ending) = column::<Option<&str>>(row, "ending")? else { return Ok(None) };
    let error = column::<Option<&str>>(row, "error")?.map(from_json).transpose()?;
    let usage = from_json(column(row, "usage")?)?;
    Ok(Some(StoredEnd { ending: from_name(ending)?, error, usage }))
}

/// Reads the columns of `madang_calls`; `None` if an outer join found none. Fails if a value cannot
/// be read.
pub(super) fn call(row: &SqliteRow) -> Result<Option<LedgerRow>, StoreError> {
    match call_as_far_as_readable(row)? {
        Some(LedgerRow { unreadable, .. }) if !unreadable.is_empty() => Err(damaged(unreadable[0])),
        call => Ok(call),
    }
}

/// Reads a call for display. Unreadable values are named, each with a placeholder. A row without
/// its ids is an error.
pub(super) fn call_as_far_as_readable(row: &SqliteRow) -> Result<Option<LedgerRow>, StoreError> {
    if column::<Option<i64>>(row, "number")?.is_none() {
        return Ok(None);
    }
    let raw_arguments: Arc<str> = column::<&str>(row, "raw_arguments")?.into();
    let mut values = Values { row, unreadable: Vec::new() };
    let arguments: Option<Arc<Value>> = values.json("arguments")?;
    let outcome = match values.json("outcome")? {
        None if values.unreadable.contains(&"outcome") => Some(unreadable_outcome()),
        outcome => outcome,
    };
    let seal = seal(column(row, "seal")?).unwrap_or_else(|_| {
        values.unreadable.push("seal");
        None
    });
    Ok(Some(LedgerRow {
        session: value::session(column(row, "session")?)?,
        call: call_id(column(row, "call")?)?,
        turn: turn(column(row, "turn")?)?,
        seq: number(column(row, "seq")?, "seq")?,
        user: user(column(row, "user")?)?,
        name: column::<&str>(row, "name")?.into(),
        arguments: arguments.unwrap_or_else(|| Value::from(&*raw_arguments).into()),
        asked: values.json("asked")?,
        raw_arguments,
        model: column::<Option<&str>>(row, "model")?.map(model_name).transpose()?,
        opaque: column::<Option<&str>>(row, "opaque")?.map(Arc::from),
        schema: column::<Option<&[u8]>>(row, "schema")?.map(digest).transpose()?,
        shown: values.json("shown")?,
        digest: column::<Option<&[u8]>>(row, "digest")?.map(digest).transpose()?,
        state: from_name(column(row, "state")?)?,
        outcome,
        effect: column::<Option<&str>>(row, "effect")?.map(from_name).transpose()?,
        result: column::<Option<&str>>(row, "result")?.map(from_name).transpose()?,
        decided_by: column::<Option<&str>>(row, "decided_by")?.map(user).transpose()?,
        approval: values.json("approval")?,
        seal,
        approved_at: moment(row, "approved_at")?,
        expires_at: moment(row, "expires_at")?,
        revoked_at: moment(row, "revoked_at")?,
        resolved_by: values.json("resolved_by")?,
        resolved_at: moment(row, "resolved_at")?,
        proposed_at: Timestamp::from_millis(column(row, "proposed_at")?),
        ended_at: moment(row, "ended_at")?,
        unreadable: values.unreadable,
    }))
}

/// Reads JSON columns and collects the names of those that cannot be read.
struct Values<'r> {
    row: &'r SqliteRow,
    unreadable: Vec<&'static str>,
}

impl Values<'_> {
    fn json<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, StoreError> {
        let Some(text) = column::<Option<&str>>(self.row, name)? else { return Ok(None) };
        match serde_json::from_str(text) {
            Ok(value) => Ok(Some(value)),
            Err(cause) => {
                let call: &str = column(self.row, "call")?;
                error!(call, column = name, %cause, "a value of the ledger cannot be read");
                self.unreadable.push(name);
                Ok(None)
            }
        }
    }
}

/// Reads an entry of the transcript, or returns a notice if it cannot be read.
pub(super) fn content(row: &SqliteRow, text: &str, seq: u64) -> Content {
    serde_json::from_str(text).unwrap_or_else(|cause| {
        let session: Result<&str, _> = row.try_get("of_session");
        error!(?session, seq, %cause, "an entry of a transcript cannot be read");
        Content::Notice { notice: Notice::Unreadable }
    })
}

/// Reads the columns of `madang_transitions`; `None` if an outer join found none.
pub(super) fn link(row: &SqliteRow) -> Result<Option<Link>, StoreError> {
    let Some(transition) = column::<Option<&str>>(row, "transition")? else { return Ok(None) };
    Ok(Some(Link {
        call: call_id(column(row, "call")?)?,
        at: Timestamp::from_millis(column(row, "at")?),
        transition: from_json(transition)?,
        salt: salt(column(row, "salt")?)?,
        hash: digest(column(row, "hash")?)?,
    }))
}

/// Reads a row of `madang_erased`.
pub(super) fn erased(row: &SqliteRow) -> Result<ErasedChain, StoreError> {
    let hashes = column::<&[u8]>(row, "hashes")?.chunks(32).map(digest);
    Ok(ErasedChain {
        id: uuid(column(row, "id")?)?,
        by: Some(column(row, "by_user")?)
            .filter(|by: &&str| !by.is_empty())
            .map(user)
            .transpose()?,
        at: Timestamp::from_millis(column(row, "at")?),
        calls: number(column(row, "calls")?, "calls")?,
        messages: number(column(row, "messages")?, "messages")?,
        hashes: hashes.collect::<Result<_, _>>()?,
        seal: seal(column(row, "seal")?)?,
    })
}

fn moment(row: &SqliteRow, name: &'static str) -> Result<Option<Timestamp>, StoreError> {
    Ok(column::<Option<i64>>(row, name)?.map(Timestamp::from_millis))
}
