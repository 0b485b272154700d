//! Compares what the store has at the end of a run with what people were told and with what tools did.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use madang::{
    CallId, SessionId, Timestamp, TurnId,
    approval::{Approval, Decision},
    event::{ConfirmationEnd, Content, EventKind, TurnEnding},
    ledger::{Effect, LedgerFilter, LedgerRow},
    store::{Store, StoreError},
    tool::{CancelReason, ToolOutcome},
};
use madang_actors::{
    ledger::{CallState, Link, Transition, verify},
    port::{StoredSession, TranscriptPart},
};
use serde_json::Value;

use super::{
    clock::MORNING,
    heard::{Heard, compare_times},
    plan::SessionPlan,
    tools::effect_name,
    witness::{Answered, Began, Told},
};
use crate::{
    audit::Findings,
    oracle::token_of,
    test_runtime::{Act, PARTS},
};

/// What is at the end of a run.
pub(super) struct Facts {
    sessions: Vec<Session>,
    /// The calls of all sessions.
    rows: BTreeMap<CallId, LedgerRow>,
    /// What tools wrote into the store.
    values: BTreeMap<String, Value>,
}

/// What the store has of one session.
pub(super) struct Session {
    number: usize,
    pub(super) stored: StoredSession,
    pub(super) story: TranscriptPart,
    links: Vec<Link>,
}

impl Facts {
    /// Reads all that there is, and what is broken in itself.
    pub(super) async fn read(
        store: &dyn Store,
        values: BTreeMap<String, Value>,
        sessions: &[SessionPlan],
        findings: &mut Findings,
    ) -> Result<Self, StoreError> {
        let mut facts = Self { sessions: Vec::new(), rows: BTreeMap::new(), values };
        for (number, plan) in sessions.iter().enumerate() {
            let Ok(id) = SessionId::new(plan.name.as_str()) else { continue };
            let Some(stored) = store.session(&id).await? else { continue };
            if stored.row.user.as_str() != plan.user {
                findings.lost.insert(format!("{id} belongs to {}", stored.row.user));
            }
            let story = store.transcript(&id, 0, usize::MAX - 1).await?;
            let (links, end) = store.links(&id).await?;
            if let Err(error) = verify(&id, &links, &end) {
                findings.damaged.insert(format!("{id}: {error}"));
            }
            let filter = LedgerFilter { session: Some(id), ..LedgerFilter::default() };
            for row in store.calls(&filter).await? {
                if let Err(error) = row.check_seal(store.keys()) {
                    findings.unasked.insert(format!("call {}: {error}", row.call));
                }
                facts.rows.insert(row.call, row);
            }
            facts.sessions.push(Session { number, stored, story, links });
        }
        Ok(facts)
    }

    /// Compares it with what was told.
    pub(super) fn compare(&self, told: &Told, findings: &mut Findings) {
        self.compare_calls(findings);
        self.compare_asks(told, findings);
        self.compare_answers(told, findings);
        self.compare_standing(told, findings);
        self.compare_effects(told, findings);
        self.compare_handlers(told, findings);
        let began = told.asks.iter().filter_map(|asked| match asked.told {
            Some(Began::Yes(turn)) => Some((turn, asked.at)),
            _ => None,
        });
        let began: BTreeMap<_, _> = began.collect();
        for session in &self.sessions {
            let heard = told.heard.get(&session.number).map_or(&[][..], Vec::as_slice);
            session.compare_heard(heard, findings);
            compare_times(heard, &began, findings);
            self.compare_questions(heard, findings);
        }
    }

    /// Each call has ended, in exactly one outcome.
    fn compare_calls(&self, findings: &mut Findings) {
        let mut ends = BTreeMap::<CallId, usize>::new();
        for link in self.sessions.iter().flat_map(|session| &session.links) {
            *ends.entry(link.call).or_default() +=
                usize::from(matches!(link.transition, Transition::Ended(_)));
        }
        let mut tokens = BTreeMap::<String, Vec<CallId>>::new();
        for row in self.rows.values() {
            let call = row.call;
            if row.state != CallState::Ended || row.outcome.is_none() {
                findings.stuck.insert(format!("call {call} is {:?}", row.state));
            }
            let times = ends.get(&call).copied().unwrap_or_default();
            if times != 1 {
                findings.misreported.insert(format!("call {call} ended {times} times"));
            }
            if let Some(token) = token_of(&row.arguments) {
                tokens.entry(token).or_default().push(call);
            }
        }
        for (token, calls) in tokens.iter().filter(|(_, calls)| calls.len() > 1) {
            findings.doubled.insert(format!("{token} was called as {calls:?}"));
        }
        for session in &self.sessions {
            if let Some(open) = &session.stored.open_turn {
                findings.stuck.insert(format!("turn {} is open", open.turn));
            }
        }
    }

    /// A person that was told yes or no finds that in the store.
    fn compare_asks(&self, told: &Told, findings: &mut Findings) {
        let mut texts = BTreeMap::<(usize, &str), Vec<TurnId>>::new();
        let mut ends = BTreeMap::<TurnId, TurnEnding>::new();
        for session in &self.sessions {
            for message in &session.stored.messages {
                if let Content::User { text } = &message.content {
                    texts.entry((session.number, text)).or_default().push(message.turn);
                }
            }
            for entry in &session.story.entries {
                ends.extend(entry.end.as_ref().map(|(_, end)| (entry.message.turn, end.ending)));
            }
        }
        for asked in &told.asks {
            let turns = texts.remove(&(asked.session, &*asked.text)).unwrap_or_default();
            let what = || format!("{:?} was told {:?}, and is {turns:?}", asked.text, asked.told);
            match (asked.told, turns.as_slice()) {
                (Some(Began::Yes(turn)), [one]) if turn == *one => {}
                (Some(Began::No), []) | (Some(Began::Perhaps) | None, [] | [_]) => {}
                (Some(Began::Yes(_)), []) => drop(findings.lost.insert(what())),
                (_, [_, _, ..]) => drop(findings.doubled.insert(what())),
                _ => drop(findings.misreported.insert(what())),
            }
        }
        for ((_, text), turns) in texts {
            findings.unasked.insert(format!("{text:?} was asked by nobody: {turns:?}"));
        }
        for (turn, ending) in &told.ends {
            if ends.get(turn) != Some(ending) {
                let stored = ends.get(turn);
                findings.lost.insert(format!("turn {turn} had ended {ending:?}, is {stored:?}"));
            }
        }
    }

    /// Exactly one answer to a question counts, and it is the one that was told so.
    fn compare_answers(&self, told: &Told, findings: &mut Findings) {
        for row in self.rows.values() {
            let nothing = Vec::new();
            let answers = told.answers.get(&row.call).unwrap_or(&nothing);
            let counted = counted(row);
            let what = || format!("answers to {}: {answers:?}, {counted:?} counts", row.call);
            for answered in answers.iter().filter(|answered| answered.told == Some(Ok(()))) {
                if Some(&answered.decision) != counted.as_ref() {
                    findings.lost.insert(what());
                }
                if Timestamp::from_millis(MORNING).after(answered.at) > answered.expires_at {
                    findings.unasked.insert(format!("too late: {}", what()));
                }
            }
            let may_be = |answered: &Answered| {
                let is_unknown = answered.told.as_ref().is_none_or(|told| match told {
                    Ok(()) | Err(madang::error::AnswerError::NotKnown) => true,
                    Err(_) => false,
                });
                is_unknown && Some(&answered.decision) == counted.as_ref()
            };
            if counted.is_some() && !answers.iter().any(may_be) {
                findings.unasked.insert(what());
            }
        }
    }

    /// A standing approval covers nothing any more once its end was acknowledged.
    fn compare_standing(&self, told: &Told, findings: &mut Findings) {
        for row in self.rows.values() {
            let Some(Approval::Granted { by_call, .. }) = row.approval else { continue };
            let given = self.rows.get(&by_call).and_then(|by| by.approved_at);
            let session =
                self.sessions.iter().find(|session| session.stored.row.session == row.session);
            let number = session.map(|session| session.number);
            let has_ended = told.revoked.iter().any(|(of, at)| {
                let at = Timestamp::from_millis(MORNING).after(*at);
                Some(*of) == number && given < Some(at) && Some(at) < row.approved_at
            });
            if has_ended {
                findings
                    .unasked
                    .insert(format!("{} rests on {by_call}, which had ended", row.call));
            }
        }
    }

    /// What was told of a question's end stands in the ledger.
    fn compare_questions(&self, heard: &Heard, findings: &mut Findings) {
        for (_, event) in heard {
            let EventKind::ConfirmationEnded { call, end: ConfirmationEnd::Decided { decision } } =
                &event.kind
            else {
                continue;
            };
            let stored = self.rows.get(call).and_then(counted);
            if stored.as_ref() != Some(decision) {
                let what = format!("told {decision:?} on {call}, stored {stored:?}");
                findings.misreported.insert(what);
            }
        }
    }

    /// An effect is there once and whole where its call says so, and not at all where it does not.
    fn compare_effects(&self, told: &Told, findings: &mut Findings) {
        let mut known = BTreeSet::new();
        for row in self.rows.values() {
            let (Some(act), Some(token)) = (Act::of_tool(&row.name), token_of(&row.arguments))
            else {
                continue;
            };
            let what = |what: &str| format!("{} {token} of {}: {what}", row.name, row.call);
            let call = row.call.to_string();
            let written = |part| {
                let effect = self.values.get(&effect_name(&token, part))?;
                (effect["call"] == *call).then(|| effect["times"].as_u64().unwrap_or(0))
            };
            let parts: Vec<_> = (1..=PARTS).filter_map(written).collect();
            known.extend((1..=PARTS).map(|part| effect_name(&token, part)));
            let sent = told
                .letters
                .get(&token)
                .map_or(0, |calls| calls.iter().filter(|sender| **sender == row.call).count());
            if parts.iter().any(|times| *times > 1) || sent > 1 {
                findings.doubled.insert(what(&format!("{parts:?} written, {sent} sent")));
            }
            if !parts.is_empty() && parts.len() < (1..=PARTS).count() {
                findings.misreported.insert(what("a part is missing"));
            }
            let is_there = if act == Act::Mail { sent > 0 } else { !parts.is_empty() };
            match row.effect {
                Some(Effect::Committed) if !is_there && act != Act::Look => {
                    findings.lost.insert(what("it took effect, and is not there"));
                }
                Some(Effect::None) | None if is_there => {
                    findings.misreported.insert(what("it took no effect, and is there"));
                }
                Some(Effect::Unknown) if act != Act::Mail => {
                    findings.misreported.insert(what("its effect is in the store, and unknown"));
                }
                _ => {}
            }
            let may_be = matches!(act, Act::Save | Act::Erase | Act::Mail);
            if is_there && !may_be {
                findings.misreported.insert(what("it must leave nothing"));
            }
            if (act != Act::Mail && sent > 0) || (act == Act::Mail && !parts.is_empty()) {
                findings.misreported.insert(what("it did what another tool does"));
            }
        }
        for name in self.values.keys().filter(|name| !known.contains(*name)) {
            findings.unasked.insert(format!("{name} belongs to no call"));
        }
        for (token, calls) in &told.letters {
            if calls.iter().any(|call| !self.rows.contains_key(call)) {
                findings.lost.insert(format!("the letter {token} belongs to no call: {calls:?}"));
            }
        }
    }

    /// No handler begins that was not allowed, with other arguments than those, or for a turn that was left before.
    fn compare_handlers(&self, told: &Told, findings: &mut Findings) {
        for begun in &told.begun {
            let what = |what: &str| format!("{:?} {} began: {what}", begun.act, begun.token);
            let Some(row) = self.rows.get(&begun.call) else {
                // A call that asks nobody is recorded with its end, in the commit of its effect: both are undone.
                if act_asks(begun.act) || begun.act == Act::Mail {
                    findings.lost.insert(what("its call is not in the ledger"));
                }
                continue;
            };
            if token_of(&row.arguments).as_ref() != Some(&begun.token) || row.user != begun.user {
                findings.unasked.insert(what("its arguments are not those of its call"));
            }
            if act_asks(begun.act) && !is_allowed(row, told, begun.at, &begun.token) {
                findings.unasked.insert(what(&format!("{:?}", row.approval)));
            }
            let proposed = Timestamp::from_millis(MORNING);
            let is_left = told.dismissed.get(&row.turn);
            if is_left.is_some_and(|left| row.proposed_at > proposed.after(*left)) {
                findings.unasked.insert(what("it was proposed after its turn was dismissed"));
            }
        }
    }
}

/// Whether a person must say yes.
fn act_asks(act: Act) -> bool {
    act == Act::Erase
}

/// Whether a person had said yes to exactly this by then, about this call or for a while.
fn is_allowed(row: &LedgerRow, told: &Told, by: Duration, token: &str) -> bool {
    let says = |call: &CallId, is_yes: &dyn Fn(&Answered) -> bool| {
        let answers = told.answers.get(call).into_iter().flatten();
        answers.into_iter().any(|answered| answered.at <= by && is_yes(answered))
    };
    match row.approval {
        None => false,
        Some(Approval::Once) => says(&row.call, &|answered| {
            answered.decision == Decision::Approve && answered.shown["token"] == *token
        }),
        Some(Approval::Always { .. }) => says(&row.call, &|answered| {
            answered.decision == Decision::ApproveAlways && answered.shown["token"] == *token
        }),
        Some(Approval::Granted { by_call, .. }) => {
            says(&by_call, &|answered| answered.decision == Decision::ApproveAlways)
        }
        Some(Approval::Edited) => says(
            &row.call,
            &|answered| matches!(&answered.decision, Decision::Edit { arguments } if arguments["token"] == *token),
        ),
    }
}

/// Which answer the ledger says was given.
fn counted(row: &LedgerRow) -> Option<Decision> {
    match (&row.approval, &row.outcome) {
        (Some(Approval::Once), _) => Some(Decision::Approve),
        (Some(Approval::Always { .. }), _) => Some(Decision::ApproveAlways),
        (Some(Approval::Edited), _) => Some(Decision::Edit { arguments: row.arguments.clone() }),
        (None, Some(ToolOutcome::Cancelled(end))) if end.reason == CancelReason::Denied => {
            Some(match &end.message {
                None => Decision::Deny,
                Some(message) => Decision::DenyWith { message: message.clone() },
            })
        }
        (Some(Approval::Granted { .. }) | None, _) => None,
    }
}
