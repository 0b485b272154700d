//! Deletes a session and keeps the hashes of its chain.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{
    erase::{entries, with_instructions},
    layer::SessionTable,
    transaction::MemoryTransaction,
};
use madang_actors::{
    ledger::ErasedChain,
    port::{StoreError, erased_bytes, stored_bytes, stored_turn_bytes},
    protocol::{SessionId, Timestamp, UserId},
};

impl MemoryTransaction {
    /// Deletes a session of this user, in which nothing is open.
    pub(super) fn delete(
        &mut self,
        session: &SessionId,
        user: &UserId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let owner = self.find(session, |table| table.opened.clone());
        if owner.is_none_or(|(owner, _)| owner != *user) {
            return Err(StoreError::refused(format!("session {session} is not {user}'s")));
        }
        let calls = self.rows().filter(|row| row.session == *session);
        let calls: BTreeMap<_, _> = calls.map(|row| (row.call, row.ended_at)).collect();
        let is_in_a_turn = self.find(session, |table| table.open).flatten().is_some();
        if is_in_a_turn || calls.values().any(Option::is_none) {
            let why = format!("a turn or a call of session {session} has not ended");
            return Err(StoreError::refused(why));
        }
        let erased_to = self.find(session, |table| table.erased_to).unwrap_or_default();
        let texts = self.of_all_layers(session, entries).into_iter();
        let texts: Vec<_> =
            texts.filter(|(seq, _)| *seq > erased_to).filter_map(|(_, bytes)| bytes).collect();
        let links = self.of_all_layers(session, |table| table.links.clone());
        let mut bytes: u64 = texts.iter().sum();
        bytes += links.iter().map(|link| stored_bytes(&link.transition)).sum::<u64>();
        let turns = self.of_all_layers(session, with_instructions);
        // Each turn once, although later layers may have it again, or without them.
        let turns: BTreeSet<_> = turns.iter().map(|turn| turn.open.turn).collect();
        for id in turns {
            let latest = self.find(session, |table| table.turns.get(&id).cloned());
            bytes += latest.map_or(0, |turn| stored_turn_bytes(&turn.open.options));
        }
        self.uncount(session, bytes);
        self.count(session, erased_bytes(links.len()));
        let chain = ErasedChain {
            id: Uuid::now_v7(),
            by: None,
            at,
            calls: calls.len() as u64,
            messages: texts.len() as u64,
            hashes: links.iter().map(|link| link.hash).collect(),
            seal: None,
        };
        let top = self.top();
        top.remove(session);
        let deleted = SessionTable { is_deleted: true, ..SessionTable::default() };
        top.sessions.insert(session.clone(), deleted);
        top.deleted_calls.extend(calls.into_keys());
        top.erased.push(chain);
        Ok(())
    }
}
