//! Erases the texts of temporary chats.

use super::{
    layer::{Entry, SessionTable, Turn},
    transaction::MemoryTransaction,
};
use madang_actors::{
    port::{StoreError, stored_bytes, stored_turn_bytes},
    protocol::SessionId,
};

impl MemoryTransaction {
    /// Erases the texts of a temporary chat.
    pub(super) fn erase(&mut self, session: &SessionId) -> Result<(), StoreError> {
        if self.find(session, |table| table.is_temporary.then_some(())).is_none() {
            return Err(StoreError::refused(format!("session {session} is not a temporary chat")));
        }
        let erased_to = self.find(session, |table| table.erased_to).unwrap_or_default();
        let mut last = erased_to;
        let mut bytes = 0;
        for (seq, text) in self.of_all_layers(session, entries) {
            last = last.max(seq);
            bytes += text.filter(|_| seq > erased_to).unwrap_or_default();
        }
        for mut turn in self.of_all_layers(session, with_instructions) {
            // A later layer may already have the turn without them.
            let id = turn.open.turn;
            let latest = self.find(session, |table| table.turns.get(&id).cloned());
            if latest.is_some_and(|turn| turn.open.options.instructions.is_some()) {
                bytes += stored_turn_bytes(&turn.open.options);
                turn.open.options.instructions = None;
                self.table(session).turns.insert(id, turn.into());
            }
        }
        let table = self.table(session);
        (table.erased_to, table.last_at, table.title) = (Some(last), Some(None), Some(None));
        self.uncount(session, bytes);
        Ok(())
    }
}

/// Returns the numbers of all entries, with the bytes of those that are texts.
pub(super) fn entries(table: &SessionTable) -> Vec<(u64, Option<u64>)> {
    let bytes = |entry: &Entry| match entry {
        Entry::Message(message) => Some(stored_bytes(&message.content)),
        Entry::Call(..) => None,
    };
    table.entries.iter().map(|(seq, entry)| (*seq, bytes(entry))).collect()
}

pub(super) fn with_instructions(table: &SessionTable) -> Vec<Turn> {
    let turns = table.turns.values().map(|turn| Turn::clone(turn));
    turns.filter(|turn| turn.open.options.instructions.is_some()).collect()
}
