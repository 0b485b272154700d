//! Forgets a user and keeps the hashes of each session's chain.

use uuid::Uuid;

use super::layer::{Entry, Layer};
use madang_actors::{
    ledger::ErasedChain,
    port::{Forget, Forgotten},
};

impl Layer {
    /// Removes all rows of the user, and returns the records of the chains.
    pub(super) fn forget(&mut self, order: &Forget) -> (Forgotten, Vec<ErasedChain>) {
        let mut forgotten = Forgotten::default();
        let is_theirs =
            |user: &Option<(_, _)>| user.as_ref().is_some_and(|(user, _)| *user == order.user);
        let theirs: Vec<_> =
            self.sessions.extract_if(|_, table| is_theirs(&table.opened)).collect();
        let mut chains = Vec::with_capacity(theirs.len());
        for (_, table) in &theirs {
            let is_call = |entry: &&Entry| matches!(entry, Entry::Call(..));
            let calls = table.entries.values().filter(is_call).count() as u64;
            let messages = table.entries.len() as u64 - calls;
            forgotten.sessions += 1;
            forgotten.calls += calls;
            forgotten.messages += messages;
            forgotten.transitions += table.links.len() as u64;
            chains.push(ErasedChain {
                id: Uuid::now_v7(),
                by: Some(order.by.clone()),
                at: order.at,
                calls,
                messages,
                hashes: table.links.iter().map(|link| link.hash).collect(),
                seal: None,
            });
        }
        self.stored.remove(&order.user);
        self.calls.retain(|_, row| theirs.iter().all(|(session, _)| *session != row.session));
        let Self { calls, proposed, .. } = self;
        proposed.retain(|call| calls.contains_key(call));
        (forgotten, chains)
    }
}
