//! Whatever steps are tried in whatever order: what must be confirmed begins only after an approval
//! that fits, once.

use std::{collections::HashMap, sync::Arc};

use madang_actors::{
    ledger::{Ended, Proposal, Seal, SealKey, SealKeys, Transition},
    port::LedgerRow,
    protocol::{
        Approval, CallId, CallResult, Digest, Effect, SessionId, Timestamp, ToolOutcome, TurnId,
        UserId,
    },
};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use uuid::Uuid;

type Step = (u128, i64, Transition);

fn call(number: u128) -> CallId {
    CallId::new(Uuid::from_u128(number))
}

fn user(name: &str) -> UserId {
    UserId::new(name).unwrap()
}

fn digest(byte: u8) -> Digest {
    Digest::new([byte; 32])
}

/// Calls 1 and 2 are Kim's of one tool, call 3 is Kim's of another, call 4 is Lee's.
fn owner(number: u128) -> (&'static str, &'static str) {
    match number {
        3 => ("kim", "erase"),
        4 => ("lee", "save"),
        _ => ("kim", "save"),
    }
}

fn shown() -> Arc<Value> {
    json!({ "name": "shown" }).into()
}

fn typed() -> Arc<Value> {
    json!({ "name": "typed" }).into()
}

fn beginning(number: u128) -> [Step; 2] {
    let (user_name, tool) = owner(number);
    let proposal = Proposal {
        model: None,
        opaque: None,
        turn: TurnId::new(Uuid::nil()),
        seq: u64::try_from(number).unwrap(),
        name: tool.into(),
        arguments: "{}".into(),
        user: user(user_name),
    };
    let awaiting = Transition::Awaiting {
        arguments: shown(),
        schema: digest(1),
        shown: None,
        digest: digest(7),
        expires_at: Timestamp::from_millis(60),
    };
    [(number, 0, Transition::Proposed(proposal)), (number, 0, awaiting)]
}

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn keys() -> SealKeys {
    SealKeys::new([SealKey::new([1; 32])])
}

/// None where it is sealed when it is written; a forged one.
fn seal() -> impl Strategy<Value = Option<Seal>> {
    let forged = SealKeys::new([SealKey::new([2; 32])]);
    let forged = forged.owner(&session(), &user("kim"), Timestamp::from_millis(0));
    select(vec![None, None, None, None, None, forged])
}

fn resource() -> impl Strategy<Value = Option<Digest>> {
    select(vec![None, None, None, Some(digest(5))])
}

/// Draws bounds: until when, how many uses, and of which resource.
fn bounds() -> impl Strategy<Value = (i64, u32, Option<Digest>)> {
    (select(vec![20, 200]), 0..=2_u32, resource())
}

fn always(schema: Digest, until: i64, uses: u32, resource: Option<Digest>) -> Approval {
    Approval::Always { schema, until: Timestamp::from_millis(until), uses, resource }
}

fn rests(by_call: u128, schema: Digest, resource: Option<Digest>, number: u32) -> Approval {
    Approval::Standing { by_call: call(by_call), schema, resource, number }
}

fn attempt() -> impl Strategy<Value = Transition> {
    let byte = || select(vec![7, 7, 7, 8]);
    let schema = || select(vec![1_u8, 1, 1, 2]).prop_map(digest);
    let who = || select(vec!["kim", "kim", "kim", "lee"]).prop_map(user);
    let approval = prop_oneof![
        Just(Approval::Once),
        Just(Approval::Edited),
        (schema(), bounds())
            .prop_map(|(schema, (until, uses, resource))| always(schema, until, uses, resource)),
        (1..=4_u128, schema(), resource(), 1..=2_u32)
            .prop_map(|(by, schema, resource, number)| rests(by, schema, resource, number)),
    ];
    let arguments = select(vec![None, None, Some(typed())]);
    let approved = (byte(), who(), approval, arguments, 1..90_i64, seal()).prop_map(
        |(byte, by, approval, arguments, until, seal)| Transition::Approved {
            digest: digest(byte),
            by,
            approval,
            arguments,
            expires_at: Timestamp::from_millis(until),
            seal,
        },
    );
    let running = (byte(), any::<bool>()).prop_map(|(byte, is_typed)| Transition::Running {
        arguments: if is_typed { typed() } else { shown() },
        digest: digest(byte),
    });
    let ended = Transition::Ended(Ended {
        arguments: None,
        outcome: ToolOutcome::ok(Value::Null),
        effect: Effect::None,
        result: CallResult::Shown,
        decided_by: None,
    });
    let revoked = who().prop_map(|by| Transition::Revoked { by });
    prop_oneof![6 => approved, 6 => running, 1 => Just(ended), 2 => revoked]
}

/// A call that rests on a standing approval, or on one that does not fit it.
fn standing() -> impl Strategy<Value = Vec<(u128, Transition)>> {
    let schema = || select(vec![1_u8, 1, 2]).prop_map(digest);
    let revoker = select(vec![None, None, Some("kim"), Some("lee")]);
    let bounds = (bounds(), resource(), 1..=2_u32);
    (1..=4_u128, 1..=4_u128, schema(), schema(), revoker, bounds).prop_map(
        |(by_call, number, given, schema, revoker, ((until, uses, bound_to), resource, nth))| {
            let approved = |number: u128, approval| Transition::Approved {
                digest: digest(7),
                by: user(owner(number).0),
                approval,
                arguments: None,
                expires_at: Timestamp::from_millis(90),
                seal: None,
            };
            let rests = rests(by_call, schema, resource, nth);
            let revoked = revoker.map(|by| (by_call, Transition::Revoked { by: user(by) }));
            let running = Transition::Running { arguments: shown(), digest: digest(7) };
            [(by_call, approved(by_call, always(given, until, uses, bound_to)))]
                .into_iter()
                .chain(revoked)
                .chain([(number, approved(number, rests)), (number, running)])
                .collect()
        },
    )
}

fn attempts() -> impl Strategy<Value = Vec<Step>> {
    let one = (1..=4_u128, attempt()).prop_map(|step| vec![step]);
    let steps = prop::collection::vec(prop_oneof![4 => one, 1 => standing()], 0..40);
    steps.prop_map(|steps| {
        let later = steps.into_iter().flatten().zip(1..);
        let later = later.map(|((number, step), at)| (number, at, step));
        (1..=4).flat_map(beginning).chain(later).collect()
    })
}

/// The steps that a store takes, in their order.
fn taken(steps: Vec<Step>) -> Vec<Step> {
    let session = session();
    let keys = keys();
    let mut rows: HashMap<CallId, LedgerRow> = HashMap::new();
    let mut taken = Vec::new();
    for (number, at, step) in steps {
        let (call, before) = (call(number), rows.get(&call(number)));
        let standing = step.rests_on().and_then(|by_call| rows.get(&by_call));
        let moment = Timestamp::from_millis(at);
        let is_bare = matches!(step, Transition::Approved { seal: None, .. });
        let step = if is_bare { keys.sealed(&session, call, moment, step) } else { step };
        let after = LedgerRow::after(before, standing, Some(&keys), &session, call, moment, &step);
        if let Ok(row) = after {
            rows.insert(call, row);
            taken.push((number, at, step));
        }
    }
    taken
}

/// Tells from the steps before it alone why this beginning of a handler was not to be taken.
fn complaint(
    before: &[Step],
    number: u128,
    at: i64,
    arguments: &Arc<Value>,
    ran: &Digest,
) -> Option<String> {
    let of_call = |number: u128| before.iter().filter(move |(its, ..)| *its == number);
    if of_call(number).any(|(.., step)| matches!(step, Transition::Running { .. })) {
        return Some("it had begun already".into());
    }
    let mut approvals = of_call(number).filter_map(|(_, at, step)| {
        let Transition::Approved { digest, by, approval, arguments, expires_at, .. } = step else {
            return None;
        };
        Some((*at, digest, by, approval, arguments, expires_at.millis()))
    });
    let Some((approved_at, approved, by, approval, edited, until)) = approvals.next() else {
        return Some("no person approved it".into());
    };
    if approvals.next().is_some() {
        return Some("it was approved twice".into());
    }
    let (owned_by, tool) = owner(number);
    let is_forged = of_call(number).any(|(_, at, step)| {
        keys().check(&session(), call(number), Timestamp::from_millis(*at), step).is_err()
    });
    let says = [
        (is_forged, "its approval was not sealed"),
        (by.as_str() != owned_by, "another user approved it"),
        (approved_at >= 60, "it was approved after its question had expired"),
        (at >= until, "its approval had expired"),
        (ran != approved, "another digest was approved"),
        (edited.as_ref().unwrap_or(&shown()) != arguments, "other arguments were approved"),
        ((*approval == Approval::Edited) != edited.is_some(), "an edit without arguments"),
        (edited.is_none() && *approved != digest(7), "another digest was shown"),
    ];
    if let Some((_, why)) = says.into_iter().find(|(is_so, _)| *is_so) {
        return Some(why.into());
    }
    let Approval::Standing { by_call, schema, resource, number: nth } = approval else {
        return None;
    };
    let covers = (1..=4).filter(|given| call(*given) == *by_call).any(|given_by| {
        let until_then = before.iter().take_while(|(its, when, step)| {
            !(*its == number && *when == approved_at && matches!(step, Transition::Approved { .. }))
        });
        let mut stands = false;
        for (_, _, step) in until_then.filter(|(its, ..)| *its == given_by) {
            match step {
                Transition::Approved {
                    approval: Approval::Always { schema: given, until, uses, resource: bound_to },
                    ..
                } => {
                    stands = given == schema
                        && bound_to == resource
                        && approved_at < until.millis()
                        && (1..=*uses).contains(nth);
                }
                Transition::Revoked { .. } => stands = false,
                Transition::Approved { .. }
                | Transition::Proposed(_)
                | Transition::Awaiting { .. }
                | Transition::Running { .. }
                | Transition::Ended(_)
                | Transition::Resolved { .. } => {}
            }
        }
        stands && owner(given_by) == (owned_by, tool)
    });
    (!covers).then(|| "no standing approval covered it".into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_handler_begins_only_after_an_approval_that_fits_and_once(steps in attempts()) {
        let taken = taken(steps);
        for (index, (number, at, step)) in taken.iter().enumerate() {
            if let Transition::Running { arguments, digest } = step {
                let wrong = complaint(&taken[..index], *number, *at, arguments, digest);
                prop_assert_eq!(wrong, None, "call {} at {}: {:#?}", number, at, taken);
            }
        }
    }
}

/// The property above says something: sequences as it makes them do begin handlers, of each kind of
/// approval.
#[test]
fn what_fits_is_taken() {
    let approved = |byte, approval, arguments| Transition::Approved {
        digest: digest(byte),
        by: user("kim"),
        approval,
        arguments,
        expires_at: Timestamp::from_millis(50),
        seal: None,
    };
    let running = |arguments, byte| Transition::Running { arguments, digest: digest(byte) };
    let schema = digest(1);
    let steps = [
        (1, 1, approved(7, always(schema, 20, 1, Some(digest(5))), None)),
        (1, 2, running(shown(), 7)),
        (2, 3, approved(7, rests(1, schema, Some(digest(5)), 1), None)),
        (2, 4, running(shown(), 7)),
        (3, 5, approved(8, Approval::Edited, Some(typed()))),
        (3, 6, running(typed(), 8)),
    ];
    let all: Vec<_> = (1..=3).flat_map(beginning).chain(steps).collect();
    let taken = taken(all.clone());
    assert_eq!(taken.len(), all.len());
    for (index, (number, at, step)) in taken.iter().enumerate() {
        if let Transition::Running { arguments, digest } = step {
            assert_eq!(complaint(&taken[..index], *number, *at, arguments, digest), None);
        }
    }
}
