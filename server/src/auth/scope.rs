//! What a token may do: a set of scopes.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A right that a token has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TokenScope {
    /// Reads and writes chats.
    Chat,
    /// Decides about approval requests, and resolves unknown effects. This is a scope of its own,
    /// so that a program that was talked into something cannot approve for its user.
    Decide,
    /// Calls tools without a model.
    Tools,
    /// Reads all ledgers and the metrics.
    Admin,
}

impl TokenScope {
    /// All scopes.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Decide, Self::Tools, Self::Admin];

    /// Returns the name in files and answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Decide => "decide",
            Self::Tools => "tools",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of scopes, as a list in files: `["chat","decide"]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(with = "Vec<TokenScope>")]
#[serde(into = "Vec<TokenScope>", from = "Vec<TokenScope>")]
pub struct TokenScopes(u8);

impl TokenScopes {
    /// All scopes.
    pub const ALL: Self = Self(0b1111);
    /// What a person's token may do unless its maker says otherwise: everything except looking at
    /// others.
    pub const OF_PERSON: Self = Self(0b0111);
    /// What a service's token may do unless its maker says otherwise. It cannot say yes for its
    /// users.
    pub const OF_SERVICE: Self = Self(0b0001);

    /// Returns whether the scope is in the set.
    #[must_use]
    pub const fn has(self, scope: TokenScope) -> bool {
        self.0 & (1 << scope as u8) != 0
    }

    /// Returns the scopes in the set.
    pub fn iter(self) -> impl Iterator<Item = TokenScope> {
        TokenScope::ALL.into_iter().filter(move |scope| self.has(*scope))
    }
}

impl FromIterator<TokenScope> for TokenScopes {
    fn from_iter<I: IntoIterator<Item = TokenScope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |set, scope| set | 1 << scope as u8))
    }
}

impl From<Vec<TokenScope>> for TokenScopes {
    fn from(scopes: Vec<TokenScope>) -> Self {
        scopes.into_iter().collect()
    }
}

impl From<TokenScopes> for Vec<TokenScope> {
    fn from(scopes: TokenScopes) -> Self {
        scopes.iter().collect()
    }
}

/// A text is not a list of scopes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a scope: there are chat, decide, tools and admin")]
pub struct InvalidScope(String);

/// Reads a list such as `chat,decide`.
impl FromStr for TokenScopes {
    type Err = InvalidScope;

    fn from_str(text: &str) -> Result<Self, InvalidScope> {
        let scope = |name: &str| {
            let scope = TokenScope::ALL.into_iter().find(|scope| scope.name() == name);
            scope.ok_or_else(|| InvalidScope(name.to_owned()))
        };
        text.split([',', ' ']).filter(|name| !name.is_empty()).map(scope).collect()
    }
}

impl fmt::Display for TokenScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(TokenScope::name).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_into_it_and_reads_back_as_it_is_written() {
        for bits in 0..16 {
            let set = TokenScopes(bits);
            assert_eq!(set.to_string().parse::<TokenScopes>().unwrap(), set);
            let json = serde_json::to_string(&set).unwrap();
            assert_eq!(serde_json::from_str::<TokenScopes>(&json).unwrap(), set);
            assert_eq!(set.iter().collect::<TokenScopes>(), set);
        }
        assert!(!TokenScopes::OF_SERVICE.has(TokenScope::Decide));
        assert!(!TokenScopes::OF_PERSON.has(TokenScope::Admin));
        assert_eq!("chat, decide".parse::<TokenScopes>().unwrap().to_string(), "chat,decide");
        assert!("chat,root".parse::<TokenScopes>().is_err());
    }
}
