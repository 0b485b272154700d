//! Promises about deleted sessions.

use super::facts::{
    OpenTransaction, at, began, chat, ended, ended_behind, ok, opened, proposed, proposed_in,
    refused, running, says, session, step, submitted, text, texts, turn, user, verified,
    write_as_it_is, written,
};
use madang_actors::{
    ledger::Transition,
    port::{LedgerFilter, SessionTitle, Store, StoreError, Write, erased_bytes},
    protocol::{ChatMessage, TurnOptions},
};

fn deleted(name: &str, owner: &str) -> Write {
    Write::Deleted { session: session(name), user: user(owner), at: at(9) }
}

/// Writes a chat with a title, a text, instructions and a call, all of which has ended.
async fn an_ended_chat(store: &dyn Store, name: &str, number: u128) {
    let options = TurnOptions { instructions: Some("a secret".into()), ..TurnOptions::default() };
    let title = SessionTitle::new("a secret").ok();
    let titled = Write::Titled { session: session(name), user: user("kim"), title };
    written(store, &[opened(name, "kim"), submitted(name, number, options, "hi"), titled]).await;
    let text = ChatMessage { turn: turn(number), ..text(2, "a secret") };
    let ends = Transition::Ended(ok("a secret"));
    let steps = [proposed_in(number, 1), running(7), ends];
    let [first, second, third] = steps.map(|transition| step(name, number, 5, transition));
    let ended = ended_behind(name, number, 2);
    written(store, &[first, says(name, &text), second, third, ended]).await;
}

/// No row of the session can be read again, its hashes stay, and any user may open a session of the
/// same name.
pub async fn a_deleted_session_leaves_hashes_only(store: &dyn Store) {
    an_ended_chat(store, "s", 1).await;
    let (links, end) = store.links(&session("s")).await.expect("the store can be read");
    written(store, &[deleted("s", "kim")]).await;
    assert_eq!(store.owner(&session("s")).await.expect("the store can be read"), None);
    assert_eq!(store.session(&session("s")).await.expect("the store can be read"), None);
    let listed = store.summary(&user("kim"), &session("s")).await;
    assert_eq!(listed.expect("the store can be read"), None);
    let calls = store.calls(&LedgerFilter::default()).await.expect("the store can be read");
    assert_eq!(calls, []);
    assert_eq!(verified(store, "s").await, []);

    let erased = store.erased().await.expect("the store can be read");
    let [chain] = &erased[..] else { panic!("one chain stays: {erased:?}") };
    assert_eq!((&chain.by, chain.at, chain.calls, chain.messages), (&None, at(9), 1, 1));
    assert_eq!(chain.hashes, links.iter().map(|link| link.hash).collect::<Vec<_>>());
    assert_eq!((chain.head(), chain.vouched_for(&links[1].hash)), (end.head, Some(2)));
    assert_eq!(chain.check(store.keys()), Ok(()));

    written(store, &[opened("s", "lee"), began("s", 2)]).await;
    let text = ChatMessage { turn: turn(2), ..text(1, "hers") };
    written(store, &[says("s", &text), step("s", 1, 5, proposed_in(2, 2))]).await;
    assert_eq!(texts(store, "s").await, ["hers"]);
    assert_eq!(verified(store, "s").await.len(), 1);
}

/// The user's other sessions stay as they were, and so does the room that they take. What stays of
/// the deleted one takes room, too.
pub async fn a_deletion_leaves_all_other_sessions_as_they_were(store: &dyn Store) {
    let begins = |number, max| {
        let mut turn = began("t", number);
        if let Write::TurnStarted { max_stored_bytes, .. } = &mut turn {
            *max_stored_bytes = max;
        }
        turn
    };
    written(store, &[opened("t", "kim")]).await;
    an_ended_chat(store, "s", 1).await;
    let full = write_as_it_is(store, &[begins(2, 0)]).await;
    assert!(matches!(full, Err(StoreError::TooMuchStored)), "{full:?}");
    let of_one = erased_bytes(3);
    written(store, &[deleted("s", "kim")]).await;
    let full = write_as_it_is(store, &[begins(2, of_one - 1)]).await;
    assert!(matches!(full, Err(StoreError::TooMuchStored)), "{full:?}");
    written(store, &[begins(2, of_one), ended("t", 2)]).await;
    an_ended_chat(store, "s", 1).await;
    an_ended_chat(store, "u", 4).await;
    let before = store.session(&session("u")).await.expect("the store can be read");
    let chain = verified(store, "u").await;
    written(store, &[deleted("s", "kim")]).await;
    assert_eq!(store.session(&session("u")).await.expect("the store can be read"), before);
    assert_eq!(verified(store, "u").await, chain);
    let full = write_as_it_is(store, &[begins(3, 3 * of_one)]).await;
    assert!(matches!(full, Err(StoreError::TooMuchStored)), "{full:?}");
    written(store, &[deleted("u", "kim"), begins(3, 3 * of_one)]).await;
}

/// Only the session's user deletes it, and only after every turn and call of it has ended.
pub async fn a_session_is_deleted_by_its_user_after_all_of_it_has_ended(store: &dyn Store) {
    chat(store, "s").await;
    written(store, &[says("s", &text(2, "hi")), step("s", 1, 5, proposed(1))]).await;
    refused(store, &[deleted("s", "kim")]).await;
    written(store, &[ended("s", 1)]).await;
    refused(store, &[deleted("s", "kim")]).await;
    written(store, &[step("s", 1, 5, running(7))]).await;
    written(store, &[step("s", 1, 5, Transition::Ended(ok("done")))]).await;
    for (name, owner) in [("s", "lee"), ("nowhere", "kim")] {
        refused(store, &[deleted(name, owner)]).await;
    }
    assert_eq!(texts(store, "s").await, ["add_habit", "hi"]);
    written(store, &[deleted("s", "kim")]).await;
    refused(store, &[deleted("s", "kim")]).await;
}

/// An undone deletion never was, and what the same transaction writes after a deletion is a new
/// session.
pub async fn a_deletion_is_a_fact_like_any_other_of_its_transaction(store: &dyn Store) {
    an_ended_chat(store, "s", 1).await;
    let before = store.session(&session("s")).await.expect("the store can be read");
    let mut undone = OpenTransaction::begin(store).await;
    undone.part(&[deleted("s", "kim")]).await;
    undone.refuses(&[says("s", &text(3, "more"))]).await;
    undone.undo().await;
    undone.commit().await;
    assert_eq!(store.session(&session("s")).await.expect("the store can be read"), before);
    assert_eq!(store.erased().await.expect("the store can be read"), []);

    let mut anew = OpenTransaction::begin(store).await;
    anew.kept(&[deleted("s", "kim")]).await;
    anew.part(&[opened("s", "lee"), began("s", 1), says("s", &text(1, "anew"))]).await;
    anew.write(&[step("s", 1, 5, proposed(2)), step("s", 1, 5, running(7))]).await;
    anew.write(&[step("s", 1, 5, Transition::Ended(ok("done"))), ended("s", 1)]).await;
    anew.keep().await;
    anew.commit().await;
    assert_eq!(texts(store, "s").await, ["anew", "add_habit"]);
    assert_eq!(verified(store, "s").await.len(), 3);
    assert_eq!(store.erased().await.expect("the store can be read").len(), 1);
}
