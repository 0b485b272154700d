//! Promises about many parts of one transaction.

use super::facts::{
    call, chat, ended, ok, opened, proposed, running, says, session, step, text, texts, turn_step,
    verified, written,
};
use madang_actors::{
    ledger::Transition,
    port::{Store, StoreError, Transaction, TurnStep, Write},
};

/// Writes and keeps a part that the store must take.
async fn part(transaction: &mut dyn Transaction, writes: &[Write]) {
    transaction.savepoint().await.expect("a savepoint");
    keep(transaction, writes).await;
}

/// Writes and keeps a part that was begun for this call.
async fn part_for(transaction: &mut dyn Transaction, of: (&str, u128), writes: &[Write]) {
    transaction.savepoint_for(&session(of.0), call(of.1)).await.expect("a savepoint");
    keep(transaction, writes).await;
}

async fn keep(transaction: &mut dyn Transaction, writes: &[Write]) {
    transaction.write(writes).await.expect("the store takes these facts");
    transaction.keep().await.expect("the savepoint is there");
}

/// A refused part can be undone, and nothing else is undone.
pub async fn a_refused_part_is_undone_alone(store: &dyn Store) {
    chat(store, "s").await;
    let refusals = [
        // No such turn, or a step that it cannot take.
        ended("s", 2),
        turn_step("s", 2, TurnStep::Dismissed),
        opened("s", "lee"),
        // A taken place.
        says("s", &text(1, "again")),
        // A step that its call cannot take.
        step("s", 9, 5, running(7)),
    ];
    let mut transaction = store.begin().await.expect("the store takes writes");
    part(&mut *transaction, &[says("s", &text(1, "kept"))]).await;
    for refused in refusals {
        let with_others = [says("s", &text(2, "before")), refused, says("s", &text(3, "behind"))];
        transaction.savepoint().await.expect("a savepoint");
        let error = transaction.write(&with_others).await.expect_err("it is refused");
        let is_refusal = matches!(error, StoreError::Refused { .. } | StoreError::Illegal(_));
        assert!(is_refusal, "not a refusal: {error:?}");
        transaction.undo().await.expect("the part is still open");
    }
    part(&mut *transaction, &[says("s", &text(2, "kept, too"))]).await;
    transaction.commit().await.expect("a commit");
    assert_eq!(texts(store, "s").await, ["kept", "kept, too"]);
}

/// Naming a call when a part begins changes nothing that is written.
pub async fn naming_a_call_ahead_changes_nothing(store: &dyn Store) {
    chat(store, "s").await;
    chat(store, "t").await;
    written(store, &[step("s", 1, 5, proposed(1))]).await;
    let mut boxed = store.begin().await.expect("the store takes writes");
    let transaction = &mut *boxed;
    part_for(transaction, ("s", 1), &[step("s", 1, 6, running(7))]).await;
    part_for(transaction, ("s", 2), &[step("s", 2, 6, proposed(2))]).await;
    part_for(transaction, ("nowhere", 3), &[]).await;
    let last = step("s", 1, 7, Transition::Ended(ok("done")));
    part_for(transaction, ("s", 2), std::slice::from_ref(&last)).await;
    // A call of another session, and a named call that the part does not write about.
    transaction.savepoint_for(&session("t"), call(1)).await.expect("a savepoint");
    let error = transaction.write(&[step("t", 1, 8, proposed(1))]).await.expect_err("it is s's");
    assert!(matches!(error, StoreError::Refused { .. } | StoreError::Illegal(_)), "{error:?}");
    transaction.undo().await.expect("the part has begun");
    let both = [step("t", 4, 8, proposed(1)), step("s", 2, 8, running(7))];
    part_for(transaction, ("s", 2), &both).await;
    boxed.commit().await.expect("a commit");
    for (name, len) in [("s", 5), ("t", 1)] {
        assert_eq!(verified(store, name).await.len(), len);
    }
}
