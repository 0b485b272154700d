//! What a store promises of a part that begins where the one before it ends.

use super::facts::{
    call, chat, ended, ok, opened, proposed, running, says, session, step, text, texts, turn_step,
    written,
};
use madang_actors::{
    ledger::{Transition, verify},
    port::{CallKey, Store, StoreError, Transaction, TurnStep, Write},
};

fn key(name: &str, number: u128) -> CallKey {
    CallKey { session: session(name), call: call(number) }
}

async fn advance_savepoint(transaction: &mut dyn Transaction, writes: &[Write]) {
    transaction.advance_savepoint(writes).await.expect("the store takes these facts");
}

/// What came before is kept, whatever becomes of the next part.
pub async fn a_next_part_keeps_the_one_before_it(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = store.begin().await.expect("the store takes writes");
    transaction.savepoint().await.expect("a savepoint");
    advance_savepoint(&mut *transaction, &[says("s", &text(1, "one"))]).await;
    advance_savepoint(&mut *transaction, &[says("s", &text(2, "two"))]).await;
    transaction.write(&says("s", &text(3, "undone"))).await.expect("a free place");
    transaction.undo().await.expect("the part has begun");
    transaction.savepoint().await.expect("a savepoint");
    advance_savepoint(&mut *transaction, &[says("s", &text(3, "three"))]).await;
    transaction.keep().await.expect("the part has begun");
    transaction.commit().await.expect("a commit");
    assert_eq!(texts(store, "s").await, ["one", "two", "three"]);
}

/// A refusal ends nothing: the part can be undone, and nothing else is.
pub async fn a_refused_next_part_can_be_undone(store: &dyn Store) {
    chat(store, "s").await;
    let refusals = [
        // No row to change: there is no such turn, or it cannot take this step.
        ended("s", 2),
        turn_step("s", 2, TurnStep::Dismissed),
        opened("s", "lee"),
        // A place that is taken.
        says("s", &text(1, "again")),
        // A step that its call cannot take.
        step("s", 9, 5, running(7)),
    ];
    let mut transaction = store.begin().await.expect("the store takes writes");
    transaction.savepoint().await.expect("a savepoint");
    advance_savepoint(&mut *transaction, &[says("s", &text(1, "kept"))]).await;
    for refused in refusals {
        let with_others = [says("s", &text(2, "before")), refused, says("s", &text(3, "behind"))];
        let error = transaction.advance_savepoint(&with_others).await.expect_err("it is refused");
        let is_refusal = matches!(error, StoreError::Refused { .. } | StoreError::Illegal(_));
        assert!(is_refusal, "not a refusal: {error:?}");
        transaction.undo().await.expect("the part is still open");
        transaction.savepoint().await.expect("a savepoint");
    }
    transaction.keep().await.expect("the savepoint is there");
    transaction.commit().await.expect("a commit");
    assert_eq!(texts(store, "s").await, ["kept"]);
}

/// Foreseen or not, known or new, of this session or another: what is written about is the same.
pub async fn what_was_foreseen_changes_nothing(store: &dyn Store) {
    chat(store, "s").await;
    chat(store, "t").await;
    written(store, &[step("s", 1, 5, proposed(1))]).await;
    let mut transaction = store.begin().await.expect("the store takes writes");
    transaction.prefetch(key("s", 1));
    transaction.savepoint().await.expect("a savepoint");
    transaction.prefetch(key("s", 2));
    advance_savepoint(&mut *transaction, &[step("s", 1, 6, running(7))]).await;
    transaction.prefetch(key("nowhere", 3));
    advance_savepoint(&mut *transaction, &[step("s", 2, 6, proposed(2))]).await;
    transaction.prefetch(key("t", 1));
    advance_savepoint(&mut *transaction, &[step("s", 1, 7, Transition::Ended(ok("done")))]).await;
    // A call of another session, and one that was not written about although it was prefetched.
    let error = transaction.write(&step("t", 1, 8, proposed(1))).await.expect_err("it is s's");
    assert!(matches!(error, StoreError::Refused { .. } | StoreError::Illegal(_)), "{error:?}");
    transaction.undo().await.expect("the part has begun");
    transaction.prefetch(key("s", 2));
    transaction.savepoint().await.expect("a savepoint");
    transaction.write(&step("t", 4, 8, proposed(1))).await.expect("a new call");
    transaction.write(&step("s", 2, 8, running(7))).await.expect("a legal step");
    transaction.keep().await.expect("the savepoint is there");
    transaction.commit().await.expect("a commit");
    for (name, len) in [("s", 5), ("t", 1)] {
        let (links, end) = store.links(&session(name)).await.expect("the store can be read");
        assert_eq!((links.len(), end.length), (len, len as u64));
        assert_eq!(verify(&session(name), &links, &end), Ok(()));
    }
}

/// The next part begins where one is open, and only there.
pub async fn a_next_part_needs_one_before_it(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = store.begin().await.expect("the store takes writes");
    assert!(transaction.advance_savepoint(&[]).await.is_err());
}
