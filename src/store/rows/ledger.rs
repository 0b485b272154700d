//! Reads the ledger from rows: calls, the links of a chain, and what is left of erased chains.

use std::sync::Arc;

use madang_actors::{
    ledger::{ChainEnd, ErasedChain, Link},
    port::{Damaged, LedgerRow, StoreError},
    protocol::CallId,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::error;

use super::{
    columns::Columns,
    value::{
        self, call_id, damaged, digest, from_json, from_name, model_name, salt, seal, turn,
        unreadable_outcome, user, uuid,
    },
};

/// Reads the columns `chain_length` and `chain_head`.
pub(crate) fn chain_end(row: &impl Columns) -> Result<ChainEnd, StoreError> {
    Ok(ChainEnd { length: row.number("chain_length")?, head: digest(row.bytes("chain_head")?)? })
}

/// Reads a call; `None` if an outer join found none. Fails if a value cannot be read.
pub(crate) fn call(row: &impl Columns) -> Result<Option<LedgerRow>, StoreError> {
    match call_as_far_as_readable(row)? {
        Some(LedgerRow { unreadable, .. }) if !unreadable.is_empty() => Err(damaged(unreadable[0])),
        call => Ok(call),
    }
}

/// Reads a call for display. Unreadable values are named, each with a placeholder. A row without
/// its ids is an error.
pub(crate) fn call_as_far_as_readable(row: &impl Columns) -> Result<Option<LedgerRow>, StoreError> {
    if row.maybe_integer("number")?.is_none() {
        return Ok(None);
    }
    let raw_arguments: Arc<str> = row.text("raw_arguments")?.into();
    let mut values = Values { row, unreadable: Vec::new() };
    let arguments: Option<Arc<Value>> = values.json("arguments")?;
    let outcome = match values.json("outcome")? {
        None if values.unreadable.contains(&"outcome") => Some(unreadable_outcome()),
        outcome => outcome,
    };
    let seal = seal(row.maybe_text("seal")?).unwrap_or_else(|_| {
        values.unreadable.push("seal");
        None
    });
    Ok(Some(LedgerRow {
        session: value::session(row.text("session")?)?,
        call: call_id(row.text("call")?)?,
        turn: turn(row.text("turn")?)?,
        seq: row.number("seq")?,
        user: user(row.text("user")?)?,
        name: row.text("name")?.into(),
        arguments: arguments.unwrap_or_else(|| Value::from(&*raw_arguments).into()),
        asked: values.json("asked")?,
        raw_arguments,
        model: row.maybe_text("model")?.map(model_name).transpose()?,
        opaque: row.maybe_text("opaque")?.map(Arc::from),
        schema: row.maybe_bytes("schema")?.map(digest).transpose()?,
        shown: values.json("shown")?,
        digest: row.maybe_bytes("digest")?.map(digest).transpose()?,
        state: from_name(row.text("state")?)?,
        outcome,
        effect: row.maybe_text("effect")?.map(from_name).transpose()?,
        result: row.maybe_text("result")?.map(from_name).transpose()?,
        decided_by: row.maybe_text("decided_by")?.map(user).transpose()?,
        approval: values.json("approval")?,
        seal,
        approved_at: row.maybe_moment("approved_at")?,
        expires_at: row.maybe_moment("expires_at")?,
        revoked_at: row.maybe_moment("revoked_at")?,
        resolved_by: values.json("resolved_by")?,
        resolved_at: row.maybe_moment("resolved_at")?,
        proposed_at: row.moment("proposed_at")?,
        ended_at: row.maybe_moment("ended_at")?,
        unreadable: values.unreadable,
    }))
}

/// Reads JSON columns and collects the names of those that cannot be read.
struct Values<'r, R> {
    row: &'r R,
    unreadable: Vec<&'static str>,
}

impl<R: Columns> Values<'_, R> {
    fn json<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, StoreError> {
        let Some(text) = self.row.maybe_text(name)? else { return Ok(None) };
        match serde_json::from_str(text) {
            Ok(value) => Ok(Some(value)),
            Err(cause) => {
                let call = self.row.text("call")?;
                error!(call, column = name, %cause, "a value of the ledger cannot be read");
                self.unreadable.push(name);
                Ok(None)
            }
        }
    }
}

/// Reads a link of a chain; `None` if an outer join found none.
pub(crate) fn link(row: &impl Columns) -> Result<Option<Link>, StoreError> {
    let Some(transition) = row.maybe_text("transition")? else { return Ok(None) };
    Ok(Some(Link {
        call: call_id(row.text("call")?)?,
        at: row.moment("at")?,
        transition: from_json(transition)?,
        salt: salt(row.bytes("salt")?)?,
        hash: digest(row.bytes("hash")?)?,
    }))
}

/// Reads what is left of an erased chain.
pub(crate) fn erased(row: &impl Columns) -> Result<ErasedChain, StoreError> {
    let hashes = row.bytes("hashes")?.chunks(32).map(digest);
    let by = Some(row.text("by_user")?).filter(|by| !by.is_empty());
    Ok(ErasedChain {
        id: uuid(row.text("id")?)?,
        by: by.map(user).transpose()?,
        at: row.moment("at")?,
        calls: row.number("calls")?,
        messages: row.number("messages")?,
        hashes: hashes.collect::<Result<_, _>>()?,
        seal: seal(row.maybe_text("seal")?)?,
    })
}

/// Reads the link at this position for an audit, which requires each byte to be as the store writes
/// it.
pub(crate) fn audited_link(row: &impl Columns, position: i64) -> Result<Link, Damaged> {
    let as_written = || -> Result<Option<Link>, StoreError> {
        let (stored, text) = (row.integer("position")?, row.text("transition")?);
        let link = link(row)?;
        let is_same = link.as_ref().is_some_and(|link| {
            stored == position
                && value::json(&link.transition) == text
                && row.text("step").is_ok_and(|step| step == <&str>::from(&link.transition))
        });
        Ok(link.filter(|_| is_same))
    };
    let damaged = || Damaged { what: format!("transition {position}") };
    as_written().ok().flatten().ok_or_else(damaged)
}

/// Reads a call for an audit.
pub(crate) fn audited_call(row: &impl Columns) -> Result<LedgerRow, Damaged> {
    let id = row.text("call").unwrap_or("without an id");
    call(row).ok().flatten().ok_or_else(|| Damaged { what: format!("the row of call {id}") })
}

/// Reads the number and the call of an entry.
pub(crate) fn entry_of_call(row: &impl Columns) -> Result<(u64, CallId), StoreError> {
    Ok((row.number("seq")?, call_id(row.text("call")?)?))
}
