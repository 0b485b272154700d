//! What a person decided about a call, according to the ledger's row.

use serde_json::Value;

use super::LedgerRow;
use crate::{
    ledger::digest,
    protocol::{Approval, CancelReason, Decision, Digest, Timestamp, ToolOutcome, UserId},
};

/// A person's decision that the ledger has.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedDecision {
    /// The decision. An edit that changed nothing was recorded as a plain approval, and a blank
    /// message as a plain denial.
    pub decision: Decision,
    /// The user that decided.
    pub by: UserId,
    /// The digest of what was shown, which a decision names. The row has the digest of the
    /// arguments that the user typed.
    pub digest: Digest,
    /// The time of the decision.
    pub at: Timestamp,
}

impl LedgerRow {
    /// Returns the decision about the call's approval request. Returns `None` if no person decided:
    /// the call needed no decision, rests on a standing approval, still waits, or its request ended
    /// without one.
    #[must_use]
    pub fn decision(&self) -> Option<RecordedDecision> {
        let (decision, digest, at) = match (&self.approval, &self.outcome) {
            (Some(Approval::Once), _) => (Decision::Approve, self.digest?, self.approved_at?),
            (Some(Approval::Always { .. }), _) => {
                (Decision::ApproveAlways, self.digest?, self.approved_at?)
            }
            (Some(Approval::Edited), _) => {
                let arguments = Value::clone(&self.arguments);
                (Decision::Edit { arguments }, self.digest_shown()?, self.approved_at?)
            }
            (Some(Approval::Standing { .. }), _) => return None,
            (None, Some(ToolOutcome::Cancelled(why))) if why.reason == CancelReason::Denied => {
                let decision = match &why.message {
                    Some(message) => Decision::DenyWith { message: message.clone() },
                    None => Decision::Deny,
                };
                (decision, self.digest?, self.ended_at?)
            }
            (None, _) => return None,
        };
        Some(RecordedDecision { decision, by: self.decided_by.clone()?, digest, at })
    }

    /// Returns whether the ledger has this decision of this user about the request with this
    /// digest, so that deciding again changes nothing. As when it is recorded, an edit that changes
    /// nothing counts as a plain approval, and a blank message as a plain denial.
    #[must_use]
    pub fn has_decision(&self, by: &UserId, digest: Digest, decision: &Decision) -> bool {
        let Some(recorded) = self.decision() else { return false };
        let is_same = match (&recorded.decision, decision) {
            (Decision::Approve, Decision::Edit { arguments }) => *arguments == *self.arguments,
            (Decision::Deny, Decision::DenyWith { message }) => message.trim().is_empty(),
            (recorded, said) => recorded == said,
        };
        is_same && recorded.by == *by && recorded.digest == digest
    }

    /// Computes the digest of the arguments that were shown, if the user typed others. The row has
    /// the digest of those.
    fn digest_shown(&self) -> Option<Digest> {
        let schema = self.schema.as_ref()?;
        let asked = self.asked.as_ref()?;
        Some(digest(schema, asked, &self.user, &self.session, self.call, self.shown.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;
    use crate::{
        ledger::{Ended, Proposal, Transition},
        protocol::{CallId, CallResult, Effect, SessionId, Shown, TurnId},
    };

    const ASKED: i64 = 10;
    const DECIDED: i64 = 20;
    const ENDED: i64 = 30;

    fn kim() -> UserId {
        UserId::new("kim").unwrap()
    }

    fn session() -> SessionId {
        SessionId::new("s").unwrap()
    }

    fn call() -> CallId {
        CallId::new(Uuid::from_u128(1))
    }

    fn shown() -> Shown {
        Shown { text: "Save a?".into(), consequence: "Saves a.".into() }
    }

    fn schema() -> Digest {
        Digest::new([3; 32])
    }

    fn arguments() -> Value {
        json!({ "name": "a" })
    }

    fn typed() -> Value {
        json!({ "name": "b" })
    }

    fn digest_of(arguments: &Value) -> Digest {
        digest(&schema(), arguments, &kim(), &session(), call(), Some(&shown()))
    }

    /// Makes the row after these steps, each with its moment.
    fn row(steps: impl IntoIterator<Item = (i64, Transition)>) -> LedgerRow {
        let proposed = Transition::Proposed(Proposal {
            model: None,
            opaque: None,
            turn: TurnId::new(Uuid::nil()),
            seq: 1,
            name: "save".into(),
            arguments: arguments().to_string().into(),
            user: kim(),
        });
        let awaiting = Transition::Awaiting {
            arguments: arguments().into(),
            schema: schema(),
            shown: Some(Box::new(shown())),
            digest: digest_of(&arguments()),
            expires_at: Timestamp::from_millis(1_000),
        };
        let steps = [(0, proposed), (ASKED, awaiting)].into_iter().chain(steps);
        let row = steps.fold(None, |before: Option<LedgerRow>, (at, step)| {
            let at = Timestamp::from_millis(at);
            let after =
                LedgerRow::after(before.as_ref(), None, None, &session(), call(), at, &step);
            Some(after.unwrap())
        });
        row.unwrap()
    }

    fn approved(approval: Approval, typed: Option<Value>) -> (i64, Transition) {
        let digest = digest_of(typed.as_ref().unwrap_or(&arguments()));
        let expires_at = Timestamp::from_millis(2_000);
        let by = kim();
        let arguments = typed.map(Into::into);
        let step = Transition::Approved { digest, by, approval, arguments, expires_at, seal: None };
        (DECIDED, step)
    }

    fn ended(outcome: ToolOutcome, decided_by: Option<UserId>) -> (i64, Transition) {
        let effect = Effect::None;
        let result = CallResult::Shown;
        (ENDED, Transition::Ended(Ended { arguments: None, outcome, effect, result, decided_by }))
    }

    fn always() -> Approval {
        let schema = schema();
        let until = Timestamp::from_millis(9_000);
        Approval::Always { schema, until, uses: 3, resource: None }
    }

    fn no(message: &str) -> Decision {
        Decision::DenyWith { message: message.into() }
    }

    fn edit(arguments: Value) -> Decision {
        Decision::Edit { arguments }
    }

    /// A decision with the steps that record it, and its moment.
    type Recorded = (Decision, Vec<(i64, Transition)>, i64);

    /// Lists each decision with the steps that record it, and its moment.
    fn table() -> [Recorded; 5] {
        let done = || ended(ToolOutcome::ok(json!(1)), None);
        let denied = |message: Option<&str>| {
            ended(ToolOutcome::denied(message.map(Into::into)), Some(kim()))
        };
        [
            (Decision::Approve, vec![approved(Approval::Once, None), done()], DECIDED),
            (Decision::ApproveAlways, vec![approved(always(), None), done()], DECIDED),
            (Decision::Deny, vec![denied(None)], ENDED),
            (no("not now"), vec![denied(Some("not now"))], ENDED),
            (edit(typed()), vec![approved(Approval::Edited, Some(typed())), done()], DECIDED),
        ]
    }

    #[test]
    fn a_row_tells_the_decision_its_user_the_digest_that_was_shown_and_the_moment() {
        for (decision, steps, at) in table() {
            let expected = RecordedDecision {
                decision,
                by: kim(),
                digest: digest_of(&arguments()),
                at: Timestamp::from_millis(at),
            };
            assert_eq!(row(steps).decision(), Some(expected));
        }
    }

    #[test]
    fn an_approval_is_told_before_its_call_has_ended() {
        let row = row([approved(Approval::Once, None)]);
        assert_eq!(row.decision().unwrap().decision, Decision::Approve);
    }

    #[test]
    fn a_decision_is_the_same_only_from_its_user_on_what_was_shown_with_all_it_says() {
        let lee = UserId::new("lee").unwrap();
        let shown = digest_of(&arguments());
        let all = table().map(|(decision, ..)| decision);
        for (decision, steps, _) in table() {
            let row = row(steps);
            for other in &all {
                assert_eq!(row.has_decision(&kim(), shown, other), *other == decision, "{other:?}");
            }
            assert!(!row.has_decision(&lee, shown, &decision));
            assert!(!row.has_decision(&kim(), digest_of(&typed()), &decision));
            for other in [no("later"), edit(json!({ "name": "c" }))] {
                assert!(!row.has_decision(&kim(), shown, &other), "{other:?}");
            }
            // As they are recorded.
            let plain_yes = edit(arguments());
            let plain_no = no(" ");
            assert_eq!(row.has_decision(&kim(), shown, &plain_yes), decision == Decision::Approve);
            assert_eq!(row.has_decision(&kim(), shown, &plain_no), decision == Decision::Deny);
        }
    }

    #[test]
    fn no_decision_is_told_where_no_person_decided() {
        let cancelled = |reason| ended(ToolOutcome::cancelled(reason), None);
        let standing =
            Approval::Standing { by_call: call(), schema: schema(), resource: None, number: 1 };
        let rests = LedgerRow { approval: Some(standing), decided_by: Some(kim()), ..row([]) };
        let rows = [
            row([]),
            row([cancelled(CancelReason::Expired)]),
            row([cancelled(CancelReason::Dismissed)]),
            row([cancelled(CancelReason::Unreachable)]),
            row([ended(ToolOutcome::error("store", "no".to_owned()), None)]),
            rests,
        ];
        for row in rows {
            assert_eq!(row.decision(), None, "{row:?}");
            assert!(!row.has_decision(&kim(), digest_of(&arguments()), &Decision::Approve));
        }
    }
}
