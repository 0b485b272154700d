//! The calls that have a key and begin or run in this process: one caller at a time begins the call
//! of a key.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, Weak},
};

use crate::protocol::CallId;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncGuard};

/// The calls with a key, by their ids. `C` is a call that runs.
///
/// Invariant: an entry exists as long as a caller begins its call, or the call or a handle of it
/// lives.
#[derive(Debug)]
pub(super) struct KeyedCalls<C>(Arc<Entries<C>>);

#[derive(Debug)]
struct Entries<C>(Mutex<HashMap<CallId, Weak<KeyedCall<C>>>>);

/// The entry of one key. Its last holder removes it.
#[derive(Debug)]
pub(super) struct KeyedCall<C> {
    call: CallId,
    all: Arc<Entries<C>>,
    running: AsyncMutex<Weak<C>>,
}

impl<C> KeyedCalls<C> {
    /// Finds or makes the entry of this call.
    pub(super) fn entry(&self, call: CallId) -> Arc<KeyedCall<C>> {
        let mut entries = self.0.entries();
        if let Some(found) = entries.get(&call).and_then(Weak::upgrade) {
            return found;
        }
        let all = self.0.clone();
        let running = AsyncMutex::default();
        let entry = Arc::new(KeyedCall { call, all, running });
        entries.insert(call, Arc::downgrade(&entry));
        entry
    }

    /// Counts the entries.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.entries().len()
    }
}

impl<C> KeyedCall<C> {
    /// Waits until no other caller begins the call, and returns the call that runs, if there is
    /// one. As long as the guard is held, no other caller begins it.
    pub(super) async fn running(&self) -> AsyncGuard<'_, Weak<C>> {
        self.running.lock().await
    }
}

impl<C> Entries<C> {
    fn entries(&self) -> MutexGuard<'_, HashMap<CallId, Weak<KeyedCall<C>>>> {
        self.0.lock().expect("no code under this lock panics")
    }
}

impl<C> Default for KeyedCalls<C> {
    fn default() -> Self {
        Self(Arc::new(Entries(Mutex::default())))
    }
}

impl<C> Drop for KeyedCall<C> {
    fn drop(&mut self) {
        let mut entries = self.all.entries();
        // Another caller may have made a new entry since the last holder of this one left.
        if entries.get(&self.call).is_some_and(|entry| entry.strong_count() == 0) {
            entries.remove(&self.call);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn an_entry_is_shared_while_it_has_a_holder_and_then_gone() {
        let calls = KeyedCalls::<u8>::default();
        let id = CallId::new(Uuid::from_u128(1));
        let first = calls.entry(id);
        let second = calls.entry(id);
        assert!(Arc::ptr_eq(&first, &second));
        let running = Arc::new(7);
        *first.running().await = Arc::downgrade(&running);
        assert_eq!(second.running().await.upgrade().as_deref(), Some(&7));
        drop((first, running));
        assert!(second.running().await.upgrade().is_none(), "the call is not kept by its entry");
        assert_eq!(calls.len(), 1);
        drop(second);
        assert_eq!(calls.len(), 0);
    }

    #[tokio::test]
    async fn a_second_caller_waits_until_the_first_has_begun_or_given_up() {
        let calls = KeyedCalls::<u8>::default();
        let id = CallId::new(Uuid::from_u128(1));
        let entry = calls.entry(id);
        let begins = entry.running().await;
        let waits = tokio::spawn({
            let entry = calls.entry(id);
            async move { entry.running().await.upgrade().map(|running| *running) }
        });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        let running = Arc::new(7);
        let mut begins = begins;
        *begins = Arc::downgrade(&running);
        drop(begins);
        assert_eq!(waits.await.unwrap(), Some(7));
    }
}
