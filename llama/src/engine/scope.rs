//! Decides which chats may share the content of the context: chats with the same system text and
//! tools, and chats of one user.

use std::{borrow::Borrow, collections::HashMap, hash::Hash};

use llama_cpp_2::token::LlamaToken;
use madang_actors::protocol::{SessionId, UserId};

/// A token of a chat, and its scope.
///
/// Two tokens are equal only if their scopes are. So every comparison of beginnings stays within a
/// scope, without a rule for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) token: LlamaToken,
    pub(super) scope: Scope,
}

/// A set of chats that may share. Only [`Scopes`] makes one, and never the same twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Scope(u64);

impl Scope {
    /// Puts these tokens into this scope.
    pub(super) fn hold(self, tokens: &[LlamaToken]) -> impl Iterator<Item = Held> + '_ {
        tokens.iter().map(move |token| Held { token: *token, scope: self })
    }
}

/// The owner of a chat. A session's name is not enough: two users may use the same one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    pub(super) user: Scope,
    pub(super) session: SessionId,
}

/// Numbers the scopes.
///
/// A beginning has a scope as a whole. System texts that only begin alike share nothing. If they
/// did, a user of an application whose users write system texts could guess another user's text
/// letter by letter.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    beginnings: Numbers<Box<[LlamaToken]>>,
    users: Numbers<UserId>,
    last: u64,
}

/// How many users' numbers are kept at least. A forgotten user gets a new number, and the next
/// prompt is read again.
const USERS: usize = 16_384;
/// How many beginnings' numbers are kept at least. They are long, and an application has a few.
const BEGINNINGS: usize = 64;

impl Scopes {
    /// Puts a prompt into its scopes; its first tokens are the beginning.
    pub(super) fn prompt(
        &mut self,
        tokens: &[LlamaToken],
        beginning: usize,
        user: Scope,
    ) -> Vec<Held> {
        let (beginning, own) = tokens.split_at(beginning.min(tokens.len()));
        let mut held = Vec::with_capacity(tokens.len());
        if !beginning.is_empty() {
            let scope = self.beginnings.number(beginning, BEGINNINGS, &mut self.last);
            held.extend(scope.hold(beginning));
        }
        held.extend(user.hold(own));
        held
    }

    /// Returns the owner of a user's session.
    pub(super) fn owner(&mut self, user: &UserId, session: &SessionId) -> Owner {
        let user = self.users.number(user, USERS, &mut self.last);
        Owner { user, session: session.clone() }
    }
}

/// The numbers of recent keys: at least the latest `least`, at most twice as many.
#[derive(Debug)]
struct Numbers<K> {
    recent: HashMap<K, Scope>,
    older: HashMap<K, Scope>,
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self { recent: HashMap::new(), older: HashMap::new() }
    }
}

impl<K: Eq + Hash> Numbers<K> {
    fn number<Q>(&mut self, key: &Q, least: usize, last: &mut u64) -> Scope
    where
        Q: ToOwned<Owned: Into<K>> + Eq + Hash + ?Sized,
        K: Borrow<Q>,
    {
        if let Some(known) = self.recent.get(key) {
            return *known;
        }
        let scope = self.older.remove(key).unwrap_or_else(|| {
            *last += 1;
            Scope(*last)
        });
        if self.recent.len() >= least {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(key.to_owned().into(), scope);
        scope
    }
}

/// Names a chat of one user.
#[cfg(test)]
pub(super) fn chat(session: &str) -> Owner {
    let [user, session] = ["kim", session].map(str::to_owned);
    let known = "a test gives a good name";
    let user = UserId::try_from(user).expect(known);
    Scopes::default().owner(&user, &SessionId::try_from(session).expect(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(numbers: &[i32]) -> Vec<LlamaToken> {
        numbers.iter().copied().map(LlamaToken).collect()
    }

    fn user(name: &str) -> UserId {
        UserId::new(name).unwrap()
    }

    fn scope(scopes: &mut Scopes, name: &str) -> Scope {
        scopes.owner(&user(name), &SessionId::new("chat").unwrap()).user
    }

    #[test]
    fn users_share_a_beginning_and_nothing_behind_it() {
        let mut scopes = Scopes::default();
        let [kim, lee] = ["kim", "lee"].map(|name| scope(&mut scopes, name));
        let [of_kim, of_lee] =
            [kim, lee].map(|user| scopes.prompt(&tokens(&[1, 2, 3, 4]), 2, user));
        assert_eq!(of_kim[..2], of_lee[..2]);
        assert!(of_kim[2..].iter().zip(&of_lee[2..]).all(|(one, other)| one != other));
        let again = scope(&mut scopes, "kim");
        assert_eq!(scopes.prompt(&tokens(&[1, 2, 3, 4]), 2, again), of_kim);
    }

    #[test]
    fn beginnings_that_begin_alike_share_nothing() {
        let mut scopes = Scopes::default();
        let kim = scope(&mut scopes, "kim");
        let long = scopes.prompt(&tokens(&[1, 2, 3, 9]), 3, kim);
        for beginning in [0, 1, 2, 4, 9] {
            let other = scopes.prompt(&tokens(&[1, 2, 3, 9]), beginning, kim);
            assert_eq!(other.len(), 4);
            assert!(long[..3].iter().zip(&other).all(|(one, other)| one != other), "{beginning}");
        }
    }

    #[test]
    fn a_forgotten_user_gets_a_fresh_number() {
        let mut numbers = Numbers::<UserId>::default();
        let mut last = 0;
        let mut number = |name: &str| numbers.number(&user(name), 2, &mut last);
        let first = number("a");
        number("b");
        assert_eq!(number("a"), first);
        number("c");
        assert_eq!(number("a"), first, "it is one of the latest three");
        for name in ["d", "e", "f", "g"] {
            number(name);
        }
        let again = number("a");
        assert_ne!(again, first);
        let others = ["b", "c", "d", "e", "f", "g"].map(&mut number);
        assert!(!others.contains(&again) && !others.contains(&first));
        assert!(numbers.recent.len() + numbers.older.len() <= 4);
    }
}
