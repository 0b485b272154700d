//! Keeps chats that rest in memory, up to a bound in bytes. The chat that has rested longest is
//! forgotten first.

use std::collections::{BTreeMap, HashMap};

use super::scope::Owner;

/// Chats that rest in memory. `S` is the context's part of a chat.
#[derive(Debug)]
pub(super) struct Swapped<T, S> {
    chats: HashMap<Owner, (u64, Chat<T, S>)>,
    /// In the order of their arrival.
    order: BTreeMap<u64, Owner>,
    now: u64,
    bytes: usize,
    max_bytes: usize,
}

/// A chat that rests in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chat<T, S> {
    pub(super) tokens: Vec<T>,
    /// The first token that `state` holds. Those before it are a common beginning in the context.
    pub(super) from: usize,
    pub(super) state: S,
    pub(super) state_bytes: usize,
}

impl<T, S> Chat<T, S> {
    fn bytes(&self) -> usize {
        self.state_bytes + size_of_val(&*self.tokens)
    }
}

impl<T, S> Swapped<T, S> {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { chats: HashMap::new(), order: BTreeMap::new(), now: 0, bytes: 0, max_bytes }
    }

    pub(super) fn len(&self) -> usize {
        self.chats.len()
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps a chat, in place of its earlier state. Returns the chats that are forgotten for it,
    /// which is the chat itself if it is too large.
    pub(super) fn swap_out(&mut self, owner: Owner, chat: Chat<T, S>) -> Vec<Chat<T, S>> {
        let _ = self.take(&owner);
        let bytes = chat.bytes();
        if bytes > self.max_bytes {
            return vec![chat];
        }
        let mut forgotten = Vec::new();
        while self.bytes + bytes > self.max_bytes
            && let Some((_, longest)) = self.order.pop_first()
            && let Some((_, chat)) = self.chats.remove(&longest)
        {
            self.bytes -= chat.bytes();
            forgotten.push(chat);
        }
        self.now += 1;
        self.bytes += bytes;
        self.order.insert(self.now, owner.clone());
        self.chats.insert(owner, (self.now, chat));
        forgotten
    }

    /// Takes a chat out of memory. Returns `None` if it is not there.
    pub(super) fn take(&mut self, owner: &Owner) -> Option<Chat<T, S>> {
        let (since, chat) = self.chats.remove(owner)?;
        self.order.remove(&since);
        self.bytes -= chat.bytes();
        Some(chat)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::scope::chat as owner, *};

    fn chat(state_bytes: usize) -> Chat<u8, &'static str> {
        Chat { tokens: vec![1, 2], from: 1, state: "state", state_bytes }
    }

    #[test]
    fn a_chat_comes_back_as_it_went() {
        let mut swapped = Swapped::new(100);
        assert_eq!(swapped.swap_out(owner("a"), chat(10)), []);
        assert_eq!((swapped.len(), swapped.bytes()), (1, 12));
        assert_eq!(swapped.take(&owner("a")), Some(chat(10)));
        assert_eq!(swapped.take(&owner("a")), None);
        assert_eq!((swapped.len(), swapped.bytes()), (0, 0));
    }

    #[test]
    fn the_longest_resting_chat_is_forgotten_for_others() {
        let mut swapped = Swapped::new(36);
        for name in ["a", "b", "c"] {
            assert_eq!(swapped.swap_out(owner(name), chat(10)), []);
        }
        assert_eq!(swapped.swap_out(owner("a"), chat(10)), [], "it replaces what it had");
        assert_eq!(swapped.swap_out(owner("d"), chat(20)), [chat(10), chat(10)]);
        assert!(swapped.take(&owner("b")).is_none() && swapped.take(&owner("c")).is_none());
        assert!(swapped.take(&owner("a")).is_some() && swapped.take(&owner("d")).is_some());
    }

    #[test]
    fn a_chat_without_any_room_displaces_no_other() {
        let mut swapped = Swapped::new(20);
        swapped.swap_out(owner("a"), chat(10));
        assert_eq!(swapped.swap_out(owner("b"), chat(30)), [chat(30)]);
        assert_eq!((swapped.len(), swapped.bytes()), (1, 12));
    }
}
