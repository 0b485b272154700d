//! What is remembered for clients that name no chat: tries of a body for minutes, and the newest
//! keys of each user.

use std::time::Duration;

use madang::{
    IdempotencyKey, Runtime, SessionId, Timestamp, UserId, approval::Digest, store::SqliteStore,
};
use madang_server::{ClientMemory, ForgetfulMemory, MIGRATIONS, SqliteMemory, Tried};
use madang_testing::ScriptedModel;

async fn tables(runtime: &Runtime) -> SqliteMemory {
    SqliteMemory::open(runtime.clone()).await.unwrap()
}

fn tried(session: &str, until: Option<Timestamp>) -> Tried {
    let session = SessionId::new(session).unwrap();
    let key = IdempotencyKey::new("turn").unwrap();
    Tried { session, key, until }
}

async fn counts_as_long_as_it_says(memory: &dyn ClientMemory) {
    let kim = UserId::new("kim").unwrap();
    let lee = UserId::new("lee").unwrap();
    let body = Digest::new([1; 32]);
    let key = Digest::new([2; 32]);
    let other = Digest::new([3; 32]);
    let now = Timestamp::from_millis(1_800_000_000_000);
    let soon = now.after(Duration::from_secs(600));
    let years = now.after(Duration::from_secs(10 * 365 * 24 * 60 * 60));
    memory.add_try(kim.clone(), body, tried("a", Some(soon)), now).await.unwrap();
    memory.add_try(kim.clone(), key, tried("b", None), now).await.unwrap();
    let of = async |user: &UserId, name, now| memory.tried(user.clone(), name, now).await.unwrap();
    assert_eq!(of(&kim, body, soon).await, Some(tried("a", Some(soon))));
    assert_eq!(of(&kim, body, soon.after(Duration::from_millis(1))).await, None);
    assert_eq!((of(&lee, body, now).await, of(&lee, key, now).await), (None, None));
    // A try that is stored later removes those that count no more, and no key.
    memory.add_try(lee.clone(), other, tried("c", None), years).await.unwrap();
    assert_eq!(of(&kim, key, years).await, Some(tried("b", None)));
    memory.add_try(kim.clone(), body, tried("d", Some(soon)), now).await.unwrap();
    assert_eq!(of(&kim, body, now).await, Some(tried("d", Some(soon))), "the last one counts");

    let claim = async |name, session: &str, put_off, now| {
        let mine = tried(session, Some(soon));
        memory.claim_try(kim.clone(), name, mine, put_off, now).await.unwrap().session.to_string()
    };
    let free = Digest::new([4; 32]);
    assert_eq!(claim(free, "e", None, now).await, "e");
    assert_eq!(claim(free, "f", None, now).await, "e", "the first one counts");
    assert_eq!(claim(free, "f", Some(tried("x", None)), now).await, "e", "another was put off");
    assert_eq!(claim(free, "f", Some(tried("e", Some(soon))), now).await, "f");
    assert_eq!(claim(free, "g", Some(tried("e", Some(soon))), now).await, "f", "and once");
    assert_eq!(claim(free, "g", None, years).await, "g", "what counts no more is replaced");
    assert_eq!(claim(key, "g", None, years).await, "b", "a key counts for ever");
}

async fn gives_the_forks_of_a_chat_the_newest_first(memory: &dyn ClientMemory) {
    let kim = UserId::new("kim").unwrap();
    let lee = UserId::new("lee").unwrap();
    let id = |name: &str| SessionId::new(name).unwrap();
    let forks = async |user: &UserId, chat: &str| {
        let forks = memory.forks(user.clone(), id(chat)).await.unwrap();
        forks.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for fork in ["a", "b", "a", "c"] {
        memory.add_fork(kim.clone(), id("chat"), id(fork)).await.unwrap();
    }
    memory.add_fork(lee.clone(), id("chat"), id("d")).await.unwrap();
    memory.add_fork(kim.clone(), id("other"), id("e")).await.unwrap();
    assert_eq!(forks(&kim, "chat").await, ["c", "a", "b"]);
    assert_eq!((forks(&lee, "chat").await, forks(&kim, "a").await), (vec!["d".into()], vec![]));
    for number in 0..10 {
        memory.add_fork(kim.clone(), id("chat"), id(&number.to_string())).await.unwrap();
    }
    let kept = forks(&kim, "chat").await;
    assert_eq!((kept.len(), &*kept[0]), (8, "9"), "as many as are looked at");
}

#[tokio::test]
async fn forks_are_kept_in_memory_and_in_the_tables() {
    gives_the_forks_of_a_chat_the_newest_first(&ForgetfulMemory::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("chats.db"));
    let store = store.migrations("server", &MIGRATIONS).await.unwrap();
    let model = ScriptedModel::new([]);
    let runtime = Runtime::builder().model(model).store(store).start().await.unwrap();
    gives_the_forks_of_a_chat_the_newest_first(&tables(&runtime).await).await;
    runtime.shutdown().await.unwrap();
}

async fn forgets_all_that_names_a_deleted_chat(memory: &dyn ClientMemory) {
    let users = [UserId::new("kim").unwrap(), UserId::new("lee").unwrap()];
    let id = |name: &str| SessionId::new(name).unwrap();
    let (chain, gone, kept) = (Digest::new([1; 32]), Digest::new([2; 32]), Digest::new([3; 32]));
    let now = Timestamp::from_millis(1);
    for user in &users {
        for chat in ["gone", "kept"] {
            memory.add_chat(user.clone(), chain, id(chat), now).await.unwrap();
        }
        memory.add_try(user.clone(), gone, tried("gone", None), now).await.unwrap();
        memory.add_try(user.clone(), kept, tried("kept", None), now).await.unwrap();
        for (chat, fork) in [("gone", "kept"), ("kept", "gone"), ("kept", "other")] {
            memory.add_fork(user.clone(), id(chat), id(fork)).await.unwrap();
        }
    }
    let [kim, lee] = users;
    memory.forget_chat(kim.clone(), id("gone")).await.unwrap();
    let known = async |user: &UserId| {
        let mut known = memory.chats(user.clone(), chain).await.unwrap();
        // Both were added at one moment.
        known.sort_by_key(ToString::to_string);
        for name in [gone, kept] {
            let found = memory.tried(user.clone(), name, now).await.unwrap();
            known.extend(found.map(|tried| tried.session));
        }
        for chat in ["gone", "kept"] {
            known.extend(memory.forks(user.clone(), id(chat)).await.unwrap());
        }
        known.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(known(&kim).await, ["kept", "kept", "other"]);
    assert_eq!(known(&lee).await, ["gone", "kept", "gone", "kept", "kept", "other", "gone"]);
}

#[tokio::test]
async fn a_deleted_chat_is_forgotten_in_memory_and_in_the_tables() {
    forgets_all_that_names_a_deleted_chat(&ForgetfulMemory::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("chats.db"));
    let store = store.migrations("server", &MIGRATIONS).await.unwrap();
    let model = ScriptedModel::new([]);
    let runtime = Runtime::builder().model(model).store(store).start().await.unwrap();
    forgets_all_that_names_a_deleted_chat(&tables(&runtime).await).await;
    runtime.shutdown().await.unwrap();
}

/// A key has no last moment, so a client could fill the disk with them.
#[tokio::test]
async fn of_the_keys_of_a_user_the_newest_are_remembered_in_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("chats.db"));
    let store = store.migrations("server", &MIGRATIONS).await.unwrap();
    let builder = Runtime::builder().model(ScriptedModel::new([])).store(store);
    let runtime = builder.start().await.unwrap();
    let memory = tables(&runtime).await.max_keys_per_user(3);
    let kim = UserId::new("kim").unwrap();
    let lee = UserId::new("lee").unwrap();
    let now = Timestamp::from_millis(1);
    let name = |number| Digest::new([number; 32]);
    let body = tried("body", Some(now.after(Duration::from_secs(600))));
    memory.add_try(kim.clone(), name(100), body, now).await.unwrap();
    memory.add_try(lee.clone(), name(101), tried("lee", None), now).await.unwrap();
    for number in 0..5 {
        memory.add_try(kim.clone(), name(number), tried("added", None), now).await.unwrap();
    }
    let kept = async || {
        let mut kept = Vec::new();
        let of_kim = [0, 1, 2, 3, 4, 5, 100].map(|number| (&kim, number));
        for (user, number) in of_kim.into_iter().chain([(&lee, 101)]) {
            let found = memory.tried(user.clone(), name(number), now).await.unwrap();
            kept.extend(found.map(|_| number));
        }
        kept
    };
    assert_eq!(kept().await, [2, 3, 4, 100, 101]);
    let claimed = tried("claimed", None);
    memory.claim_try(kim.clone(), name(5), claimed, None, now).await.unwrap();
    memory.claim_try(kim.clone(), name(3), tried("again", None), None, now).await.unwrap();
    assert_eq!(kept().await, [3, 4, 5, 100, 101]);
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_try_in_memory_counts_as_long_as_it_says() {
    counts_as_long_as_it_says(&ForgetfulMemory::default()).await;
}

#[tokio::test]
async fn a_try_in_the_tables_counts_as_long_as_it_says_and_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let start = async || {
        let store = SqliteStore::open(&path).migrations("server", &MIGRATIONS).await;
        let builder = Runtime::builder().model(ScriptedModel::new([])).store(store.unwrap());
        builder.start().await.unwrap()
    };
    let runtime = start().await;
    counts_as_long_as_it_says(&tables(&runtime).await).await;
    runtime.shutdown().await.unwrap();
    let runtime = start().await;
    let memory = tables(&runtime).await;
    let kim = UserId::new("kim").unwrap();
    let found = memory.tried(kim, Digest::new([2; 32]), Timestamp::from_millis(0)).await;
    assert_eq!(found.unwrap(), Some(tried("b", None)));
    runtime.shutdown().await.unwrap();
}

/// Without this check each request fails, and its client is told to try again.
#[tokio::test]
async fn a_store_without_the_tables_is_refused_before_a_server_is_made_of_it() {
    let store = SqliteStore::in_memory().await.unwrap();
    let builder = Runtime::builder().model(ScriptedModel::new([])).store(store);
    let runtime = builder.start().await.unwrap();
    let refused = SqliteMemory::open(runtime.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("madang_server::MIGRATIONS"), "{refused}");
    runtime.shutdown().await.unwrap();
}
