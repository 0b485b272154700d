//! What surfaces remember between requests: the chats that end at a chain, the tries of a request, and the forks of a
//! chat.
//!
//! Clients of this protocol send a request again by themselves when its connection breaks, without an idempotency key.
//! A try is therefore stored before its turn begins. The next try with the same body, or under the client's own key,
//! finds the chat and the key of the turn. The store of chats makes one turn of both.

use std::{
    fmt,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use madang::{IdempotencyKey, SessionId, Timestamp, UserId, approval::Digest, tool::BoxFuture};

use super::newest::Newest;

/// The time in which a repeated request without a key is taken for another try of the same. No client tries for longer.
pub(crate) const TRY_LIFE: Duration = Duration::from_secs(10 * 60);
/// Chats of one chain, and forks of one chat, that are looked at: a text that was sent often ends in many.
pub(crate) const MAX_CANDIDATES: usize = 8;

/// A try that was remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The chat that the try began.
    pub session: SessionId,
    /// The key of its turn.
    pub key: IdempotencyKey,
    /// The last moment at which it counts; `None` where it has none. Of those a memory may keep each user's newest alone.
    pub until: Option<Timestamp>,
}

impl Tried {
    /// Tells whether the try counts at this moment.
    #[must_use]
    pub fn counts(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now <= until)
    }
}

/// Tells that what clients without a chat's name said could not be looked up or stored.
#[derive(Debug, thiserror::Error)]
#[error("failed to {doing}")]
pub struct MemoryError {
    pub(crate) doing: &'static str,
    #[source]
    pub(crate) cause: Box<dyn std::error::Error + Send + Sync>,
}

/// What a memory gives, once it has it.
pub type Recalled<'a, T> = BoxFuture<'a, Result<T, MemoryError>>;

/// Remembers for clients that name no chat. Each method is one step: it happens or it does not.
pub trait ClientMemory: fmt::Debug + Send + Sync + 'static {
    /// Gives the chats of the user that ended at this chain, the latest first.
    fn chats(&self, user: UserId, chain: Digest) -> Recalled<'_, Vec<SessionId>>;

    /// Stores that a chat of the user ends at this chain.
    fn add_chat(
        &self,
        user: UserId,
        chain: Digest,
        session: SessionId,
        at: Timestamp,
    ) -> Recalled<'_, ()>;

    /// Gives the try of this name, if one was stored that counts at this moment. The name is the digest of a key or body.
    fn tried(&self, user: UserId, name: Digest, now: Timestamp) -> Recalled<'_, Option<Tried>>;

    /// Stores this try unless the name has another that counts now, and gives the one that the name has then. It takes
    /// the place of `put_off`. Of requests that come at once, all are given the same try.
    fn claim_try(
        &self,
        user: UserId,
        name: Digest,
        tried: Tried,
        put_off: Option<Tried>,
        now: Timestamp,
    ) -> Recalled<'_, Tried>;

    /// Stores the try of this name in place of an earlier one. Others that no longer count now may be removed.
    fn add_try(&self, user: UserId, name: Digest, tried: Tried, now: Timestamp)
    -> Recalled<'_, ()>;

    /// Gives the forks of a chat of the user, the last that was added first.
    fn forks(&self, user: UserId, chat: SessionId) -> Recalled<'_, Vec<SessionId>>;

    /// Stores that a fork is the newest of a chat. It counts for ever; of those before it a few may be kept.
    fn add_fork(&self, user: UserId, chat: SessionId, fork: SessionId) -> Recalled<'_, ()>;
}

/// Remembers in memory, for stores that keep nothing else: what it knows ends with the process. Of each kind 65,536 entries
/// are kept. Beyond them, the user with the most loses the oldest.
#[derive(Debug, Default)]
pub struct ForgetfulMemory(Mutex<Remembered>);

#[derive(Debug)]
struct Remembered {
    chats: Newest<Digest, Vec<SessionId>>,
    tries: Newest<Digest, Tried>,
    forks: Newest<SessionId, Vec<SessionId>>,
}

/// Entries of each kind that are kept of all users together, so that no client fills the memory.
const MAX_ENTRIES: usize = 65_536;

impl Default for Remembered {
    fn default() -> Self {
        Self {
            chats: Newest::new(MAX_ENTRIES),
            tries: Newest::new(MAX_ENTRIES),
            forks: Newest::new(MAX_ENTRIES),
        }
    }
}

/// Puts a chat before all others of this name. As many are kept as are looked at.
fn put_first<K: Eq + Hash>(
    all: &mut Newest<K, Vec<SessionId>>,
    user: UserId,
    name: K,
    chat: SessionId,
) {
    let mut chats = all.get(&user, &name).cloned().unwrap_or_default();
    chats.retain(|other| *other != chat);
    chats.insert(0, chat);
    chats.truncate(MAX_CANDIDATES);
    all.put(user, name, chats);
}

impl ForgetfulMemory {
    fn with<T: Send + 'static>(&self, look: impl FnOnce(&mut Remembered) -> T) -> Recalled<'_, T> {
        let found = look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Box::pin(std::future::ready(Ok(found)))
    }
}

impl ClientMemory for ForgetfulMemory {
    fn chats(&self, user: UserId, chain: Digest) -> Recalled<'_, Vec<SessionId>> {
        self.with(|all| all.chats.get(&user, &chain).cloned().unwrap_or_default())
    }

    fn add_chat(
        &self,
        user: UserId,
        chain: Digest,
        session: SessionId,
        _: Timestamp,
    ) -> Recalled<'_, ()> {
        self.with(|all| put_first(&mut all.chats, user, chain, session))
    }

    fn tried(&self, user: UserId, name: Digest, now: Timestamp) -> Recalled<'_, Option<Tried>> {
        self.with(|all| all.tries.get(&user, &name).filter(|tried| tried.counts(now)).cloned())
    }

    fn claim_try(
        &self,
        user: UserId,
        name: Digest,
        tried: Tried,
        put_off: Option<Tried>,
        now: Timestamp,
    ) -> Recalled<'_, Tried> {
        self.with(|all| {
            let first = all.tries.get(&user, &name);
            if let Some(first) =
                first.filter(|first| first.counts(now) && put_off.as_ref() != Some(first))
            {
                return first.clone();
            }
            all.tries.put(user, name, tried.clone());
            tried
        })
    }

    fn add_try(&self, user: UserId, name: Digest, tried: Tried, _: Timestamp) -> Recalled<'_, ()> {
        self.with(|all| all.tries.put(user, name, tried))
    }

    fn forks(&self, user: UserId, chat: SessionId) -> Recalled<'_, Vec<SessionId>> {
        self.with(|all| all.forks.get(&user, &chat).cloned().unwrap_or_default())
    }

    fn add_fork(&self, user: UserId, chat: SessionId, fork: SessionId) -> Recalled<'_, ()> {
        self.with(|all| put_first(&mut all.forks, user, chat, fork))
    }
}
