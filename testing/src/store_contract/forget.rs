//! Promises about forgotten users.

use super::facts::{
    at, began, chat, ok, opened, proposed, proposed_in, refused, running, says, session, step,
    text, user, verified, written,
};
use madang_actors::{
    ledger::{SealError, Transition},
    port::{Forget, ForgetError, Forgotten, LedgerFilter, SessionPage, SessionSummary, Store},
    protocol::Digest,
};

fn order(name: &str) -> Forget {
    Forget { user: user(name), by: user("root"), at: at(9), tables: Vec::new() }
}

/// Lists the user's chats.
async fn chats(store: &dyn Store, owner: &str) -> Vec<SessionSummary> {
    let page = SessionPage::of(SessionPage::MAX_SESSIONS).expect("a page of sessions");
    store.sessions(&user(owner), &page).await.expect("the store can be read")
}

async fn with_a_call(store: &dyn Store) {
    chat(store, "s").await;
    written(
        store,
        &[
            step("s", 1, 5, proposed(1)),
            says("s", &text(2, "a secret")),
            step("s", 1, 5, running(7)),
            step("s", 1, 5, Transition::Ended(ok("a secret"))),
        ],
    )
    .await;
}

/// No row of the user can be read again, and any user may open a session of the same name.
pub async fn a_forgotten_user_leaves_hashes_only(store: &dyn Store) {
    with_a_call(store).await;
    let (links, end) = store.links(&session("s")).await.expect("the store can be read");
    let forgotten = store.forget(&order("kim")).await.expect("the store forgets");
    let messages = forgotten.messages;
    assert_eq!(forgotten, Forgotten { sessions: 1, messages, calls: 1, transitions: 3, rows: 0 });
    assert_eq!(store.owner(&session("s")).await.expect("the store can be read"), None);
    assert_eq!(store.session(&session("s")).await.expect("the store can be read"), None);
    let calls = store.calls(&LedgerFilter::default()).await.expect("the store can be read");
    assert_eq!(calls, []);
    assert_eq!(chats(store, "kim").await, []);

    let erased = store.erased().await.expect("the store can be read");
    let [chain] = &erased[..] else { panic!("one chain stays: {erased:?}") };
    assert_eq!((&chain.by, chain.at, chain.calls), (&Some(user("root")), at(9), 1));
    assert_eq!(chain.messages, messages);
    assert_eq!(chain.hashes, links.iter().map(|link| link.hash).collect::<Vec<_>>());
    assert_eq!((chain.head(), chain.vouched_for(&links[1].hash)), (end.head, Some(2)));
    assert_eq!(chain.check(store.keys()), Ok(()));
    let mut changed = chain.clone();
    changed.hashes[0] = Digest::new([9; 32]);
    assert_eq!(changed.check(store.keys()), Err(SealError::Broken));

    written(store, &[opened("s", "lee"), began("s", 2)]).await;
    assert_eq!(verified(store, "s").await, []);
    let found = store.session(&session("s")).await.expect("the store can be read");
    let found = found.expect("it was opened again");
    assert_eq!((found.row.user, found.messages), (user("lee"), Vec::new()));
    assert_eq!(chats(store, "lee").await, [], "nothing of it is there for the next");
}

/// Another user's sessions, calls and chains stay as they were.
pub async fn other_users_keep_everything(store: &dyn Store) {
    with_a_call(store).await;
    written(store, &[opened("t", "lee"), began("t", 2), step("t", 2, 5, proposed_in(2, 1))]).await;
    let before = store.session(&session("s")).await.expect("the store can be read");
    let chain = verified(store, "s").await;
    let listed = chats(store, "kim").await;
    assert_eq!(listed.len(), 1);
    let forgotten = store.forget(&order("lee")).await.expect("the store forgets");
    assert_eq!((forgotten.sessions, forgotten.calls), (1, 1));
    assert_eq!(store.session(&session("s")).await.expect("the store can be read"), before);
    assert_eq!(chats(store, "kim").await, listed);
    assert_eq!(verified(store, "s").await, chain);
    refused(store, &[opened("s", "lee")]).await;

    let again = store.forget(&order("lee")).await.expect("there is nothing more");
    assert_eq!(again, Forgotten::default());
    assert_eq!(store.erased().await.expect("the store can be read").len(), 1);
}

/// No user is forgotten while a runtime has the store, because it would write back what it keeps in
/// memory.
pub async fn no_user_is_forgotten_while_a_runtime_has_the_store(store: &dyn Store) {
    with_a_call(store).await;
    let Some(occupancy) = store.occupancy() else { return };
    let runtime = occupancy.occupy().expect("the store is free");
    let refusal = store.forget(&order("kim")).await;
    assert!(matches!(refusal, Err(ForgetError::InUse)), "{refusal:?}");
    assert!(store.session(&session("s")).await.expect("the store can be read").is_some());
    drop(runtime);
    assert!(store.forget(&order("kim")).await.is_ok(), "it was given back");
    assert!(occupancy.occupy().is_some(), "forgetting gives it back as well");
}
