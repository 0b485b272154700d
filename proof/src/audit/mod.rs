//! The audit: compares what a store has with what the [oracle](crate::oracle) knows. Every driver calls it.
//!
//! It reads the sessions, their chains, the calls and the effects, and looks for each promise that they break
//! ([`Findings`]). While a process is dead, calls and turns may be open; [at rest](Moment::AtRest) nothing is, and
//! everything was heard.

mod facts;
mod file;
mod findings;
mod heard;
mod people;

use std::collections::BTreeMap;

use madang::{
    TurnId,
    store::{Store, StoreError},
};

use crate::{
    oracle::Oracle,
    workload::{EffectRow, SessionPlan},
};
use facts::Facts;

pub use file::{DATABASE, audit_file};
pub use findings::{Counter, Findings};

/// Whether calls and turns may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The process has just died.
    AfterDeath,
    /// Every session has been opened again and has come to rest.
    AtRest,
}

/// Compares a store, and the effects in it, with what is known of these sessions.
pub async fn audit(
    store: &dyn Store,
    effects: Vec<EffectRow>,
    sessions: &[SessionPlan],
    oracle: &Oracle,
    moment: Moment,
) -> Findings {
    let mut findings = oracle.findings.clone();
    match Facts::read(store, effects, sessions, &mut findings).await {
        Ok(facts) => facts.compare(oracle, moment, &mut findings),
        Err(error) => findings.find(Counter::Damaged, error.to_string()),
    }
    findings
}

/// The turns that a store has as open, and whether it has that each was dismissed.
pub(crate) async fn open_turns(store: &dyn Store) -> Result<BTreeMap<TurnId, bool>, StoreError> {
    let mut open = BTreeMap::new();
    for interrupted in store.interrupted().await? {
        let stored = store.session(&interrupted.session).await?;
        let turn = stored.and_then(|stored| stored.open_turn);
        open.extend(turn.map(|turn| (turn.turn, turn.is_dismissed)));
    }
    Ok(open)
}
