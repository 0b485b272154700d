//! Compares the content of a store with the acts of tools and with itself.

use std::collections::{BTreeMap, BTreeSet};

use madang::{
    CallId, SessionId,
    ledger::{Effect, LedgerFilter, LedgerRow},
    store::{Store, StoreError},
    tool::ToolOutcome,
};
use madang_actors::{
    ledger::{CallState, Link, Transition, verify},
    port::{PartSize, StoredSession, TranscriptPart},
};

use super::{
    findings::{Counter, Findings},
    moment::Moment,
};
use crate::{
    oracle::{Oracle, token_of},
    workload::{Act, CUT_OFF, EffectRow, PARTS, SessionPlan},
};

/// The content of a store.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) sessions: Vec<Session>,
    /// The calls of all sessions.
    pub(super) rows: BTreeMap<CallId, LedgerRow>,
    /// The effects that tools wrote into the store.
    effects: Vec<EffectRow>,
}

/// The content of one session.
pub(super) struct Session {
    pub(super) number: usize,
    pub(super) stored: StoredSession,
    pub(super) story: TranscriptPart,
    links: Vec<Link>,
}

impl Facts {
    /// Reads the whole store, and reports what contradicts itself.
    pub(super) async fn read(
        store: &dyn Store,
        effects: Vec<EffectRow>,
        sessions: &[SessionPlan],
        findings: &mut Findings,
    ) -> Result<Self, StoreError> {
        let mut facts = Self { sessions: Vec::new(), rows: BTreeMap::new(), effects };
        for (number, plan) in sessions.iter().enumerate() {
            let Ok(id) = SessionId::new(plan.name.as_str()) else { continue };
            let Some(stored) = store.session(&id).await? else { continue };
            if stored.row.user.as_str() != plan.user {
                findings.find(Counter::Lost, format!("{id} belongs to {}", stored.row.user));
            }
            let story = store.transcript(&id, 0, PartSize::ALL).await?;
            let (links, end) = store.links(&id).await?;
            if let Err(error) = verify(&id, &links, &end) {
                findings.find(Counter::Damaged, format!("{id}: {error}"));
            }
            let filter = LedgerFilter::default().in_session(&id);
            for row in store.calls(&filter).await? {
                if let Err(error) = row.check_seal(store.keys()) {
                    findings.find(Counter::Unasked, format!("call {}: {error}", row.call));
                }
                facts.rows.insert(row.call, row);
            }
            facts.sessions.push(Session { number, stored, story, links });
        }
        Ok(facts)
    }

    /// Requires that each call has one outcome, and runs only after its approval.
    pub(super) fn compare_calls(&self, moment: Moment, findings: &mut Findings) {
        let mut ends = BTreeMap::<CallId, usize>::new();
        let mut approved = BTreeSet::new();
        for link in self.sessions.iter().flat_map(|session| &session.links) {
            let row = self.rows.get(&link.call);
            match &link.transition {
                Transition::Ended(_) => *ends.entry(link.call).or_default() += 1,
                Transition::Approved { digest, by, .. }
                    if row.is_some_and(|row| row.digest == Some(*digest) && row.user == *by) =>
                {
                    approved.insert(link.call);
                }
                Transition::Running { .. }
                    if row.is_some_and(asks) && !approved.contains(&link.call) =>
                {
                    let what = format!("call {} ran before it was approved", link.call);
                    findings.find(Counter::Unasked, what);
                }
                Transition::Proposed(_)
                | Transition::Awaiting { .. }
                | Transition::Approved { .. }
                | Transition::Running { .. }
                | Transition::Resolved { .. }
                | Transition::Revoked { .. } => {}
            }
        }
        let mut tokens = BTreeMap::<String, Vec<CallId>>::new();
        for row in self.rows.values() {
            let call = row.call;
            let has_ended = row.state == CallState::Ended && row.outcome.is_some();
            if !has_ended && moment == Moment::AtRest {
                findings.find(Counter::Stuck, format!("call {call} is {:?}", row.state));
            }
            let times = ends.get(&call).copied().unwrap_or_default();
            if times > 1 || (times == 1) != has_ended {
                let what = format!("call {call} is {:?} and ended {times} times", row.state);
                findings.find(Counter::Misreported, what);
            }
            if let Some(token) = token_of(&row.arguments) {
                tokens.entry(token).or_default().push(call);
            }
        }
        for (token, calls) in tokens.iter().filter(|(_, calls)| calls.len() > 1) {
            findings.find(Counter::Doubled, format!("{token} was called as {calls:?}"));
        }
        if moment == Moment::AtRest {
            let open = self.sessions.iter().filter_map(|session| session.stored.open_turn.as_ref());
            for open in open {
                findings.find(Counter::Stuck, format!("turn {} is open", open.turn));
            }
        }
    }

    /// Requires that an effect exists once and whole if its call says so, and not at all otherwise.
    pub(super) fn compare_effects(&self, oracle: &Oracle, moment: Moment, findings: &mut Findings) {
        let mut written = BTreeMap::<&str, Vec<&EffectRow>>::new();
        for effect in &self.effects {
            written.entry(&effect.call).or_default().push(effect);
        }
        for row in self.rows.values() {
            let call = row.call.to_string();
            let parts = written.remove(&*call).unwrap_or_default();
            let Some(act) = Act::named(&row.name) else { continue };
            let token = token_of(&row.arguments);
            let what = |what: &str| format!("{} {token:?} of {call}: {what}", row.name);
            for other in parts.iter().filter(|part| Some(&part.token) != token.as_ref()) {
                let what = what(&format!("it wrote {other:?}"));
                findings.find(Counter::Unasked, what);
            }
            let times = |part| parts.iter().filter(|effect| effect.part == part).count();
            let times: Vec<_> = (1..=PARTS).map(times).collect();
            let letters = token.as_ref().and_then(|token| oracle.letters.get(token));
            let sent = letters.into_iter().flatten().filter(|sender| **sender == row.call).count();
            if times.iter().any(|times| *times > 1) || sent > 1 {
                findings.find(Counter::Doubled, what(&format!("{times:?} written, {sent} sent")));
            }
            if !parts.is_empty() && times.contains(&0) {
                findings.find(Counter::Misreported, what("a part is missing"));
            }
            let is_there = if act.sends() { sent > 0 } else { !parts.is_empty() };
            match row.effect {
                Some(Effect::Committed) if !is_there && act != Act::Look => {
                    findings.find(Counter::Lost, what("it took effect, and is not there"));
                }
                // After a death a sent letter may have no end in the ledger yet.
                None if is_there && (!act.sends() || moment == Moment::AtRest) => {
                    findings.find(Counter::Misreported, what("it has no end, and is there"));
                }
                Some(Effect::None) if is_there => {
                    findings.find(Counter::Misreported, what("it took no effect, and is there"));
                }
                Some(Effect::Unknown) if act.writes() && act != Act::SpoilingSave => {
                    let what = what("its effect is in the store, and unknown");
                    findings.find(Counter::Misreported, what);
                }
                _ => {}
            }
            if is_there && act.leaves_nothing() {
                findings.find(Counter::Misreported, what("it must leave nothing"));
            }
            let is_others = parts.iter().any(|effect| effect.act != act.name());
            if is_others || (!act.sends() && sent > 0) {
                findings.find(Counter::Misreported, what("it did what another tool does"));
            }
        }
        for (call, parts) in written {
            findings.find(Counter::Unasked, format!("{parts:?} belong to no call: {call}"));
        }
        for (token, calls) in &oracle.letters {
            if calls.iter().any(|call| !self.rows.contains_key(call)) {
                let what = format!("the letter {token} belongs to no call: {calls:?}");
                findings.find(Counter::Lost, what);
            }
        }
    }

    /// Requires that no handler begins twice, without approval, with other arguments, or for a turn
    /// that was left before. A call that succeeded must have a handler that did.
    pub(super) fn compare_handlers(&self, oracle: &Oracle, findings: &mut Findings) {
        for (call, all) in &oracle.begun {
            let row = self.rows.get(call);
            // A handler whose transaction was undone may run again; a letter cannot be undone.
            if all.iter().filter(|begun| begun.act.sends()).count() > 1 {
                findings.find(Counter::Doubled, format!("handlers of {call}: {all:?}"));
            }
            let says_ok = row.and_then(|row| row.outcome.as_ref()).is_some_and(ToolOutcome::is_ok);
            if says_ok && !all.iter().any(|begun| begun.is_ok) {
                let what = format!("{call} succeeded, and none of its handlers did: {all:?}");
                findings.find(Counter::Misreported, what);
            }
            for begun in all {
                let what = |what: &str| format!("{:?} {} began: {what}", begun.act, begun.token);
                if begun.token.starts_with(CUT_OFF) {
                    let what = what("the model was cut off in its call");
                    findings.find(Counter::Unasked, what);
                }
                let Some(row) = row else {
                    // A call without a question is recorded with its end, in the commit of its
                    // effect, so both are undone.
                    if begun.act.asks() || begun.act.sends() {
                        findings.find(Counter::Lost, what("its call is not in the ledger"));
                    }
                    continue;
                };
                if token_of(&row.arguments).as_ref() != Some(&begun.token) || row.user != begun.user
                {
                    let what = what("its arguments are not those of its call");
                    findings.find(Counter::Unasked, what);
                }
                if begun.act.asks() && !oracle.allows(row, begun.at, &begun.token) {
                    findings.find(Counter::Unasked, what(&format!("{:?}", row.approval)));
                }
                let is_left = oracle.dismissed.get(&row.turn);
                if is_left.is_some_and(|left| row.proposed_at > *left) {
                    let what = what("it was proposed after its turn was dismissed");
                    findings.find(Counter::Unasked, what);
                }
            }
        }
    }
}

/// Tells whether a call needs a person's approval.
fn asks(row: &LedgerRow) -> bool {
    Act::named(&row.name).is_some_and(Act::asks)
}
