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

use madang::store::Store;

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
