//! The holder of a token: a user, or a service that acts for users whose names begin with its
//! prefix.

use std::sync::Arc;

use madang::UserId;
use serde::{Deserialize, Serialize};

/// The holder of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenHolder {
    /// One user.
    User(UserId),
    /// A service that acts for many users.
    Service {
        /// Each of its users is named `prefix/user`.
        prefix: ServicePrefix,
        /// The header in which its requests name the user.
        user_header: UserHeader,
    },
}

impl TokenHolder {
    /// Builds a service whose requests name their user in `Madang-User`.
    #[must_use]
    pub const fn service(prefix: ServicePrefix) -> Self {
        Self::Service { prefix, user_header: UserHeader::Madang }
    }
}

/// The header in which a service names its user. A token is made for one of them, because a proxy
/// that guards one may pass on the other as its client sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum UserHeader {
    /// `Madang-User`.
    #[default]
    #[serde(rename = "Madang-User")]
    Madang,
    /// `X-OpenWebUI-User-Id`, as Open WebUI sends it.
    #[serde(rename = "X-OpenWebUI-User-Id")]
    OpenWebUi,
}

impl UserHeader {
    /// All headers.
    pub const ALL: [Self; 2] = [Self::Madang, Self::OpenWebUi];

    /// Returns the name of the header.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Madang => "Madang-User",
            Self::OpenWebUi => "X-OpenWebUI-User-Id",
        }
    }

    /// Returns the name as a head has it, in lower case.
    pub(super) const fn lower_case(self) -> &'static str {
        match self {
            Self::Madang => "madang-user",
            Self::OpenWebUi => "x-openwebui-user-id",
        }
    }
}

/// The name of a service, which precedes the names of its users. It has no slash, because two
/// services could then act for the same user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ServicePrefix(Arc<str>);

/// A text that is not a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a service's prefix has 1 to 64 letters, digits, hyphens, underscores and dots")]
pub struct InvalidPrefix;

impl ServicePrefix {
    /// Takes a prefix of 1 to 64 letters, digits, hyphens, underscores and dots.
    ///
    /// # Errors
    /// Returns [`InvalidPrefix`] for any other text.
    pub fn new(prefix: &str) -> Result<Self, InvalidPrefix> {
        if is_plain(prefix) { Ok(Self(prefix.into())) } else { Err(InvalidPrefix) }
    }

    /// Returns the user `prefix/name`, or `None` if that cannot be a user's name.
    pub(crate) fn user(&self, name: &str) -> Option<UserId> {
        if name.is_empty() { None } else { UserId::new(format!("{}/{name}", self.0)).ok() }
    }

    /// Returns whether a service with this prefix acts for the user.
    #[must_use]
    pub fn speaks_for(&self, user: &UserId) -> bool {
        let below = user.as_str().strip_prefix(&*self.0);
        below.and_then(|rest| rest.strip_prefix('/')).is_some_and(|name| !name.is_empty())
    }

    /// Returns the prefix itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ServicePrefix {
    type Error = InvalidPrefix;

    fn try_from(prefix: String) -> Result<Self, InvalidPrefix> {
        Self::new(&prefix)
    }
}

/// Returns whether a name consists of 1 to 64 letters, digits, hyphens, underscores and dots.
pub(super) fn is_plain(name: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(is_fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_speaks_for_users_below_its_prefix_only() {
        let prefix = ServicePrefix::new("openwebui").unwrap();
        assert_eq!(prefix.user("alice").unwrap().as_str(), "openwebui/alice");
        assert_eq!(prefix.user("../kim").unwrap().as_str(), "openwebui/../kim");
        assert!(prefix.user("").is_none() && prefix.user("a\nb").is_none());
        for (user, is_below) in [
            ("openwebui/alice", true),
            ("openwebui/", false),
            ("openwebui", false),
            ("openwebuix/a", false),
        ] {
            assert_eq!(prefix.speaks_for(&UserId::new(user).unwrap()), is_below, "{user}");
        }
        for bad in ["", "a/b", "a b", "한", &"x".repeat(65)] {
            assert_eq!(ServicePrefix::new(bad), Err(InvalidPrefix), "{bad}");
        }
    }
}
