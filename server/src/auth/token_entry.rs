//! A token as a file has it: a name, a holder, scopes and the SHA-256 of its secret.

use madang::{UserId, approval::Digest};
use serde::{Deserialize, Serialize};

use super::{
    holder::{ServicePrefix, TokenHolder, UserHeader},
    scope::TokenScopes,
    secret::TokenSecret,
};
use crate::ask::Ask;

/// A token as its file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Line", try_from = "Line")]
pub struct TokenEntry {
    /// The name under which it is listed and removed.
    pub name: String,
    /// The user or service that it acts for.
    pub holder: TokenHolder,
    /// What it may do.
    pub scopes: TokenScopes,
    /// Who is asked if its requests do not state it. `None` uses the default of the surface.
    pub ask: Option<Ask>,
    /// The SHA-256 of its secret.
    pub sha256: Digest,
}

impl TokenEntry {
    /// Makes the entry of a secret that the program keeps elsewhere.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        holder: TokenHolder,
        scopes: TokenScopes,
        secret: &TokenSecret,
    ) -> Self {
        Self { name: name.into(), holder, scopes, ask: None, sha256: secret.digest() }
    }
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<UserId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<ServicePrefix>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_header: Option<UserHeader>,
    scopes: TokenScopes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<Ask>,
    sha256: Digest,
}

impl From<TokenEntry> for Line {
    fn from(TokenEntry { name, holder, scopes, ask, sha256 }: TokenEntry) -> Self {
        let (user, service, user_header) = match holder {
            TokenHolder::User(user) => (Some(user), None, None),
            TokenHolder::Service { prefix, user_header } => (None, Some(prefix), Some(user_header)),
        };
        Self { name, user, service, user_header, scopes, ask, sha256 }
    }
}

impl TryFrom<Line> for TokenEntry {
    type Error = &'static str;

    fn try_from(
        Line { name, user, service, user_header, scopes, ask, sha256 }: Line,
    ) -> Result<Self, Self::Error> {
        let holder = match (user, service, user_header) {
            (Some(user), None, None) => TokenHolder::User(user),
            (None, Some(prefix), Some(user_header)) => TokenHolder::Service { prefix, user_header },
            (Some(_), ..) | (None, ..) => {
                return Err("a token has a user, or a service with its header");
            }
        };
        Ok(Self { name, holder, scopes, ask, sha256 })
    }
}
