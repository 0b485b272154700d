//! One turn for each idempotency key, whenever the store answers.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::by_hand;
use crate::{
    protocol::{Asker, Bound, IdempotencyKey, Locale, TurnId, TurnOptions},
    session::{Door, SessionMsg, TurnEnd, TurnRefused},
    testing::yard::{Yard, in_time},
};

type Began = oneshot::Receiver<Result<TurnId, TurnRefused>>;

fn submit(yard: &Yard, door: &Arc<Door>) -> (Began, oneshot::Receiver<TurnEnd>) {
    let ((began, beginning), (ended, end)) = (oneshot::channel(), oneshot::channel());
    let options = TurnOptions {
        asker: Asker::Person,
        locale: Locale::En,
        key: Some(IdempotencyKey::new("1").unwrap()),
        ..TurnOptions::default()
    };
    let bytes = yard.tree.around.admission.admit(Bound::QueuedBytes, door.user(), 2).unwrap();
    yard.send(door, SessionMsg::Ask { text: "go".into(), options, bytes, began, ended });
    (beginning, end)
}

#[tokio::test]
async fn the_same_key_is_the_same_turn_however_late_the_store_answers() {
    let (yard, mut script) = by_hand([]).await;
    let door = yard.door("s").await;
    let (first_late, second_late) =
        (yard.store.answer_about_a_key_late(), yard.store.answer_about_a_key_late());
    let (first, first_end) = submit(&yard, &door);
    let (second, second_end) = submit(&yard, &door);
    yard.state(&door).await; // both have asked the store, which had no such turn then
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
