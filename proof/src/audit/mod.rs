//! The audit: compares a store with the [oracle](crate::oracle). Every driver calls it.
//!
//! It reads the sessions, their chains, the calls and the effects, and adds a sentence to the
//! [`Findings`] for each broken promise. `compare` goes through the promises:
//! - `facts` compares calls, effects and handlers.
//! - `people` compares requests, answers and approvals.
//! - `imports` compares histories with which chats began.
//! - `heard` compares the events that readers received.
//!
//! `file` opens a database that a dead process left. After the [death](Moment::AfterDeath) of a
//! process, calls and turns may be open. [At rest](Moment::AtRest) none is, and every event was
//! received.
//!
//! Invariants:
//! - The audit only reads, so the next process finds the store unchanged.
//! - A finding of the oracle is a finding of the audit, and equal sentences count once.

mod compare;
mod facts;
mod file;
mod findings;
mod heard;
mod imports;
mod moment;
mod people;

use madang::store::Store;

use crate::{
    oracle::Oracle,
    workload::{EffectRow, SessionPlan},
};
use compare::compare;
use facts::Facts;

pub use file::{DATABASE, audit_file};
pub use findings::{Counter, Findings};
#[cfg(feature = "sqlite")]
pub(crate) use heard::is_kept;
pub use moment::Moment;

/// Compares a store, and the effects in it, with the oracle's knowledge of these sessions.
pub async fn audit(
    store: &dyn Store,
    effects: Vec<EffectRow>,
    sessions: &[SessionPlan],
    oracle: &Oracle,
    moment: Moment,
) -> Findings {
    let mut findings = oracle.findings.clone();
    match Facts::read(store, effects, sessions, &mut findings).await {
        Ok(facts) => compare(&facts, oracle, moment, &mut findings),
        Err(error) => findings.find(Counter::Damaged, error.to_string()),
    }
    findings
}
