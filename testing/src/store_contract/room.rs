//! Promises about the bytes stored of a user.

use super::facts::{
    OpenTransaction, answer, at, began, ended, ok, opened, proposed, running, says, step, stored,
    submitted, text, user, write, write_as_it_is, written,
};
use madang_actors::{
    ledger::Transition,
    port::{Forget, Store, StoreError, Write, stored_bytes, stored_turn_bytes},
    protocol::TurnOptions,
};

/// Makes a turn that begins only if no more than this is stored of its user.
fn bounded(name: &str, number: u128, max_stored_bytes: u64) -> Write {
    bounded_with(name, number, max_stored_bytes, TurnOptions::default())
}

fn bounded_with(name: &str, number: u128, max: u64, options: TurnOptions) -> Write {
    let mut turn = submitted(name, number, options, "hi");
    if let Write::TurnStarted { max_stored_bytes, .. } = &mut turn {
        *max_stored_bytes = max;
    }
    turn
}

/// Writes kim's two sessions, without an open turn, and returns the bytes stored.
async fn two_chats(store: &dyn Store) -> u64 {
    let said = text(1, "수면 \"일기\" 🙂");
    let answered = answer(3, "a");
    let steps = [proposed(2), running(7), Transition::Ended(ok("it is done"))];
    let [first, second, third] = steps.clone().map(|transition| step("s", 1, 5, transition));
    let again = third.clone();
    written(store, &[opened("s", "kim"), began("s", 1), says("s", &said)]).await;
    written(store, &[first, second, third, again, says("s", &answered), ended("s", 1)]).await;
    written(store, &[opened("t", "kim"), began("t", 1), says("t", &said), ended("t", 1)]).await;
    let messages = [&said, &answered, &said].map(|message| stored_bytes(&message.content));
    messages.into_iter().chain(steps.iter().map(stored_bytes)).sum()
}

async fn is_full(store: &dyn Store, turn: Write) -> bool {
    match write_as_it_is(store, &[turn]).await {
        Ok(()) => false,
        Err(StoreError::TooMuchStored) => true,
        Err(error) => panic!("no refusal of this kind: {error:?}"),
    }
}

/// A turn begins only if no more is stored of its user than it allows. All sessions of that user
/// count, and no others.
pub async fn a_turn_begins_where_no_more_is_stored_of_its_user_than_it_says(store: &dyn Store) {
    let stored = two_chats(store).await;
    for name in ["s", "t"] {
        assert!(is_full(store, bounded(name, 2, stored - 1)).await, "{name}: of {stored} bytes");
    }
    for before in [ended("s", 9), says("s", &text(1, "its number is taken"))] {
        let told = write_as_it_is(store, &[before, bounded("s", 2, stored - 1)]).await;
        assert!(matches!(told, Err(StoreError::Refused { .. })), "it is refused first: {told:?}");
    }
    written(store, &[opened("u", "lee")]).await;
    assert!(!is_full(store, bounded("u", 2, 0)).await, "lee has nothing stored");
    assert!(!is_full(store, bounded("t", 2, stored)).await);
    written(store, &[says("t", &text(2, "more")), ended("t", 2)]).await;
    assert!(is_full(store, bounded("s", 2, stored)).await, "what is written since counts");
}

/// The instructions of a turn count from its beginning on, and those of a refused turn do not.
pub async fn the_instructions_of_a_turn_are_counted(store: &dyn Store) {
    let stored = two_chats(store).await;
    let options = TurnOptions {
        instructions: Some("\"예\" 🙂\n".repeat(99).into()),
        ..TurnOptions::default()
    };
    let bytes = stored_turn_bytes(&options);
    assert!(bytes > 99 * 12, "{bytes}");
    let begins = |max| bounded_with("s", 2, max, options.clone());
    assert!(is_full(store, begins(stored - 1)).await);
    assert!(!is_full(store, begins(stored)).await, "what was refused is not counted");
    written(store, &[ended("s", 2)]).await;
    assert!(is_full(store, bounded("s", 3, stored + bytes - 1)).await);
    assert!(!is_full(store, bounded("s", 3, stored + bytes)).await);
}

/// Refused or undone facts are not counted, and a refused turn can begin once there is room.
pub async fn undone_facts_take_no_room(store: &dyn Store) {
    let bytes = two_chats(store).await;
    let mut undone = OpenTransaction::begin(store).await;
    undone.part(&[bounded("s", 2, bytes), says("s", &text(4, "undone"))]).await;
    undone.undo().await;
    undone.commit().await;
    let refused = [bounded("s", 2, bytes), says("s", &text(4, "a")), says("s", &text(4, "b"))];
    assert!(write(store, &refused).await.is_err(), "a number is taken once");
    assert!(is_full(store, bounded("s", 2, bytes - 1)).await);
    assert!(!is_full(store, bounded("s", 2, bytes)).await);
    assert_eq!(stored(store, "s").await.messages.len(), 3);
}

/// A forgotten user can begin again.
pub async fn a_forgotten_user_has_room_again(store: &dyn Store) {
    two_chats(store).await;
    let order = Forget { user: user("kim"), by: user("root"), at: at(9), tables: Vec::new() };
    store.forget(&order).await.expect("the store forgets");
    written(store, &[opened("s", "kim")]).await;
    assert!(!is_full(store, bounded("s", 1, 0)).await);
}
