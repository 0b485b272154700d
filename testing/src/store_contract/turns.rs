//! Promises about open turns.

use super::facts::{
    began, chat, ended, ended_with, opened, proposed, refused, says, session, step, stored,
    submitted, text, turn, turn_step, user, written,
};
use madang_actors::{
    ledger::text_digest,
    port::{InterruptedSession, OpenTurn, Store, StoredEnd, StoredTurn, SubmittedTurn, TurnStep},
    protocol::{ChatMessage, IdempotencyKey, OnDismiss, TurnEnding, TurnError, TurnOptions, Usage},
};

fn keyed(key: &str) -> TurnOptions {
    let key = Some(IdempotencyKey::new(key).expect("a short key"));
    TurnOptions { key, ..TurnOptions::default() }
}

const SPENT: Usage = Usage { prompt_tokens: 7, cached_tokens: 2, completion_tokens: 5 };

fn failed() -> StoredEnd {
    let error = Some(TurnError::model("Offline"));
    StoredEnd { ending: TurnEnding::Failed, error, usage: SPENT }
}

fn called(round: u32, from: u64) -> TurnStep {
    TurnStep::Called { round, from, usage: SPENT }
}

/// A second turn is refused while one is open, even within one transaction.
pub async fn a_session_is_in_one_turn_at_a_time(store: &dyn Store) {
    chat(store, "s").await;
    refused(store, &[began("s", 2)]).await;
    refused(store, &[ended("s", 1), began("s", 2), began("s", 3)]).await;
    written(store, &[ended("s", 1), began("s", 2)]).await;
    written(store, &[opened("t", "lee"), began("t", 3)]).await;
    assert_eq!(stored(store, "s").await.open_turn.map(|open| open.turn), Some(turn(2)));
}

/// All state that a turn needs to go on comes back as it was written, step by step.
pub async fn an_open_turn_says_how_far_it_came(store: &dyn Store) {
    let options = TurnOptions {
        on_dismiss: OnDismiss::Finish,
        language: "pt-BR".parse().ok(),
        time_zone: Some("Asia/Seoul".into()),
        instructions: Some("Be brief. \u{1}\n\"예\" 🙂".into()),
        ..keyed("열쇠 🔑")
    };
    written(store, &[opened("s", "kim"), submitted("s", 1, options.clone(), "hi")]).await;
    let mut expected = OpenTurn {
        turn: turn(1),
        options,
        text: text_digest("hi"),
        round: 0,
        from: 0,
        usage: Usage::default(),
        is_dismissed: false,
        resumes: 0,
    };
    let open = async || stored(store, "s").await.open_turn;
    assert_eq!(open().await.as_ref(), Some(&expected));

    written(store, &[turn_step("s", 1, TurnStep::Resumed)]).await;
    written(store, &[turn_step("s", 1, TurnStep::Resumed)]).await;
    expected.resumes = 2;
    assert_eq!(open().await.as_ref(), Some(&expected));

    // A round is progress, so earlier resumes no longer count.
    written(store, &[turn_step("s", 1, called(1, 2)), step("s", 1, 2, proposed(2))]).await;
    (expected.round, expected.from, expected.usage, expected.resumes) = (1, 2, SPENT, 0);
    assert_eq!(open().await.as_ref(), Some(&expected));

    written(store, &[turn_step("s", 1, TurnStep::Resumed)]).await;
    written(store, &[turn_step("s", 1, TurnStep::Suspended)]).await;
    assert_eq!(open().await.as_ref(), Some(&expected));

    written(store, &[turn_step("s", 1, TurnStep::Dismissed)]).await;
    expected.is_dismissed = true;
    assert_eq!(open().await.as_ref(), Some(&expected));
}

/// Rounds come in order, each once, and an ended turn takes no step.
pub async fn a_step_of_a_turn_that_is_not_open_is_refused(store: &dyn Store) {
    chat(store, "s").await;
    refused(store, &[turn_step("s", 1, called(2, 3))]).await;
    written(store, &[turn_step("s", 1, called(1, 3))]).await;
    refused(store, &[turn_step("s", 1, called(1, 3))]).await;
    refused(store, &[turn_step("s", 2, TurnStep::Resumed)]).await;
    written(store, &[ended("s", 1)]).await;
    for late in [called(2, 4), TurnStep::Dismissed, TurnStep::Resumed, TurnStep::Suspended] {
        refused(store, &[turn_step("s", 1, late)]).await;
    }
}

/// A key names one turn of its session for ever, with its end.
pub async fn a_turn_is_found_by_its_key_and_a_key_is_used_once(store: &dyn Store) {
    written(store, &[opened("s", "kim"), opened("t", "lee")]).await;
    let find = async |name: &str, key: &str| {
        let key = IdempotencyKey::new(key).expect("a short key");
        store.submitted(&session(name), &key).await.expect("the store can be read")
    };
    written(store, &[submitted("s", 1, keyed("a"), "hi")]).await;
    let mut expected = SubmittedTurn { turn: turn(1), text: text_digest("hi"), end: None };
    assert_eq!(find("s", "a").await.as_ref(), Some(&expected));
    assert_eq!((find("s", "b").await, find("t", "a").await), (None, None));

    written(store, &[ended_with("s", 1, 1, failed())]).await;
    expected.end = Some(failed());
    assert_eq!(find("s", "a").await.as_ref(), Some(&expected));

    refused(store, &[submitted("s", 2, keyed("a"), "hi")]).await;
    refused(
        store,
        &[submitted("s", 2, keyed("b"), "hi"), ended("s", 2), submitted("s", 3, keyed("b"), "hi")],
    )
    .await;
    written(store, &[submitted("s", 2, keyed("b"), "hi"), submitted("t", 3, keyed("a"), "hi")])
        .await;
    // Any number of turns may have no key.
    written(store, &[ended("s", 2), began("s", 4), ended("s", 4), began("s", 5)]).await;
}

/// A turn of long ago is found by its id, with its first entry and its end. No turn of another
/// session is found.
pub async fn a_turn_is_found_by_its_id_with_its_first_entry_and_its_end(store: &dyn Store) {
    chat(store, "s").await;
    written(store, &[opened("t", "lee")]).await;
    let find = async |name: &str, number| {
        store.turn(&session(name), turn(number)).await.expect("the store can be read")
    };
    assert_eq!(find("s", 1).await, Some(StoredTurn { first: 0, end: None }));
    assert_eq!((find("s", 2).await, find("t", 1).await), (None, None));
    let fails = ended_with("s", 1, 3, failed());
    written(store, &[says("s", &text(3, "hi")), step("s", 1, 2, proposed(2)), fails]).await;
    // Entries of other turns are before and after it.
    let of_turn_2 = |seq| ChatMessage { turn: turn(2), ..text(seq, "again") };
    written(store, &[began("s", 2), says("s", &of_turn_2(1)), says("s", &of_turn_2(4))]).await;
    assert_eq!(find("s", 1).await, Some(StoredTurn { first: 2, end: Some((3, failed())) }));
    assert_eq!(find("s", 2).await, Some(StoredTurn { first: 1, end: None }));
}

/// After a start, each user's session can go on with its interrupted turn.
pub async fn interrupted_sessions_are_those_with_an_open_turn_in_the_order_of_their_beginning(
    store: &dyn Store,
) {
    assert_eq!(store.interrupted().await.expect("the store can be read"), []);
    written(store, &[opened("s", "kim"), opened("t", "lee"), opened("u", "kim")]).await;
    written(store, &[began("s", 3)]).await;
    written(store, &[began("t", 2)]).await;
    written(store, &[began("u", 1), ended("u", 1)]).await;
    let of = |name: &str, owner: &str, number| InterruptedSession {
        session: session(name),
        user: user(owner),
        turn: turn(number),
    };
    let found = store.interrupted().await.expect("the store can be read");
    assert_eq!(found, [of("t", "lee", 2), of("s", "kim", 3)]);
}
