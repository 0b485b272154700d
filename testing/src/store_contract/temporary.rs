//! Promises about temporary chats, whose texts are erased.

use super::facts::{
    OpenTransaction, at, began, ended_behind, ok, opened, proposed, refused, running, says,
    session, step, stored, submitted, text, texts, turn, user, verified, write_as_it_is, written,
};
use madang_actors::{
    ledger::Transition,
    port::{
        LedgerFilter, PartSize, SessionPage, SessionTitle, Store, StoreError, TemporaryChat, Write,
    },
    protocol::{ChatMessage, EventCursor, TurnOptions},
};

fn temporary(name: &str) -> Write {
    Write::Temporary { session: session(name) }
}

fn erased(name: &str) -> Write {
    Write::Erased { session: session(name) }
}

fn text_in(number: u128, seq: u64, words: &str) -> ChatMessage {
    ChatMessage { turn: turn(number), ..text(seq, words) }
}

/// Writes a temporary chat with a text, an ended call and instructions.
async fn a_temporary_chat(store: &dyn Store) {
    let options = TurnOptions { instructions: Some("be brief".into()), ..TurnOptions::default() };
    let steps = [proposed(2), running(7), Transition::Ended(ok("done"))];
    let [first, second, third] = steps.map(|transition| step("s", 1, 5, transition));
    written(store, &[opened("s", "kim"), temporary("s"), submitted("s", 1, options, "hi")]).await;
    written(store, &[says("s", &text(1, "a secret")), first, second, third]).await;
    written(store, &[says("s", &text(3, "another")), ended_behind("s", 1, 3)]).await;
}

async fn temporary_chats(store: &dyn Store) -> Vec<TemporaryChat> {
    store.temporary(9).await.expect("the store lists them")
}

/// Erased texts are read nowhere, the ledger stays, and the chat goes on after them.
pub async fn the_texts_of_a_temporary_chat_are_erased_and_its_ledger_stays(store: &dyn Store) {
    a_temporary_chat(store).await;
    let chain = verified(store, "s").await;
    written(store, &[erased("s")]).await;
    let chat = stored(store, "s").await;
    assert_eq!((chat.messages.len(), chat.row.last_seq, chat.open_turn), (0, 3, None));
    let size = PartSize { numbers: 9, bytes: 9_999 };
    let part = store.transcript(&session("s"), 1, size).await.expect("the store reads");
    assert!(part.entries.is_empty() && part.next.is_none(), "{part:?}");
    let listed = store.sessions(&user("kim"), &SessionPage::of(9).expect("nine are allowed")).await;
    assert_eq!(listed.expect("the store lists"), []);
    let told = store.turn(&session("s"), turn(1)).await;
    assert_eq!(told.expect("the store reads").expect("it has begun").first, 0);
    assert_eq!(verified(store, "s").await, chain);
    let all = LedgerFilter::default().in_session(&session("s"));
    assert_eq!(store.calls(&all).await.expect("the store reads").len(), 1);
    written(store, &[began("s", 2), says("s", &text_in(2, 4, "anew")), ended_behind("s", 2, 4)])
        .await;
    assert_eq!(texts(store, "s").await, ["anew"]);
    let listed = store
        .sessions(&user("kim"), &SessionPage::of(9).expect("nine are allowed"))
        .await
        .expect("it lists");
    let [listed] = &*listed else { panic!("{listed:?}") };
    assert_eq!((&*listed.title, listed.last), ("anew", EventCursor::of_entry(4).end()));
}

/// No more temporary chats are listed than are asked for, and the others come once those are
/// erased.
pub async fn temporary_chats_are_listed_in_parts(store: &dyn Store) {
    for name in ["a", "b", "c"] {
        written(store, &[opened(name, "kim"), temporary(name), began(name, 1)]).await;
        written(store, &[says(name, &text(1, "hi")), ended_behind(name, 1, 1)]).await;
    }
    let mut parts = Vec::new();
    loop {
        let part = store.temporary(2).await.expect("the store lists them");
        if part.is_empty() {
            break;
        }
        for chat in &part {
            written(store, &[erased(chat.session.as_str())]).await;
        }
        parts.push(part.len());
    }
    assert_eq!(parts, [2, 1]);
}

/// A chat is listed as temporary as long as it has a text, and again after a later one.
pub async fn a_temporary_chat_is_listed_while_it_has_a_text(store: &dyn Store) {
    written(store, &[opened("s", "kim"), temporary("s"), opened("t", "kim"), began("t", 1)]).await;
    written(store, &[says("t", &text(1, "kept"))]).await;
    assert_eq!(temporary_chats(store).await, []);
    let chat = TemporaryChat { session: session("s"), user: user("kim") };
    for (number, seq) in [(1, 1), (2, 2)] {
        written(
            store,
            &[temporary("s"), began("s", number), says("s", &text_in(number, seq, "hi"))],
        )
        .await;
        assert_eq!(temporary_chats(store).await, std::slice::from_ref(&chat));
        written(store, &[ended_behind("s", number, seq), erased("s"), erased("s")]).await;
        assert_eq!(temporary_chats(store).await, []);
    }
    assert_eq!(stored(store, "s").await.row.last_seq, 2);
}

/// A title is a text: it is erased with the others, also where there is no other.
pub async fn the_title_of_a_temporary_chat_is_erased(store: &dyn Store) {
    let title = SessionTitle::new("a secret").ok();
    let titled = Write::Titled { session: session("s"), user: user("kim"), title };
    written(store, &[opened("s", "kim"), temporary("s"), titled]).await;
    let chat = TemporaryChat { session: session("s"), user: user("kim") };
    assert_eq!(temporary_chats(store).await, [chat]);
    written(store, &[erased("s")]).await;
    assert_eq!(temporary_chats(store).await, []);
    written(store, &[began("s", 1), says("s", &text(1, "hi"))]).await;
    let listed = store.summary(&user("kim"), &session("s")).await.expect("the store can be read");
    assert_eq!(listed.expect("it has a text").title, "hi");
}

/// No other chat is erased, and none is whose erasure was undone.
pub async fn only_a_temporary_chat_is_erased(store: &dyn Store) {
    written(store, &[opened("t", "kim"), began("t", 1), says("t", &text(1, "kept"))]).await;
    for name in ["t", "nowhere"] {
        refused(store, &[erased(name)]).await;
    }
    assert_eq!(texts(store, "t").await, ["kept"]);
    a_temporary_chat(store).await;
    let mut undone = OpenTransaction::begin(store).await;
    undone.part(&[erased("s")]).await;
    undone.undo().await;
    undone.commit().await;
    assert_eq!(stored(store, "s").await.messages.len(), 3);
    refused(store, &[temporary("nowhere")]).await;
}

/// What is erased takes no room.
pub async fn erased_texts_are_not_counted(store: &dyn Store) {
    let begins = |number, max| {
        let mut turn = began("s", number);
        if let Write::TurnStarted { max_stored_bytes, .. } = &mut turn {
            *max_stored_bytes = max;
        }
        turn
    };
    written(store, &[opened("s", "kim"), temporary("s")]).await;
    let options = TurnOptions { instructions: Some("be brief".into()), ..TurnOptions::default() };
    written(store, &[submitted("s", 1, options, "hi"), says("s", &text(1, "hi"))]).await;
    written(store, &[ended_behind("s", 1, 1)]).await;
    let full = write_as_it_is(store, &[begins(2, 0)]).await;
    assert!(matches!(full, Err(StoreError::TooMuchStored)), "{full:?} at {:?}", at(1));
    written(store, &[erased("s"), begins(2, 0)]).await;
}
