//! Promises about many parts of one transaction.

use super::facts::{
    OpenTransaction, chat, ended, ok, opened, proposed, running, says, step, text, texts,
    turn_step, verified, written,
};
use madang_actors::{
    ledger::Transition,
    port::{Store, TurnStep},
};

/// A refused part can be undone, and nothing else is undone.
pub async fn a_refused_part_is_undone_alone(store: &dyn Store) {
    chat(store, "s").await;
    let refusals = [
        // No such turn, or a step that it cannot take.
        ended("s", 2),
        turn_step("s", 2, TurnStep::Dismissed),
        opened("s", "lee"),
        // A taken number.
        says("s", &text(1, "again")),
        // A step that its call cannot take.
        step("s", 9, 5, running(7)),
    ];
    let mut transaction = OpenTransaction::begin(store).await;
    transaction.kept(&[says("s", &text(1, "kept"))]).await;
    for refused in refusals {
        transaction.savepoint().await;
        transaction
            .refuses(&[says("s", &text(2, "before")), refused, says("s", &text(3, "behind"))])
            .await;
        transaction.undo().await;
    }
    transaction.kept(&[says("s", &text(2, "kept, too"))]).await;
    transaction.commit().await;
    assert_eq!(texts(store, "s").await, ["kept", "kept, too"]);
}

/// Naming a call when a part begins changes nothing that is written.
pub async fn naming_a_call_ahead_changes_nothing(store: &dyn Store) {
    chat(store, "s").await;
    chat(store, "t").await;
    written(store, &[step("s", 1, 5, proposed(1))]).await;
    let mut transaction = OpenTransaction::begin(store).await;
    transaction.kept_for(("s", 1), &[step("s", 1, 6, running(7))]).await;
    transaction.kept_for(("s", 2), &[step("s", 2, 6, proposed(2))]).await;
    transaction.kept_for(("nowhere", 3), &[]).await;
    transaction.kept_for(("s", 2), &[step("s", 1, 7, Transition::Ended(ok("done")))]).await;
    // A call of another session, and a named call that the part does not write about.
    transaction.savepoint_for(("t", 1)).await;
    transaction.refuses(&[step("t", 1, 8, proposed(1))]).await;
    transaction.undo().await;
    let both = [step("t", 4, 8, proposed(1)), step("s", 2, 8, running(7))];
    transaction.kept_for(("s", 2), &both).await;
    transaction.commit().await;
    for (name, len) in [("s", 5), ("t", 1)] {
        assert_eq!(verified(store, name).await.len(), len);
    }
}
