//! Compares the histories that people imported with the store: each is there as a whole or not at
//! all, as it was told.

use madang::{
    event::{ChatMessage, Content, EntryOrigin},
    session::Imported,
};

use super::{Counter, Findings, facts::Session};
use crate::{
    oracle::{Began, Oracle},
    workload::history,
};

impl Session {
    /// Requires that the chat begins with the history that its person imported, or has nothing of
    /// it.
    pub(super) fn compare_import(&self, oracle: &Oracle, findings: &mut Findings) {
        let is_imported = |message: &&ChatMessage| is_imported(&message.content);
        let stored: Vec<_> = self.stored.messages.iter().filter(is_imported).collect();
        let told = oracle.imports.get(&self.number).copied();
        if let Some(counter) = broken(told, &stored, history(self.number)) {
            let name = &self.stored.row.session;
            findings.find(counter, format!("{name}: an import was told {told:?}, is {stored:?}"));
        }
    }
}

/// Tells whether an entry came with a history.
pub(super) const fn is_imported(content: &Content) -> bool {
    match content {
        Content::User { origin, .. } | Content::Model { origin, .. } => {
            matches!(origin, EntryOrigin::Imported)
        }
        Content::ToolCall(_) | Content::Notice { .. } | Content::Cleared => false,
    }
}

/// Returns what the imported entries break; `told` is `None` where no person imported, and
/// `Some(None)` where the runtime died before it answered.
fn broken(
    told: Option<Option<Began>>,
    stored: &[&ChatMessage],
    history: Vec<Imported>,
) -> Option<Counter> {
    let turn = stored.first().map(|first| first.turn);
    let is_next = |(message, (seq, imported)): (&&ChatMessage, (u64, Imported))| {
        message.seq == seq && Some(message.turn) == turn && message.content == imported.into()
    };
    let is_whole =
        stored.len() == history.len() && stored.iter().zip((1..).zip(history)).all(is_next);
    match (told, stored.is_empty()) {
        (None, false) => Some(Counter::Unasked),
        (Some(Some(Began::Yes(_))), true) => Some(Counter::Lost),
        (Some(Some(Began::Yes(told))), false) if turn != Some(told) => Some(Counter::Misreported),
        (Some(Some(Began::No)), false) => Some(Counter::Misreported),
        (Some(_), false) if !is_whole => Some(Counter::Misreported),
        (None, true) | (Some(_), _) => None,
    }
}
