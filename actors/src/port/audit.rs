//! Checks whether a session's ledger is what was written: its chain, its steps, and the rows that
//! follow from them. Pure.

use std::collections::{BTreeSet, HashMap};

use super::LedgerRow;
use crate::{
    ledger::{ChainEnd, ChainError, Link, Seal, SealError, SealKeys, digest, verify},
    protocol::{Approval, CallId, Digest, SessionId, Timestamp, UserId},
};

/// All calls of a session as the store has them, read at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionLedger {
    /// The session whose ledger it is.
    pub session: SessionId,
    /// The transitions in the order of the chain.
    pub links: Vec<Result<Link, Damaged>>,
    /// The end of the chain as the session's row states it.
    pub end: ChainEnd,
    /// The rows of the calls.
    pub calls: Vec<Result<LedgerRow, Damaged>>,
    /// The owner as the session's row states it. `None` if there is no such row.
    pub owner: Option<Result<Owner, Damaged>>,
    /// The numbers of calls in the transcript.
    pub entries: BTreeSet<(u64, CallId)>,
}

/// The owner of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The user that opened the session.
    pub user: UserId,
    /// The time at which it was opened.
    pub opened_at: Timestamp,
    /// The code that proves that this user opened it.
    pub seal: Option<Seal>,
}

/// A stored value that no store writes like this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is not as it was written")]
pub struct Damaged {
    /// The name of the value.
    pub what: String,
}

/// The result of an audit that found no fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audited {
    /// The end of the chain. If its head is kept elsewhere, it proves later that nothing before it
    /// was changed.
    pub end: ChainEnd,
    /// The number of calls.
    pub calls: usize,
    /// The number of transitions that the kept head proves. Zero if no head was passed.
    pub vouched_for: u64,
}

/// A reason why a ledger is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// A transition or a call's row cannot be read.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// The chain of hashes is broken.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The head that was kept elsewhere is not in the chain.
    #[error(
        "none of the {length} transitions has the head that was kept: the end was cut off, or all of it was rewritten"
    )]
    OtherHead {
        /// The number of transitions in the ledger.
        length: u64,
    },
    /// A transition that the call could not take.
    #[error("transition {position} is a step that call {call} could not take")]
    Step {
        /// The position of the transition, counted from 1.
        position: u64,
        /// The call of the transition.
        call: CallId,
    },
    /// An approval was not sealed by the program that has the keys, or was changed.
    #[error("transition {position} is not an approval of call {call}: {cause}")]
    Approval {
        /// The position of the transition, counted from 1.
        position: u64,
        /// The call of the transition.
        call: CallId,
        /// What is wrong with its seal.
        cause: SealError,
    },
    /// The approval in a call's row was not sealed by the program that has the keys, or was
    /// changed.
    #[error("the row of call {call} has no valid approval: {cause}")]
    ApprovalRow {
        /// The call of the row.
        call: CallId,
        /// What is wrong with its seal.
        cause: SealError,
    },
    /// The text of a question, or what ran, differs from what the digest covers.
    #[error("transition {position} is not what call {call} was asked, approved or run with")]
    Shown {
        /// The position of the transition, counted from 1.
        position: u64,
        /// The call of the transition.
        call: CallId,
    },
    /// The session's owner cannot be trusted.
    #[error("the session is not surely {user}'s: {cause}")]
    Owner {
        /// The user in the session's row.
        user: UserId,
        /// What is wrong with its seal.
        cause: SealError,
    },
    /// A call's row is missing, has no transitions, or differs from them.
    #[error("call {call} does not stand where its transitions say")]
    Row {
        /// The call of the row.
        call: CallId,
    },
    /// A call is missing from the transcript, or has another number there.
    #[error("call {call} is not at its position in the transcript")]
    Entry {
        /// The call that is not at its position.
        call: CallId,
    },
}

impl SessionLedger {
    /// Checks the chain, each step, each call's row and its number in the transcript.
    ///
    /// `kept` is the head of an earlier audit that was kept elsewhere. It proves all that came
    /// before it. Without one, the audit cannot notice a ledger that was rewritten from the first
    /// change to its end, including the session's row. Nor can it notice a ledger that lost its
    /// end.
    ///
    /// `keys` are those of the database. With them the audit shows that each approval and owner was
    /// sealed by a program that has the keys. Without them neither is checked, because a program
    /// that can write a chain can write them.
    ///
    /// # Errors
    /// [`AuditError`] names the first position that does not fit.
    pub fn audit(
        &self,
        kept: Option<&Digest>,
        keys: Option<&SealKeys>,
    ) -> Result<Audited, AuditError> {
        if let Some(Err(damaged)) = &self.owner {
            return Err(damaged.clone().into());
        }
        if let Some(fault) = keys.and_then(|keys| self.seal_faults(keys).next()) {
            return Err(fault);
        }
        let links = self.links.iter().cloned().collect::<Result<Vec<_>, _>>()?;
        verify(&self.session, &links, &self.end)?;
        let vouched_for = kept.map_or(Ok(0), |head| vouched_for(&links, head))?;
        let rows = replay(&self.session, &links, keys)?;
        self.compare(rows)?;
        Ok(Audited { end: self.end, calls: self.calls.len(), vouched_for })
    }

    /// Returns the approvals, in the chain and in the rows, and the owner that none of the keys
    /// sealed.
    pub fn seal_faults<'a>(&'a self, keys: &'a SealKeys) -> impl Iterator<Item = AuditError> + 'a {
        let owner = self.owner.iter().flatten().filter_map(|Owner { user, opened_at, seal }| {
            let checked = keys.check_owner(&self.session, user, *opened_at, seal.as_ref());
            checked.err().map(|cause| AuditError::Owner { user: user.clone(), cause })
        });
        let links = self.links.iter().zip(1..).filter_map(|(link, position)| {
            let Link { call, at, transition, .. } = link.as_ref().ok()?;
            let checked = keys.check(&self.session, *call, *at, transition);
            checked.err().map(|cause| AuditError::Approval { position, call: *call, cause })
        });
        let rows = self.calls.iter().flatten().filter_map(|row| {
            let cause = row.check_seal(keys).err()?;
            Some(AuditError::ApprovalRow { call: row.call, cause })
        });
        owner.chain(links).chain(rows)
    }

    fn compare(&self, mut expected: HashMap<CallId, LedgerRow>) -> Result<(), AuditError> {
        let mut entries = self.entries.clone();
        for row in &self.calls {
            let row = row.as_ref().map_err(Clone::clone)?;
            if expected.remove(&row.call).as_ref() != Some(row) {
                return Err(AuditError::Row { call: row.call });
            }
            if !entries.remove(&(row.seq, row.call)) {
                return Err(AuditError::Entry { call: row.call });
            }
        }
        if let Some(call) = expected.into_keys().min() {
            return Err(AuditError::Row { call });
        }
        entries.first().map_or(Ok(()), |(_, call)| Err(AuditError::Entry { call: *call }))
    }
}

/// Returns the position in the chain of a head that was kept. The head of an empty chain proves
/// nothing.
fn vouched_for(links: &[Link], head: &Digest) -> Result<u64, AuditError> {
    if *head == ChainEnd::EMPTY.head {
        return Ok(0);
    }
    let length = links.len() as u64;
    let position = links.iter().position(|link| link.hash == *head);
    position.map(|position| position as u64 + 1).ok_or(AuditError::OtherHead { length })
}

/// Returns whether the digest covers what the row has: its arguments, and every byte that was
/// shown. A call without a question has no schema here to hash again.
fn is_what_its_digest_says(row: &LedgerRow) -> bool {
    let (Some(schema), Some(found)) = (row.schema, row.digest) else { return true };
    let shown = row.shown.as_deref();
    digest(&schema, &row.arguments, &row.user, &row.session, row.call, shown) == found
}

/// Computes the row of each call after all of these steps.
fn replay(
    session: &SessionId,
    links: &[Link],
    keys: Option<&SealKeys>,
) -> Result<HashMap<CallId, LedgerRow>, AuditError> {
    let mut rows: HashMap<CallId, LedgerRow> = HashMap::new();
    let mut uses = BTreeSet::new();
    for (Link { call, at, transition, .. }, position) in links.iter().zip(1..) {
        // A standing approval began in a call of the same session.
        let standing = transition.rests_on().and_then(|by_call| rows.get(&by_call));
        let call = *call;
        let row = LedgerRow::after(rows.get(&call), standing, keys, session, call, *at, transition);
        let row = row.map_err(|_| AuditError::Step { position, call })?;
        if let Some(Approval::Standing { by_call, number, .. }) = row.approval
            && transition.rests_on().is_some()
            && !uses.insert((by_call, number))
        {
            return Err(AuditError::Step { position, call });
        }
        if !is_what_its_digest_says(&row) {
            return Err(AuditError::Shown { position, call });
        }
        rows.insert(call, row);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;
    use crate::{
        ledger::{CallState, Ended, Proposal, Salt, Transition, next_hash, step_hash},
        protocol::{
            CallResult, Effect, EffectResolution, ResolvedBy, Shown, Timestamp, ToolOutcome,
            TurnId, UserId,
        },
    };

    fn call(number: u128) -> CallId {
        CallId::new(Uuid::from_u128(number))
    }

    fn proposed(seq: u64) -> Transition {
        Transition::Proposed(Proposal {
            model: None,
            opaque: None,
            turn: TurnId::new(Uuid::nil()),
            seq,
            name: "t".into(),
            arguments: "{}".into(),
            user: UserId::new("kim").unwrap(),
        })
    }

    /// Makes the step of call 1 that says what was shown about it. The digest covers another text,
    /// if one is passed.
    fn awaiting(covered: Option<&str>) -> Transition {
        let session = SessionId::new("s").unwrap();
        let user = UserId::new("kim").unwrap();
        let shown = |text: &str| Shown { text: text.into(), consequence: "Mails.".into() };
        let schema = Digest::new([2; 32]);
        let arguments = json!({});
        let covered = shown(covered.unwrap_or("Mail?"));
        Transition::Awaiting {
            digest: digest(&schema, &arguments, &user, &session, call(1), Some(&covered)),
            arguments: arguments.into(),
            schema,
            shown: Some(Box::new(shown("Mail?"))),
            expires_at: Timestamp::from_millis(9),
        }
    }

    fn running() -> Transition {
        Transition::Running { arguments: json!({}).into(), digest: Digest::new([1; 32]) }
    }

    fn ended(effect: Effect) -> Transition {
        let outcome = ToolOutcome::ok(Value::Null);
        Transition::Ended(Ended {
            arguments: None,
            outcome,
            effect,
            result: CallResult::Shown,
            decided_by: None,
        })
    }

    fn resolved(by: &str) -> Transition {
        let by = ResolvedBy::Person { user: UserId::new(by).unwrap() };
        Transition::Resolved { resolution: EffectResolution::TookEffect, by }
    }

    fn unknown() -> Vec<(u128, Transition)> {
        vec![(1, proposed(1)), (1, running()), (1, ended(Effect::Unknown))]
    }

    /// Makes a ledger whose hashes fit, whatever the steps are. The rows are those of the steps
    /// that the calls could take.
    fn ledger(steps: &[(u128, Transition)]) -> SessionLedger {
        let session = SessionId::new("s").unwrap();
        let (mut end, mut rows) = (ChainEnd::EMPTY, HashMap::<CallId, LedgerRow>::new());
        let mut link = |(number, transition): &(u128, Transition)| {
            let call = call(*number);
            let at = Timestamp::from_millis(5);
            let salt = Salt::new([7; 16]);
            let hash = next_hash(&end.head, &step_hash(&salt, &session, call, at, transition));
            end = ChainEnd { length: end.length + 1, head: hash };
            if let Ok(row) =
                LedgerRow::after(rows.get(&call), None, None, &session, call, at, transition)
            {
                rows.insert(call, row);
            }
            Ok(Link { call, at, transition: transition.clone(), salt, hash })
        };
        let links = steps.iter().map(&mut link).collect();
        let entries = rows.values().map(|row| (row.seq, row.call)).collect();
        let calls = rows.into_values().map(Ok).collect();
        SessionLedger { session, links, end, calls, owner: None, entries }
    }

    fn sound() -> SessionLedger {
        ledger(&[(1, proposed(1)), (2, proposed(2)), (1, running()), (1, ended(Effect::None))])
    }

    #[test]
    fn a_ledger_as_it_was_written_holds_and_a_kept_head_vouches_for_its_beginning() {
        let ledger = sound();
        let hash = |position: usize| ledger.links[position].as_ref().unwrap().hash;
        for (kept, vouched_for) in [(None, 0), (Some(hash(1)), 2), (Some(hash(3)), 4)] {
            let audited = ledger.audit(kept.as_ref(), None);
            assert_eq!(audited, Ok(Audited { end: ledger.end, calls: 2, vouched_for }));
        }
        let other = ledger.audit(Some(&Digest::new([9; 32])), None);
        assert_eq!(other, Err(AuditError::OtherHead { length: 4 }));
    }

    #[test]
    fn steps_that_a_call_could_not_take_are_found_though_all_hashes_fit() {
        for (steps, position, number) in [
            (vec![(1, running())], 1, 1),
            (vec![(1, proposed(1)), (2, ended(Effect::None))], 2, 2),
            (vec![(1, proposed(1)), (1, proposed(1))], 2, 1),
            (vec![(1, proposed(1)), (1, ended(Effect::None)), (1, running())], 3, 1),
            (vec![(1, proposed(1)), (1, running()), (1, running())], 3, 1),
            (vec![(1, proposed(1)), (1, ended(Effect::Unknown))], 2, 1),
            (vec![(1, proposed(1)), (1, running()), (1, resolved("kim"))], 3, 1),
            ([unknown(), vec![(1, resolved("lee"))]].concat(), 4, 1),
            ([unknown(), vec![(1, resolved("kim")), (1, resolved("kim"))]].concat(), 5, 1),
        ] {
            let found = ledger(&steps).audit(None, None);
            assert_eq!(found, Err(AuditError::Step { position, call: call(number) }), "{steps:?}");
        }
    }

    #[test]
    fn a_question_whose_digest_covers_another_text_is_found() {
        let asked = ledger(&[(1, proposed(1)), (1, awaiting(None))]);
        assert!(asked.audit(None, None).is_ok());
        let changed = ledger(&[(1, proposed(1)), (1, awaiting(Some("Delete all?")))]);
        let found = changed.audit(None, None);
        assert_eq!(found, Err(AuditError::Shown { position: 2, call: call(1) }));
    }

    #[test]
    fn rows_that_do_not_follow_from_the_steps_are_found() {
        let mut changed = sound();
        for row in changed.calls.iter_mut().flatten().filter(|row| row.call == call(1)) {
            row.state = CallState::Approved;
        }
        assert_eq!(changed.audit(None, None), Err(AuditError::Row { call: call(1) }));

        let mut lost = sound();
        lost.calls.retain(|row| row.as_ref().is_ok_and(|row| row.call == call(1)));
        lost.entries.retain(|(_, entry)| *entry == call(1));
        assert_eq!(lost.audit(None, None), Err(AuditError::Row { call: call(2) }));

        let mut moved = sound();
        moved.entries.remove(&(1, call(1)));
        assert_eq!(moved.audit(None, None), Err(AuditError::Entry { call: call(1) }));

        let resolved = ledger(&[unknown(), vec![(1, resolved("kim"))]].concat());
        assert!(resolved.audit(None, None).is_ok());
        let by = |row: &mut LedgerRow| row.resolved_by = Some(ResolvedBy::Handler);
        let taken_back = |row: &mut LedgerRow| row.effect = Some(Effect::None);
        for change in [&by as &dyn Fn(&mut LedgerRow), &taken_back] {
            let mut changed = resolved.clone();
            changed.calls.iter_mut().flatten().for_each(change);
            assert_eq!(changed.audit(None, None), Err(AuditError::Row { call: call(1) }));
        }

        let mut invented = sound();
        invented.entries.insert((9, call(9)));
        assert_eq!(invented.audit(None, None), Err(AuditError::Entry { call: call(9) }));
    }
}
