//! Ids of sessions, users, submits, turns, completions and calls; and moments in time.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A reason why a text cannot be the id of a session, a user or a submit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must have 1 to {max_bytes} bytes and no control characters", max_bytes = InvalidId::MAX_BYTES)]
pub struct InvalidId {
    what: &'static str,
}

impl InvalidId {
    /// The most bytes of UTF-8 that an id may have. An e-mail address or a URL path fits, and an id
    /// can be part of every row.
    pub const MAX_BYTES: usize = 256;

    fn check(what: &'static str, name: &str) -> Result<(), Self> {
        let fits = (1..=Self::MAX_BYTES).contains(&name.len());
        if fits && !name.chars().any(char::is_control) { Ok(()) } else { Err(Self { what }) }
    }
}

/// A name that the embedder chooses: a text that passes a check.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident: $form:literal, $check:expr => $error:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            #[doc = concat!("Takes a name of ", $form, ".")]
            ///
            /// # Errors
            #[doc = concat!("[`", stringify!($error), "`] for any other text.")]
            pub fn new(name: impl Into<Arc<str>>) -> Result<Self, $error> {
                let name = name.into();
                $check(&name).map(|()| Self(name))
            }

            /// Returns the name as it was chosen.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;
            fn try_from(name: String) -> Result<Self, $error> {
                Self::new(name)
            }
        }
    };
}
pub(super) use text_id;

text_id!(
    /// Names one chat. Chosen by the embedder, or a fresh UUID as text.
    SessionId: "1 to 256 bytes without control characters",
    |name: &str| InvalidId::check("a session's id", name) => InvalidId
);
text_id!(
    /// Names the user that a session belongs to.
    UserId: "1 to 256 bytes without control characters",
    |name: &str| InvalidId::check("a user's id", name) => InvalidId
);

text_id!(
    /// Names one submit of a text within its session, or one call without a model of its user, so
    /// that a repeated one begins nothing. The caller chooses it, for example as a fresh UUID.
    IdempotencyKey: "1 to 256 bytes without control characters",
    |name: &str| InvalidId::check("an idempotency key", name) => InvalidId
);

/// An id that the runtime makes: a UUID, passed in by the actors so that this module makes none in
/// secret.
macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID. Those of version 7 sort by time.
            #[must_use]
            pub const fn new(id: Uuid) -> Self {
                Self(id)
            }

            /// Returns the UUID.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

uuid_id!(
    /// Names one turn: from the user's text to the final answer.
    TurnId
);
uuid_id!(
    /// Names one completion: one call of the model.
    CompletionId
);
uuid_id!(
    /// Names one tool call. Every step of a call is idempotent by this id.
    CallId
);

impl CallId {
    /// The namespace of calls that have a key, among all UUIDs that are made of names.
    const OF_KEYS: Uuid = Uuid::from_u128(0x1f6b_29d1_94a7_4c0e_8b53_d0e6_7a3c_58f2);

    /// Returns the id of the call that this user began under this key. It is always the same, a
    /// UUID of version 5, and does not sort by time.
    #[must_use]
    pub fn of_key(user: &UserId, key: &IdempotencyKey) -> Self {
        // No id has a control character, so no two pairs read alike.
        let name = format!("{user}\n{key}");
        Self(Uuid::new_v5(&Self::OF_KEYS, name.as_bytes()))
    }
}

/// A moment, in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Makes a moment from milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the Unix epoch.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns the time until a later moment, or zero if that has passed.
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }

    /// Returns the moment this much later. It saturates at the end of time.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn of_key(user: &str, key: &str) -> CallId {
        CallId::of_key(&UserId::new(user).unwrap(), &IdempotencyKey::new(key).unwrap())
    }

    #[test]
    fn the_call_of_a_key_is_the_same_in_every_process_and_another_for_each_user_and_key() {
        let expected = "9bd65ca3-f571-56e3-b608-6e1195d4b506";
        assert_eq!(of_key("kim", "1").to_string(), expected);
        let pairs =
            [("kim", "1"), ("kim", "2"), ("lee", "1"), ("ki", "m1"), ("kim1", "1"), ("kim", "11")];
        let ids: HashSet<_> = pairs.into_iter().map(|(user, key)| of_key(user, key)).collect();
        assert_eq!(ids.len(), pairs.len());
        assert!(ids.iter().all(|id| id.uuid().get_version_num() == 5));
    }
}
