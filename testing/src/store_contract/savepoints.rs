//! Promises about transactions.

use std::time::Duration;

use super::facts::{chat, opened, says, session, text, texts, written};
use madang_actors::port::{Store, Transaction};

async fn begin(store: &dyn Store) -> Box<dyn Transaction> {
    store.begin().await.expect("the store takes writes")
}

async fn savepoint(transaction: &mut dyn Transaction) {
    transaction.savepoint().await.expect("a savepoint");
}

async fn say(transaction: &mut dyn Transaction, seq: u64, words: &str) {
    transaction.write(&[says("s", &text(seq, words))]).await.expect("the store takes the message");
}

/// A kept and committed part stays.
pub async fn a_kept_part_stays_after_the_commit(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = begin(store).await;
    for seq in 1..=3 {
        savepoint(&mut *transaction).await;
        say(&mut *transaction, seq, &format!("{seq}")).await;
        transaction.keep().await.expect("the savepoint is there");
    }
    transaction.commit().await.expect("a commit");
    assert_eq!(texts(store, "s").await, ["1", "2", "3"]);
}

/// An undone part leaves the parts before and after it.
pub async fn an_undone_part_never_was(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = begin(store).await;
    for seq in 1..=3 {
        savepoint(&mut *transaction).await;
        say(&mut *transaction, seq, &format!("{seq}")).await;
        if seq == 2 { transaction.undo().await } else { transaction.keep().await }
            .expect("the savepoint is there");
    }
    savepoint(&mut *transaction).await;
    say(&mut *transaction, 2, "instead").await;
    transaction.keep().await.expect("the savepoint is there");
    transaction.commit().await.expect("a commit");
    assert_eq!(texts(store, "s").await, ["1", "instead", "3"]);
}

/// `keep` and `undo` end the innermost part.
pub async fn savepoints_nest(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = begin(store).await;
    savepoint(&mut *transaction).await;
    say(&mut *transaction, 1, "outer").await;
    savepoint(&mut *transaction).await;
    say(&mut *transaction, 2, "inner, undone").await;
    transaction.undo().await.expect("the inner savepoint");
    savepoint(&mut *transaction).await;
    say(&mut *transaction, 3, "inner, kept").await;
    transaction.keep().await.expect("the inner savepoint");
    transaction.keep().await.expect("the outer savepoint");

    savepoint(&mut *transaction).await;
    savepoint(&mut *transaction).await;
    say(&mut *transaction, 4, "kept inside of what is undone").await;
    transaction.keep().await.expect("the inner savepoint");
    transaction.undo().await.expect("the outer savepoint");
    transaction.commit().await.expect("a commit");
    assert_eq!(texts(store, "s").await, ["outer", "inner, kept"]);
}

/// A part that was not begun is neither kept nor undone.
pub async fn ending_a_savepoint_that_is_not_there_fails(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = begin(store).await;
    assert!(transaction.keep().await.is_err());
    drop(transaction);
    let mut transaction = begin(store).await;
    savepoint(&mut *transaction).await;
    transaction.keep().await.expect("the savepoint is there");
    assert!(transaction.undo().await.is_err());
}

/// A dropped transaction leaves nothing and blocks no writer.
pub async fn a_transaction_dropped_without_commit_never_was(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = begin(store).await;
    savepoint(&mut *transaction).await;
    say(&mut *transaction, 1, "kept, not committed").await;
    transaction.keep().await.expect("the savepoint is there");
    savepoint(&mut *transaction).await;
    say(&mut *transaction, 2, "open").await;
    drop(transaction);
    assert_eq!(texts(store, "s").await, <[String; 0]>::default());
    written(store, &[says("s", &text(1, "next"))]).await;
    assert_eq!(texts(store, "s").await, ["next"]);
}

/// After a refusal and an undo the transaction goes on.
pub async fn a_refused_write_leaves_the_transaction_usable(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = begin(store).await;
    savepoint(&mut *transaction).await;
    say(&mut *transaction, 1, "before").await;
    transaction.keep().await.expect("the savepoint is there");
    savepoint(&mut *transaction).await;
    say(&mut *transaction, 2, "in the refused job").await;
    transaction.write(&[says("s", &text(1, "again"))]).await.expect_err("the place is taken");
    transaction.undo().await.expect("the savepoint is there");
    savepoint(&mut *transaction).await;
    say(&mut *transaction, 2, "after").await;
    transaction.keep().await.expect("the savepoint is there");
    transaction.commit().await.expect("a commit");
    assert_eq!(texts(store, "s").await, ["before", "after"]);
}

/// Reads run beside an open transaction and see nothing of it.
pub async fn readers_see_only_what_is_committed(store: &dyn Store) {
    chat(store, "s").await;
    let mut transaction = begin(store).await;
    savepoint(&mut *transaction).await;
    say(&mut *transaction, 1, "a").await;
    transaction.write(&[opened("t", "kim")]).await.expect("the store takes the session");
    transaction.keep().await.expect("the savepoint is there");
    assert_eq!(texts(store, "s").await, <[String; 0]>::default());
    assert_eq!(store.session(&session("t")).await.expect("the store can be read"), None);
    transaction.commit().await.expect("a commit");
    assert_eq!(texts(store, "s").await, ["a"]);
    assert!(store.session(&session("t")).await.expect("the store can be read").is_some());
}

/// More transactions than writers wait for each other and lose nothing.
pub async fn transactions_come_one_after_the_other(store: &dyn Store) {
    chat(store, "s").await;
    let mut held = Vec::new();
    for _ in 0..store.writers() {
        held.push(begin(store).await);
    }
    let early = tokio::time::timeout(Duration::from_millis(20), store.begin()).await;
    assert!(early.is_err(), "no more transactions than writers");
    drop(held);
    written(store, &[says("s", &text(1, "a"))]).await;
    assert_eq!(texts(store, "s").await, ["a"]);
}
