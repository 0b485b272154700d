//! Compares the requests, answers and findings of people with the store.

use std::collections::BTreeMap;

use madang::{
    CallId, Timestamp, TurnId,
    approval::{ApprovalEnd, Decision},
    event::{Content, EventKind, TurnEnding},
    ledger::{Approval, Effect, LedgerRow, ResolvedBy},
    tool::{CancelReason, ToolOutcome},
};

use super::{
    facts::{Facts, Session},
    findings::{Counter, Findings},
    heard::Heard,
    imports::is_imported,
};
use serde_json::Value;

use crate::oracle::{Answered, Began, Oracle, Verdict};

impl Facts {
    /// Requires that the store has each request whose answer a person received.
    pub(super) fn compare_asks(&self, oracle: &Oracle, findings: &mut Findings) {
        let mut texts = BTreeMap::<(usize, &str), Vec<TurnId>>::new();
        let mut ends = BTreeMap::<TurnId, TurnEnding>::new();
        for session in &self.sessions {
            for message in &session.stored.messages {
                if let Content::User { text, .. } = &message.content
                    && !is_imported(&message.content)
                {
                    texts.entry((session.number, text)).or_default().push(message.turn);
                }
            }
            for entry in &session.story.entries {
                ends.extend(entry.end.as_ref().map(|(_, end)| (entry.message.turn, end.ending)));
            }
        }
        for asked in &oracle.asks {
            let turns = texts.remove(&(asked.session, &*asked.text)).unwrap_or_default();
            let counter = match (asked.began, turns.as_slice()) {
                (Some(Began::Yes(turn)), [one]) if turn == *one => continue,
                (Some(Began::No), []) | (Some(Began::Perhaps) | None, [] | [_]) => continue,
                (Some(Began::Yes(_)), []) => Counter::Lost,
                (_, [_, _, ..]) => Counter::Doubled,
                _ => Counter::Misreported,
            };
            let what = format!("{:?} was told {:?}, and is {turns:?}", asked.text, asked.began);
            findings.find(counter, what);
        }
        for ((_, text), turns) in texts {
            let what = format!("{text:?} was asked by no person: {turns:?}");
            findings.find(Counter::Unasked, what);
        }
        for (turn, ending) in &oracle.ends {
            if ends.get(turn) != Some(ending) {
                let stored = ends.get(turn);
                let what = format!("turn {turn} had ended {ending:?}, is {stored:?}");
                findings.find(Counter::Lost, what);
            }
        }
    }

    /// Requires that one answer to a question counts, and its person was told so.
    pub(super) fn compare_answers(&self, oracle: &Oracle, findings: &mut Findings) {
        for row in self.rows.values() {
            let answers = oracle.answers.get(&row.call).map_or(&[][..], Vec::as_slice);
            let counted = counted(row);
            let what = || format!("answers to {}: {answers:?}, {counted:?} counts", row.call);
            let is_told = |answered: &&Answered| {
                matches!(answered.verdict, Some(Verdict::Counts | Verdict::Repeats))
            };
            for answered in answers.iter().filter(is_told) {
                if Some(answered.counts_as()) != counted {
                    findings.find(Counter::Lost, what());
                }
            }
            let counting = || answers.iter().filter(|one| one.verdict == Some(Verdict::Counts));
            if counting().any(|answered| answered.at > answered.expires_at) {
                findings.find(Counter::Unasked, format!("too late: {}", what()));
            }
            let may_be = |answered: &Answered| {
                answered.verdict != Some(Verdict::Refused) && Some(answered.counts_as()) == counted
            };
            if counting().count() > 1 {
                findings.find(Counter::Doubled, what());
            }
            if counted.is_some() && !answers.iter().any(may_be) {
                findings.find(Counter::Unasked, what());
            }
        }
        let is_gone = |(call, _): &(&CallId, _)| !self.rows.contains_key(*call);
        for (call, answers) in oracle.answers.iter().filter(is_gone) {
            findings.find(Counter::Lost, format!("answers to {call}, which is gone: {answers:?}"));
        }
    }

    /// Requires that a standing approval covers no call after its acknowledged end.
    pub(super) fn compare_standing(&self, oracle: &Oracle, findings: &mut Findings) {
        for row in self.rows.values() {
            let Some(Approval::Standing { by_call, .. }) = row.approval else { continue };
            let given = self.rows.get(&by_call).and_then(|by| by.approved_at);
            let session =
                self.sessions.iter().find(|session| session.stored.row.session == row.session);
            let number = session.map(|session| session.number);
            let has_ended = oracle.revoked.iter().any(|(of, [asked, at])| {
                Some(*of) == number && given < Some(*asked) && Some(*at) < row.approved_at
            });
            if has_ended {
                let what = format!("{} rests on {by_call}, which had ended", row.call);
                findings.find(Counter::Unasked, what);
            }
        }
    }

    /// Requires that an unknown effect is resolved once, as a person said.
    pub(super) fn compare_resolutions(&self, oracle: &Oracle, findings: &mut Findings) {
        for row in self.rows.values() {
            let said = oracle.resolved.get(&row.call).map_or(&[][..], Vec::as_slice);
            let is_persons = matches!(row.resolved_by, Some(ResolvedBy::Person { .. }));
            let stored = is_persons.then_some(row.effect);
            let is = |effect| Some(Some(effect)) == stored;
            let what = || format!("resolutions of {}: {said:?}, stored {stored:?}", row.call);
            let counting: Vec<_> = said.iter().filter(|(_, counts)| *counts).collect();
            if counting.len() > 1 {
                findings.find(Counter::Doubled, what());
            }
            if counting.iter().any(|(resolution, _)| !is(resolution.effect())) {
                findings.find(Counter::Lost, what());
            }
            if stored.is_some() && !said.iter().any(|(resolution, _)| is(resolution.effect())) {
                findings.find(Counter::Misreported, what());
            }
        }
    }

    /// Requires that the ledger has each reported end of a question, end of a call, and resolution.
    pub(super) fn compare_reports(&self, heard: &Heard, findings: &mut Findings) {
        for (_, event) in heard {
            let (call, is_so) = if let EventKind::ApprovalEnded { call, end } = &event.kind
                && let ApprovalEnd::Decided { decision } = end
            {
                (*call, self.rows.get(call).and_then(counted).as_ref() == Some(decision))
            } else if let EventKind::ToolCallEnded { record } = &event.kind {
                let row = self.rows.get(&record.id);
                // The effect may have been resolved later.
                let is_so = row.is_some_and(|row| {
                    (record.effect == Effect::Unknown || row.effect == Some(record.effect))
                        && (record.outcome.is_none() || row.outcome == record.outcome)
                });
                (record.id, is_so)
            } else if let EventKind::ToolCallResolved { resolved, .. } = &event.kind {
                let row = self.rows.get(&resolved.call);
                let effect = Some(resolved.resolution.effect());
                let is_so = row.is_some_and(|row| {
                    row.effect == effect && row.resolved_by.as_ref() == Some(&resolved.by)
                });
                (resolved.call, is_so)
            } else {
                continue;
            };
            if !is_so {
                let row = self.rows.get(&call);
                let what = format!("told {:?}, stored {row:?}", event.kind);
                findings.find(Counter::Misreported, what);
            }
        }
    }
}

impl Session {
    /// Requires that no turn ends as dismissed unless its own person left it.
    pub(super) fn compare_left(&self, oracle: &Oracle, findings: &mut Findings) {
        let ends = self.story.entries.iter().filter_map(|entry| entry.end.as_ref());
        let dismissed = ends.filter(|(_, end)| end.ending == TurnEnding::Dismissed).count();
        let left = oracle.left.get(&self.number).copied().unwrap_or_default();
        if dismissed > left {
            let name = &self.stored.row.session;
            let what = format!("{name} was left {left} times, and {dismissed} turns are dismissed");
            findings.find(Counter::Disturbed, what);
        }
    }
}

impl Answered {
    /// Counts arguments that equal the shown ones as a plain approval.
    fn counts_as(&self) -> Decision {
        let is_same =
            matches!(&self.decision, Decision::Edit { arguments } if *arguments == self.shown);
        if is_same { Decision::Approve } else { self.decision.clone() }
    }
}

impl Oracle {
    /// Tells whether a person had approved exactly this by then, once or for a while.
    pub(crate) fn allows(&self, row: &LedgerRow, by: Timestamp, token: &str) -> bool {
        let says = |call: &CallId, is_yes: &dyn Fn(&Answered) -> bool| {
            let answers = self.answers.get(call).into_iter().flatten();
            answers.into_iter().any(|answered| answered.at <= by && is_yes(answered))
        };
        match row.approval {
            None => false,
            Some(Approval::Once) => says(&row.call, &|answered| {
                answered.counts_as() == Decision::Approve && answered.shown["token"] == *token
            }),
            Some(Approval::Always { .. }) => says(&row.call, &|answered| {
                answered.decision == Decision::ApproveAlways && answered.shown["token"] == *token
            }),
            Some(Approval::Standing { by_call, .. }) => {
                says(&by_call, &|answered| answered.decision == Decision::ApproveAlways)
            }
            Some(Approval::Edited) => says(
                &row.call,
                &|answered| matches!(&answered.decision, Decision::Edit { arguments } if arguments["token"] == *token),
            ),
        }
    }
}

/// Returns the answer that the ledger records.
fn counted(row: &LedgerRow) -> Option<Decision> {
    match (&row.approval, &row.outcome) {
        (Some(Approval::Once), _) => Some(Decision::Approve),
        (Some(Approval::Always { .. }), _) => Some(Decision::ApproveAlways),
        (Some(Approval::Edited), _) => {
            Some(Decision::Edit { arguments: Value::clone(&row.arguments) })
        }
        (None, Some(ToolOutcome::Cancelled(end))) if end.reason == CancelReason::Denied => {
            Some(match &end.message {
                None => Decision::Deny,
                Some(message) => Decision::DenyWith { message: message.clone() },
            })
        }
        (Some(Approval::Standing { .. }) | None, _) => None,
    }
}
