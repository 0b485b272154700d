//! Remembers between requests which chats end at a chain, which requests were tried, and which
//! forks a chat has.
//!
//! When its connection breaks, a client of this protocol sends a request again on its own, without
//! an idempotency key. So a try is stored before its turn begins. The next try, with the same body
//! or under the client's own key, finds the chat and the key of the turn. By the key, the store of
//! chats makes one turn of both.

use std::{
    fmt,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use madang::{IdempotencyKey, SessionId, Timestamp, UserId, approval::Digest, tool::BoxFuture};

use super::newest::Newest;

/// How long a repeated request without a key is taken for another try of the same one. No client
/// tries for longer.
pub(crate) const TRY_LIFE: Duration = Duration::from_secs(10 * 60);
/// How many chats of one chain, and forks of one chat, are looked at. A text that was sent often
/// ends in many.
pub(crate) const MAX_CANDIDATES: usize = 8;

/// A try that was remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The chat that the try began.
    pub session: SessionId,
    /// The key of its turn.
    pub key: IdempotencyKey,
    /// The last moment at which it counts, or `None` if it never expires. Of the latter, a memory
    /// may keep only each user's newest ones.
    pub until: Option<Timestamp>,
}

impl Tried {
    /// Returns whether the try counts at this moment.
    #[must_use]
    pub fn counts(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now <= until)
    }
}

/// What clients that name no chat have sent could not be looked up or stored.
#[derive(Debug, thiserror::Error)]
#[error("failed to {doing}")]
pub struct MemoryError {
    pub(crate) doing: &'static str,
    #[source]
    pub(crate) cause: Box<dyn std::error::Error + Send + Sync>,
}

/// The result of a memory, once it has it.
pub type Recalled<'a, T> = BoxFuture<'a, Result<T, MemoryError>>;

/// Remembers for clients that name no chat. Each method is one step, which happens as a whole or
/// not at all.
pub trait ClientMemory: fmt::Debug + Send + Sync + 'static {
    /// Returns the chats of the user that ended at this chain, the latest first.
    fn chats(&self, user: UserId, chain: Digest) -> Recalled<'_, Vec<SessionId>>;

    /// Stores that a chat of the user ends at this chain.
    fn add_chat(
        &self,
        user: UserId,
        chain: Digest,
        session: SessionId,
        at: Timestamp,
    ) -> Recalled<'_, ()>;

    /// Returns the try of this name, or `None` if none was stored that counts at this moment. The
    /// name is the digest of a key or of a body.
    fn tried(&self, user: UserId, name: Digest, now: Timestamp) -> Recalled<'_, Option<Tried>>;

    /// Stores this try unless the name has another one that counts now, and returns the one that
    /// the name has then. The new try takes the place of `put_off`. If requests come at once, all
    /// of them get the same try.
    fn claim_try(
        &self,
        user: UserId,
        name: Digest,
        tried: Tried,
        put_off: Option<Tried>,
        now: Timestamp,
    ) -> Recalled<'_, Tried>;

    /// Stores the try of this name in place of an earlier one. Others that no longer count at `now`
    /// may be removed.
    fn add_try(&self, user: UserId, name: Digest, tried: Tried, now: Timestamp)
    -> Recalled<'_, ()>;

    /// Returns the forks of a chat of the user, the newest first.
    fn forks(&self, user: UserId, chat: SessionId) -> Recalled<'_, Vec<SessionId>>;

    /// Stores that a fork is the newest of a chat. It never expires. A few of the earlier forks may
    /// be kept.
    fn add_fork(&self, user: UserId, chat: SessionId, fork: SessionId) -> Recalled<'_, ()>;

    /// Removes all that names a chat of the user, which was deleted.
    fn forget_chat(&self, user: UserId, chat: SessionId) -> Recalled<'_, ()>;
}

/// Remembers in memory, for stores that keep nothing else. What it knows ends with the process. It
/// keeps 65,536 entries of each kind. Above that, the user with the most entries loses the oldest.
#[derive(Debug, Default)]
pub struct ForgetfulMemory(Mutex<Remembered>);

#[derive(Debug)]
struct Remembered {
    chats: Newest<Digest, Vec<SessionId>>,
    tries: Newest<Digest, Tried>,
    forks: Newest<SessionId, Vec<SessionId>>,
}

/// How many entries of each kind are kept of all users together, so that no client fills the
/// memory.
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

/// Removes a chat from these. Returns whether others are left.
fn without(chats: &mut Vec<SessionId>, chat: &SessionId) -> bool {
    chats.retain(|one| one != chat);
    !chats.is_empty()
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

    fn forget_chat(&self, user: UserId, chat: SessionId) -> Recalled<'_, ()> {
        self.with(|all| {
            all.forks.remove(&user, &chat);
            all.tries.retain(&user, |_, tried| tried.session != chat);
            all.chats.retain(&user, |_, chats| without(chats, &chat));
            all.forks.retain(&user, |_, forks| without(forks, &chat));
        })
    }
}
