//! A step that was not sealed is not taken, and an audit finds a question that is not the one that
//! was decided on.

use std::collections::{BTreeSet, HashMap};

use madang_actors::{
    ledger::{
        ChainEnd, Link, Proposal, Salt, SealError, SealKey, SealKeys, Transition, digest,
        next_hash, step_hash,
    },
    port::{AuditError, LedgerRow, Owner, SessionLedger, StoreError},
    protocol::{Approval, CallId, Digest, SessionId, Shown, Timestamp, TurnId, UserId},
};
use serde_json::json;
use uuid::Uuid;

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn kim() -> UserId {
    UserId::new("kim").unwrap()
}

fn call(number: u128) -> CallId {
    CallId::new(Uuid::from_u128(number))
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn keys(byte: u8) -> SealKeys {
    SealKeys::new([SealKey::new([byte; 32])])
}

const SCHEMA: Digest = Digest::new([1; 32]);

fn shown(text: &str, consequence: &str) -> Shown {
    Shown { text: text.into(), consequence: consequence.into() }
}

fn digest_of(number: u128, shown: &Shown) -> Digest {
    digest(&SCHEMA, &json!({ "a": 1 }), &kim(), &session(), call(number), Some(shown))
}

/// A proposal and the question about it, with the digest of what was shown, as it claims.
fn asked(number: u128, stored: &Shown, digest: Digest) -> [Transition; 2] {
    let proposal = Proposal {
        model: None,
        opaque: None,
        turn: TurnId::new(Uuid::nil()),
        seq: u64::try_from(number).unwrap(),
        name: "save".into(),
        arguments: "{}".into(),
        user: kim(),
    };
    let awaiting = Transition::Awaiting {
        arguments: json!({ "a": 1 }).into(),
        schema: SCHEMA,
        shown: Some(Box::new(stored.clone())),
        digest,
        expires_at: at(600),
    };
    [Transition::Proposed(proposal), awaiting]
}

fn approved(digest: Digest, approval: Approval) -> Transition {
    let expires_at = at(500);
    Transition::Approved { digest, by: kim(), approval, arguments: None, expires_at, seal: None }
}

/// A row after these steps, each at its position, as a writer without seals makes it.
fn row(number: u128, steps: &[Transition]) -> LedgerRow {
    let mut row = None;
    for (step, moment) in steps.iter().zip(1..) {
        let after =
            LedgerRow::after(row.as_ref(), None, None, &session(), call(number), at(moment), step);
        row = Some(after.unwrap());
    }
    row.unwrap()
}

fn take(
    row: &LedgerRow,
    standing: Option<&LedgerRow>,
    step: &Transition,
) -> Result<(), StoreError> {
    let keys = keys(1);
    LedgerRow::after(Some(row), standing, Some(&keys), &session(), row.call, at(3), step).map(drop)
}

fn is_unsealed(taken: Result<(), StoreError>) -> bool {
    matches!(taken, Err(StoreError::Refused { reason }) if reason.contains("is not approved: "))
}

#[test]
fn an_approval_is_sealed_when_written_when_used_and_when_another_rests_on_it() {
    let said = shown("Save?", "Saves.");
    let one = digest_of(1, &said);
    let two = digest_of(2, &said);
    let always = Approval::Always { schema: SCHEMA, until: at(400), uses: 2, resource: None };
    let seal =
        |by: &SealKeys, number, moment, step| by.sealed(&session(), call(number), at(moment), step);

    let asked_once = row(1, &asked(1, &said, one));
    let step = approved(one, Approval::Once);
    assert!(take(&asked_once, None, &seal(&keys(1), 1, 3, step.clone())).is_ok());
    for unsealed in
        [step.clone(), seal(&keys(2), 1, 3, step.clone()), seal(&keys(1), 1, 4, step.clone())]
    {
        assert!(is_unsealed(take(&asked_once, None, &unsealed)), "written: {unsealed:?}");
    }

    let running = Transition::Running { arguments: json!({ "a": 1 }).into(), digest: one };
    let begun =
        |step| take(&row(1, &[&asked(1, &said, one)[..], &[step]].concat()), None, &running);
    assert!(begun(seal(&keys(1), 1, 3, step.clone())).is_ok());
    for unsealed in [step.clone(), seal(&keys(2), 1, 3, step)] {
        assert!(is_unsealed(begun(unsealed)), "used");
    }

    let giving = |step| row(1, &[&asked(1, &said, one)[..], &[step]].concat());
    let rests = Approval::Standing { by_call: call(1), schema: SCHEMA, resource: None, number: 1 };
    let rests = seal(&keys(1), 2, 3, approved(two, rests));
    let next = row(2, &asked(2, &said, two));
    let given = giving(seal(&keys(1), 1, 3, approved(one, always)));
    assert!(take(&next, Some(&given), &rests).is_ok());
    for unsealed in [approved(one, always), seal(&keys(2), 1, 3, approved(one, always))] {
        assert!(is_unsealed(take(&next, Some(&giving(unsealed)), &rests)), "rested on");
    }
}

/// The ledger of a session with these steps of one call, chained and followed by its row as a store
/// does it.
fn ledger(steps: &[(u128, Transition)]) -> SessionLedger {
    let (mut rows, mut links) = (HashMap::<CallId, LedgerRow>::new(), Vec::new());
    let mut end = ChainEnd::EMPTY;
    for ((number, step), moment) in steps.iter().zip(1..) {
        let call = call(*number);
        let moment = at(moment);
        let step = keys(1).sealed(&session(), call, moment, step.clone());
        let standing = step.rests_on().and_then(|by_call| rows.get(&by_call));
        let row =
            LedgerRow::after(rows.get(&call), standing, None, &session(), call, moment, &step);
        rows.insert(call, row.unwrap());
        let salt = Salt::new([7; 16]);
        let hash = next_hash(&end.head, &step_hash(&salt, &session(), call, moment, &step));
        end = ChainEnd { length: end.length + 1, head: hash };
        links.push(Ok(Link { call, at: moment, transition: step, salt, hash }));
    }
    let entries: BTreeSet<_> = rows.values().map(|row| (row.seq, row.call)).collect();
    let calls = rows.into_values().map(Ok).collect();
    SessionLedger { session: session(), links, end, calls, owner: None, entries }
}

#[test]
fn a_standing_approval_covers_the_call_a_moment_before_its_end_and_none_at_its_end() {
    let said = shown("Save?", "Saves.");
    let one = digest_of(1, &said);
    let two = digest_of(2, &said);
    let rests = |until| {
        let always = Approval::Always { schema: SCHEMA, until, uses: 2, resource: None };
        let given = keys(1).sealed(&session(), call(1), at(3), approved(one, always));
        let given = row(1, &[&asked(1, &said, one)[..], &[given]].concat());
        let rests =
            Approval::Standing { by_call: call(1), schema: SCHEMA, resource: None, number: 1 };
        let rests = keys(1).sealed(&session(), call(2), at(3), approved(two, rests));
        take(&row(2, &asked(2, &said, two)), Some(&given), &rests)
    };
    // The use is at 3.
    assert!(rests(at(4)).is_ok(), "it is not over");
    let Err(StoreError::Refused { reason }) = rests(at(3)) else { panic!("it is over") };
    assert!(reason.contains("does not cover it"), "{reason}");
}

#[test]
fn a_question_whose_bytes_are_not_those_of_its_digest_is_found() {
    let said = shown("Save?", "Saves.");
    let audit = |stored: &Shown| {
        let request = asked(1, stored, digest_of(1, &said)).map(|step| (1, step));
        ledger(&request).audit(None, Some(&keys(1))).map(drop)
    };
    assert_eq!(audit(&said), Ok(()));
    for stored in [shown("Save? ", "Saves."), shown("Save?", "Erases."), shown("", "")] {
        let found = Err(AuditError::Shown { position: 2, call: call(1) });
        assert_eq!(audit(&stored), found, "{stored:?}");
    }
}

#[test]
fn two_uses_of_a_standing_approval_with_one_number_are_found() {
    let said = shown("Save?", "Saves.");
    let always = Approval::Always { schema: SCHEMA, until: at(400), uses: 2, resource: None };
    let used = |number, nth| {
        let rests =
            Approval::Standing { by_call: call(1), schema: SCHEMA, resource: None, number: nth };
        let digest = digest_of(number, &said);
        let [proposed, awaiting] = asked(number, &said, digest);
        [proposed, awaiting, approved(digest, rests)].map(|step| (number, step))
    };
    let given = asked(1, &said, digest_of(1, &said)).map(|step| (1, step));
    let given = [&given[..], &[(1, approved(digest_of(1, &said), always))]].concat();
    let audit = |numbers: [u32; 2]| {
        let [second, third] = numbers;
        let steps = [&given[..], &used(2, second), &used(3, third)].concat();
        ledger(&steps).audit(None, Some(&keys(1))).map(drop)
    };
    assert_eq!(audit([1, 2]), Ok(()));
    assert_eq!(audit([1, 1]), Err(AuditError::Step { position: 9, call: call(3) }));
}

#[test]
fn each_thing_without_its_seal_is_named_by_itself() {
    let said = shown("Save?", "Saves.");
    let one = digest_of(1, &said);
    let given = asked(1, &said, one).map(|step| (1, step));
    let mut sound = ledger(&[&given[..], &[(1, approved(one, Approval::Once))]].concat());
    let seal = keys(1).owner(&session(), &kim(), at(0));
    sound.owner = Some(Ok(Owner { user: kim(), opened_at: at(0), seal }));
    let faults = |ledger: &SessionLedger| ledger.seal_faults(&keys(1)).collect::<Vec<_>>();
    assert_eq!(faults(&sound), []);

    let cause = SealError::Missing;
    let call = call(1);
    type Change = fn(&mut SessionLedger);
    let changes: [(Change, AuditError); 3] = [
        (
            |ledger| ledger.owner.iter_mut().flatten().for_each(|owner| owner.seal = None),
            AuditError::Owner { user: kim(), cause },
        ),
        (
            |ledger| {
                for link in ledger.links.iter_mut().flatten() {
                    if let Transition::Approved { seal, .. } = &mut link.transition {
                        *seal = None;
                    }
                }
            },
            AuditError::Approval { position: 3, call, cause },
        ),
        (
            |ledger| ledger.calls.iter_mut().flatten().for_each(|row| row.seal = None),
            AuditError::ApprovalRow { call, cause },
        ),
    ];
    for (change, fault) in changes {
        let mut changed = sound.clone();
        change(&mut changed);
        assert_eq!(faults(&changed), std::slice::from_ref(&fault));
        assert_eq!(changed.audit(None, Some(&keys(1))), Err(fault));
    }
}
