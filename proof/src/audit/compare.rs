//! Compares the facts of a store with the oracle, promise by promise.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    facts::Facts,
    findings::{Counter, Findings},
    heard::compare_times,
    moment::Moment,
};
use crate::oracle::{Began, Oracle};

/// Adds a finding for each difference between the store and the oracle.
pub(super) fn compare(facts: &Facts, oracle: &Oracle, moment: Moment, findings: &mut Findings) {
    facts.compare_calls(moment, findings);
    facts.compare_effects(oracle, moment, findings);
    facts.compare_handlers(oracle, findings);
    facts.compare_asks(oracle, findings);
    facts.compare_answers(oracle, findings);
    facts.compare_standing(oracle, findings);
    facts.compare_resolutions(oracle, findings);
    let began = oracle.asks.iter().filter_map(|asked| match asked.began {
        Some(Began::Yes(turn)) => Some((turn, asked.at)),
        _ => None,
    });
    let began: BTreeMap<_, _> = began.collect();
    for session in &facts.sessions {
        let heard = oracle.heard.get(&session.number).map_or(&[][..], Vec::as_slice);
        session.compare_heard(heard, moment, findings);
        compare_times(heard, &began, findings);
        facts.compare_reports(heard, findings);
        session.compare_left(oracle, findings);
        session.compare_import(oracle, findings);
    }
    let stored: BTreeSet<_> = facts.sessions.iter().map(|session| session.number).collect();
    for (number, heard) in &oracle.heard {
        if !stored.contains(number) && !heard.is_empty() {
            findings.find(Counter::Lost, format!("session {number} was heard, and is gone"));
        }
    }
}
