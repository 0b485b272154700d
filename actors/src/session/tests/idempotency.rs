//! One turn for each idempotency key, whenever the store answers.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::by_hand;
use crate::{
    ledger::text_digest,
    port::SubmittedTurn,
    protocol::{Bound, IdempotencyKey, TurnId, TurnOptions},
    session::{Error, SessionMsg, SessionRequest, SessionSlot, TurnEnd, request::TurnRequest},
    test_runtime::{TestRuntime, in_time, kim},
};

type Began = oneshot::Receiver<Result<TurnId, Error>>;

fn submit(runtime: &TestRuntime, slot: &Arc<SessionSlot>) -> (Began, oneshot::Receiver<TurnEnd>) {
    submit_under(runtime, slot, "1", "go")
}

fn submit_under(
    runtime: &TestRuntime,
    slot: &Arc<SessionSlot>,
    key: &str,
    text: &str,
) -> (Began, oneshot::Receiver<TurnEnd>) {
    let (TurnRequest { text, options, bytes, began, ended }, beginning, end) =
        asked(runtime, key, text);
    runtime.send(slot, SessionRequest::Submit(TurnRequest { text, options, bytes, began, ended }));
    (beginning, end)
}

fn asked(
    runtime: &TestRuntime,
    key: &str,
    text: &str,
) -> (TurnRequest, Began, oneshot::Receiver<TurnEnd>) {
    let ((began, beginning), (ended, end)) = (oneshot::channel(), oneshot::channel());
    let options =
        TurnOptions { key: Some(IdempotencyKey::new(key).unwrap()), ..TurnOptions::default() };
    let admission = &runtime.handles.calls.admission;
    let bytes = admission.admit(Bound::QueuedBytes, &kim(), text.len()).unwrap();
    (TurnRequest { text: text.into(), options, bytes, began, ended }, beginning, end)
}

#[tokio::test]
async fn the_same_key_is_the_same_turn_however_late_the_store_answers() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let (first_late, second_late) =
        (runtime.store.answer_about_a_key_late(), runtime.store.answer_about_a_key_late());
    let (first, first_end) = submit(&runtime, &slot);
    let (second, second_end) = submit(&runtime, &slot);
    runtime.state(&slot).await; // both have asked the store, which had no such turn then
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    drop(first_late);
    let turn = in_time(first).await.unwrap().unwrap();
    script.next().await.say("Gone.");
    in_time(first_end).await.unwrap();
    drop(second_late);
    assert_eq!(in_time(second).await.unwrap().unwrap(), turn);
    assert_eq!(in_time(second_end).await.unwrap().turn, turn);
    assert!(script.try_next().is_none(), "nothing is done twice");
}

#[tokio::test]
async fn submitted_again_while_it_runs_a_turn_is_joined_and_another_text_is_refused() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let (first, first_end) = submit(&runtime, &slot);
    let turn = in_time(first).await.unwrap().unwrap();
    let completion = script.next().await;
    let (again, again_end) = submit(&runtime, &slot);
    assert_eq!(in_time(again).await.unwrap().unwrap(), turn);
    let (other, _) = submit_under(&runtime, &slot, "1", "something else");
    assert!(matches!(in_time(other).await.unwrap(), Err(Error::OtherText)));
    completion.say("Gone.");
    let end = in_time(first_end).await.unwrap();
    assert_eq!(in_time(again_end).await.unwrap(), end);
    assert!(script.try_next().is_none(), "nothing is done twice");
}

#[tokio::test]
async fn a_turn_submitted_again_after_its_end_tells_that_end_and_another_text_is_refused() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let (first, first_end) = submit(&runtime, &slot);
    let turn = in_time(first).await.unwrap().unwrap();
    script.next().await.say("Gone.");
    let end = in_time(first_end).await.unwrap();
    let (again, again_end) = submit(&runtime, &slot);
    assert_eq!(in_time(again).await.unwrap().unwrap(), turn);
    assert_eq!(in_time(again_end).await.unwrap(), end);
    let (other, _) = submit_under(&runtime, &slot, "1", "something else");
    assert!(matches!(in_time(other).await.unwrap(), Err(Error::OtherText)));
    assert!(script.try_next().is_none(), "nothing is done twice");

    let (next, _next_end) = submit_under(&runtime, &slot, "2", "go");
    let completion = script.next().await;
    assert_ne!(in_time(next).await.unwrap().unwrap(), turn, "another key is another turn");
    let (refused, _) = submit_under(&runtime, &slot, "3", "go");
    let refused = in_time(refused).await.unwrap();
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    completion.say("Gone again.");
}

#[tokio::test]
async fn a_key_that_was_looked_up_while_another_turn_began_and_ended_is_looked_up_again() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let late = runtime.store.answer_about_a_key_late();
    let (waiting, waiting_end) = submit(&runtime, &slot);
    runtime.state(&slot).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    // The same key, asked later and answered at once: it is the one that begins, and has ended by
    // now.
    let (first, first_end) = submit(&runtime, &slot);
    let turn = in_time(first).await.unwrap().unwrap();
    script.next().await.say("Gone.");
    let end = in_time(first_end).await.unwrap();
    drop(late);
    assert_eq!(in_time(waiting).await.unwrap().unwrap(), turn);
    assert_eq!(in_time(waiting_end).await.unwrap(), end);
    assert!(script.try_next().is_none(), "nothing is done twice");
}

#[tokio::test]
async fn a_session_sleeps_when_every_key_that_it_looked_up_has_its_answer() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let sleeps = || {
        let (reply, heard) = oneshot::channel();
        slot.awake().unwrap().cast(SessionMsg::Sleep { reply }).unwrap();
        in_time(heard)
    };
    let late = runtime.store.answer_about_a_key_late();
    let (first, first_end) = submit(&runtime, &slot);
    runtime.state(&slot).await;
    sleeps().await.unwrap();
    assert!(slot.awake().is_some(), "it waits for an answer");
    drop(late);
    in_time(first).await.unwrap().unwrap();
    script.next().await.say("Gone.");
    in_time(first_end).await.unwrap();
    sleeps().await.unwrap();
    assert!(slot.awake().is_none());
}

#[tokio::test]
async fn a_turn_that_ended_since_the_store_was_asked_is_looked_up_again_unless_all_ends() {
    let mut held = Vec::new();
    for closes in [false, true] {
        let (runtime, mut script) = by_hand([]).await;
        let slot = runtime.slot("s").await;
        let (first, first_end) = submit(&runtime, &slot);
        let turn = in_time(first).await.unwrap().unwrap();
        script.next().await.say("Gone.");
        let end = in_time(first_end).await.unwrap();
        // One key is being looked up, and this is what the store said of it while the turn ran.
        held.push(runtime.store.answer_about_a_key_late());
        submit_is_looked_up(&runtime, &slot).await;
        let open = SubmittedTurn { turn, text: text_digest("go"), end: None };
        let (asked, began, ended) = asked(&runtime, "1", "go");
        let asked = Box::new(asked);
        if closes {
            runtime.context.closing.cancel();
        }
        let said = SessionMsg::LookedUp { asked, found: Ok(Some(open)), turns_begun: 1 };
        slot.awake().unwrap().cast(said).unwrap();
        if closes {
            let refused = in_time(began).await.unwrap();
            assert!(matches!(refused, Err(Error::Closed)), "{refused:?}");
        } else {
            assert_eq!(in_time(began).await.unwrap().unwrap(), turn);
            assert_eq!(in_time(ended).await.unwrap(), end);
        }
    }
}

/// Submits under another key, and waits until the store is asked about it, which answers late.
async fn submit_is_looked_up(runtime: &TestRuntime, slot: &Arc<SessionSlot>) {
    let _ = submit_under(runtime, slot, "2", "go");
    runtime.state(slot).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}
