//! Holds the ledger against the server's book; the audit holds it against what people were told.

use std::collections::BTreeMap;

use madang::{
    Timestamp,
    ledger::{CallState, Effect, LedgerRow},
};

use super::{
    plan::RemoteTool,
    server::{Course, Received},
};
use crate::{
    audit::{Counter, Findings, Moment},
    oracle::{Oracle, token_of},
};

/// Adds a finding for each broken promise.
pub(crate) fn compare(
    rows: &[LedgerRow],
    book: &[Received],
    oracle: &Oracle,
    moment: Moment,
    findings: &mut Findings,
) {
    let mut of_calls = BTreeMap::<&str, Vec<&Received>>::new();
    let mut of_tokens = BTreeMap::<&str, Vec<&Received>>::new();
    let mut reads = BTreeMap::<(&str, u64), Vec<&Received>>::new();
    for received in book {
        of_calls.entry(&received.call).or_default().push(received);
        if received.tool == Some(RemoteTool::Look) {
            reads.entry((&received.call, received.life)).or_default().push(received);
        } else {
            of_tokens.entry(&received.token).or_default().push(received);
        }
    }
    // Whatever the id of its call, a write comes once. A read whose answer was lost is asked once
    // more in each process.
    let repeated = of_tokens.values().filter(|all| all.len() > 1);
    for all in repeated.chain(reads.values().filter(|all| all.len() > 2)) {
        findings.find(Counter::Doubled, format!("the server received {all:?}"));
    }
    for row in rows {
        let all = of_calls.remove(&*row.call.to_string()).unwrap_or_default();
        compare_call(row, &all, oracle, findings);
        let is_open = row.state != CallState::Ended || row.effect == Some(Effect::Unknown);
        if is_open && moment == Moment::AtRest {
            let what = format!("call {} is {:?}, its effect {:?}", row.call, row.state, row.effect);
            findings.find(Counter::Stuck, what);
        }
    }
    // A read changes nothing, so it is recorded with its end, which a dead process did not write.
    for all in of_calls.values().filter(|all| all[0].tool != Some(RemoteTool::Look)) {
        findings.find(Counter::Lost, format!("the ledger has no call for {all:?}"));
    }
}

fn compare_call(row: &LedgerRow, all: &[&Received], oracle: &Oracle, findings: &mut Findings) {
    let tool = RemoteTool::called(&row.name);
    let mut finds = |counter, what: &str| {
        let name = &row.name;
        let call = row.call;
        let effect = row.effect;
        findings.find(counter, format!("{name} {call}, effect {effect:?}: {what}; {all:?}"));
    };
    let token = token_of(&row.arguments);
    if all.iter().any(|received| received.tool != tool || Some(&received.token) != token.as_ref()) {
        finds(Counter::Unasked, "the server received another call under this id");
    }
    let is_allowed =
        token.is_some_and(|token| oracle.allows(row, Timestamp::from_millis(i64::MAX), &token));
    if tool == Some(RemoteTool::Shred) && !all.is_empty() && !is_allowed {
        finds(Counter::Unasked, "the server received it without a yes");
    }
    if tool == Some(RemoteTool::Look) {
        if !matches!(row.effect, None | Some(Effect::None)) {
            finds(Counter::Misreported, "a read has no effect");
        }
        return;
    }
    let did = all.iter().any(|received| received.did);
    let may_know = all.is_empty()
        || row.resolved_by.is_some()
        || all.iter().any(|received| received.course.is_told());
    match row.effect {
        Some(Effect::Committed) if !did => {
            finds(Counter::Lost, "it took effect, and the server did nothing");
        }
        Some(Effect::None) if did => {
            finds(Counter::Misreported, "it took no effect, and the server did it");
        }
        Some(Effect::Committed | Effect::None) if !may_know => {
            finds(Counter::Misreported, "the server told nothing, and the effect is known");
        }
        Some(Effect::None | Effect::Committed | Effect::Unknown) | None => {}
    }
    let is_refused = all.iter().any(|received| received.course == Course::Refuses);
    let says_ok = row.outcome.as_ref().is_some_and(madang::tool::ToolOutcome::is_ok);
    if says_ok && is_refused {
        finds(Counter::Misreported, "it succeeded, and the server refused it");
    }
}
