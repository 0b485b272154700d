//! The audit finds a history that is there in part, or otherwise than its person was told.

use madang::{
    SessionId, Timestamp, TurnId, TurnOptions, UserId,
    event::{ChatMessage, TurnEnding},
    model::Usage,
    store::Store,
};
use madang_actors::{ledger::text_digest, port::Write};
use madang_proof::{
    audit::{Counter, Moment, audit},
    oracle::{Began, Line, Oracle},
    workload::{SessionPlan, history},
};
use madang_testing::MemoryStore;
use uuid::Uuid;

const AT: Timestamp = Timestamp::from_millis(1);

fn turn(number: u128) -> TurnId {
    TurnId::new(Uuid::from_u128(number))
}

/// A store with the entries of the history that have these numbers.
async fn stored(plan: &SessionPlan, seqs: &[u64]) -> MemoryStore {
    let session = SessionId::new(&*plan.name).unwrap();
    let user = UserId::new(&*plan.user).unwrap();
    let started = Write::TurnStarted {
        session: session.clone(),
        turn: turn(1),
        at: AT,
        options: TurnOptions::default(),
        text: text_digest(""),
        max_stored_bytes: u64::MAX,
    };
    let mut writes = vec![Write::Session { session: session.clone(), user, at: AT }, started];
    for (seq, imported) in (1..).zip(history(0)).filter(|(seq, _)| seqs.contains(seq)) {
        let message = ChatMessage { seq, turn: turn(1), at: AT, content: imported.into() };
        writes.push(Write::Message { session: session.clone(), message });
    }
    writes.push(Write::TurnEnded {
        session,
        turn: turn(1),
        at: AT,
        behind: seqs.last().copied().unwrap_or_default(),
        ending: TurnEnding::Answered,
        error: None,
        usage: Usage::default(),
    });
    let store = MemoryStore::new();
    let mut transaction = store.begin().await.unwrap();
    transaction.write(&writes).await.unwrap();
    transaction.commit().await.unwrap();
    store
}

/// What the audit finds where the person was told so; without, no person imported anything.
async fn found(seqs: &[u64], told: Option<Option<Began>>) -> Vec<Counter> {
    let plan = SessionPlan { user: "kim".to_owned(), name: "s".to_owned() };
    let mut oracle = Oracle::default();
    if let Some(told) = told {
        oracle.note(Line::Imports { session: 0 });
        let told = told.map(|began| Line::Imported { session: 0, began });
        told.into_iter().for_each(|line| oracle.note(line));
    }
    let store = stored(&plan, seqs).await;
    let findings = audit(&store, vec![], &[plan], &oracle, Moment::AfterDeath).await;
    Counter::ALL.into_iter().filter(|counter| findings.of(*counter).next().is_some()).collect()
}

#[tokio::test]
async fn a_history_is_there_as_a_whole_and_as_it_was_told_or_not_at_all() {
    let (whole, part, none): (&[u64], &[u64], &[u64]) = (&[1, 2, 3, 4], &[1, 3], &[]);
    let [yes, other] = [1, 2].map(|number| Some(Some(Began::Yes(turn(number)))));
    let no = Some(Some(Began::No));
    let perhaps = Some(Some(Began::Perhaps));
    let died = Some(None);
    for told in [yes, perhaps, died] {
        assert_eq!(found(whole, told).await, [], "{told:?}");
        assert_eq!(found(part, told).await, [Counter::Misreported], "{told:?}");
    }
    for told in [no, perhaps, died, None] {
        assert_eq!(found(none, told).await, [], "{told:?}");
    }
    assert_eq!(found(none, yes).await, [Counter::Lost]);
    assert_eq!(found(whole, other).await, [Counter::Misreported]);
    assert_eq!(found(whole, no).await, [Counter::Misreported]);
    assert_eq!(found(whole, None).await, [Counter::Unasked]);
}
