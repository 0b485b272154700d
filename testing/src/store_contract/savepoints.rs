//! Promises about transactions.

use std::time::Duration;

use super::facts::{OpenTransaction, chat, opened, says, session, text, texts, written};
use madang_actors::port::{Store, Write};

/// Makes a message of session `s` with these words.
fn said(seq: u64, words: &str) -> [Write; 1] {
    [says("s", &text(seq, words))]
}

/// A kept and committed part stays.
pub async fn a_kept_part_stays_after_the_commit(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = OpenTransaction::begin(store).await;
    for seq in 1..=3 {
        transaction.kept(&said(seq, &format!("{seq}"))).await;
    }
    transaction.commit().await;
    assert_eq!(texts(store, "s").await, ["1", "2", "3"]);
}

/// An undone part leaves the parts before and after it.
pub async fn an_undone_part_never_was(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = OpenTransaction::begin(store).await;
    transaction.kept(&said(1, "1")).await;
    transaction.part(&said(2, "2")).await;
    transaction.undo().await;
    transaction.kept(&said(3, "3")).await;
    transaction.kept(&said(2, "instead")).await;
    transaction.commit().await;
    assert_eq!(texts(store, "s").await, ["1", "instead", "3"]);
}

/// `keep` and `undo` end the innermost part.
pub async fn savepoints_nest(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = OpenTransaction::begin(store).await;
    transaction.part(&said(1, "outer")).await;
    transaction.part(&said(2, "inner, undone")).await;
    transaction.undo().await;
    transaction.kept(&said(3, "inner, kept")).await;
    transaction.keep().await;

    transaction.savepoint().await;
    transaction.kept(&said(4, "kept inside of what is undone")).await;
    transaction.undo().await;
    transaction.commit().await;
    assert_eq!(texts(store, "s").await, ["outer", "inner, kept"]);
}

/// A part that was not begun is neither kept nor undone.
pub async fn ending_a_savepoint_that_is_not_there_fails(store: &dyn Store) {
    chat(store, "s").await;
    OpenTransaction::begin(store).await.has_no_part(true).await;
    let mut transaction = OpenTransaction::begin(store).await;
    transaction.savepoint().await;
    transaction.keep().await;
    transaction.has_no_part(false).await;
}

/// A dropped transaction leaves nothing and blocks no writer.
pub async fn a_transaction_dropped_without_commit_never_was(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = OpenTransaction::begin(store).await;
    transaction.kept(&said(1, "kept, not committed")).await;
    transaction.part(&said(2, "open")).await;
    drop(transaction);
    assert_eq!(texts(store, "s").await, <[String; 0]>::default());
    written(store, &[says("s", &text(1, "next"))]).await;
    assert_eq!(texts(store, "s").await, ["next"]);
}

/// After a refusal and an undo the transaction goes on.
pub async fn a_refused_write_leaves_the_transaction_usable(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = OpenTransaction::begin(store).await;
    transaction.kept(&said(1, "before")).await;
    transaction.part(&said(2, "in the refused transaction")).await;
    transaction.refuses(&said(1, "again")).await;
    transaction.undo().await;
    transaction.kept(&said(2, "after")).await;
    transaction.commit().await;
    assert_eq!(texts(store, "s").await, ["before", "after"]);
}

/// Reads run while a transaction is open, and see nothing of it.
pub async fn readers_see_only_what_is_committed(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = OpenTransaction::begin(store).await;
    transaction.kept(&[says("s", &text(1, "a")), opened("t", "kim")]).await;
    assert_eq!(texts(store, "s").await, <[String; 0]>::default());
    assert_eq!(store.session(&session("t")).await.expect("the store can be read"), None);
    transaction.commit().await;
    assert_eq!(texts(store, "s").await, ["a"]);
    assert!(store.session(&session("t")).await.expect("the store can be read").is_some());
}

/// More transactions than writers wait for each other and lose nothing.
pub async fn transactions_come_one_after_the_other(store: &dyn Store) {
    chat(store, "s").await;
    let mut held = Vec::new();
    for _ in 0..store.writers() {
        held.push(OpenTransaction::begin(store).await);
    }
    let early = tokio::time::timeout(Duration::from_millis(20), store.begin()).await;
    assert!(early.is_err(), "no more transactions than writers");
    drop(held);
    written(store, &[says("s", &text(1, "a"))]).await;
    assert_eq!(texts(store, "s").await, ["a"]);
}
