//! The tokens that count now, found by the hash of their secret, and read again when their file changes.

use std::{collections::HashMap, sync::Arc};

use madang::approval::Digest;

use super::{
    secret::digest_of,
    token_entry::TokenEntry,
    token_file::{TokenFile, TokenFileError},
    watched::Watched,
};

/// The tokens that count: those of the file, and those that the program itself brings.
#[derive(Debug)]
pub(crate) struct Tokens(Watched<TokenSet, TokenFileError>);

/// The tokens of one moment.
#[derive(Debug, Default)]
pub(crate) struct TokenSet {
    /// Found by its hash: what an attacker could learn from the time that a look-up takes is about the hash of a guess,
    /// and leads to no secret.
    by_digest: HashMap<Digest, Arc<TokenEntry>>,
}

impl TokenSet {
    fn new(entries: impl IntoIterator<Item = TokenEntry>) -> Self {
        let by_digest = entries.into_iter().map(|entry| (entry.sha256, Arc::new(entry)));
        Self { by_digest: by_digest.collect() }
    }

    /// Finds the token of this secret.
    pub(crate) fn of_secret(&self, secret: &str) -> Option<&Arc<TokenEntry>> {
        self.by_digest.get(&digest_of(secret))
    }

    /// Finds the token with this hash.
    pub(crate) fn of_digest(&self, digest: &Digest) -> Option<&Arc<TokenEntry>> {
        self.by_digest.get(digest)
    }
}

impl Tokens {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// [`TokenFileError`] where it cannot be read.
    pub(crate) fn open(
        fixed: Vec<TokenEntry>,
        file: Option<TokenFile>,
    ) -> Result<Self, TokenFileError> {
        let path = file.as_ref().map(|file| file.path().to_owned());
        let read = move || {
            let read = file.as_ref().map_or(Ok(Vec::new()), TokenFile::list)?;
            Ok(TokenSet::new(read.into_iter().chain(fixed.clone())))
        };
        Watched::open(path, read).map(Self)
    }

    /// Gives the tokens that count now.
    pub(crate) fn current(&self) -> Arc<TokenSet> {
        self.0.current()
    }

    /// Tells whether there is a file to look at.
    pub(crate) const fn may_change(&self) -> bool {
        self.0.may_change()
    }

    /// Reads the file again where it has changed, and tells whether its tokens are others now.
    pub(crate) fn refresh(&self) -> bool {
        self.0.refresh("the tokens")
    }
}

#[cfg(test)]
mod tests {
    use madang::UserId;

    use super::*;
    use crate::auth::{holder::TokenHolder, scope::TokenScopes, secret::TokenSecret};

    fn kim() -> TokenHolder {
        TokenHolder::User(UserId::new("kim").unwrap())
    }

    #[test]
    fn a_token_counts_from_its_addition_to_its_removal() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(folder.path().join("tokens"));
        let fixed = TokenSecret::random().unwrap();
        let entry = TokenEntry::new("local", kim(), TokenScopes::ALL, &fixed);
        let tokens = Tokens::open(vec![entry], Some(file.clone())).unwrap();
        let counts = |secret: &TokenSecret| tokens.current().of_secret(secret.reveal()).is_some();
        assert!(!tokens.refresh(), "nothing has changed");
        let secret = file.add("laptop", kim(), TokenScopes::ALL, None).unwrap();
        assert!(counts(&fixed) && !counts(&secret));
        assert!(tokens.refresh() && counts(&fixed) && counts(&secret));
        std::fs::write(file.path(), "nonsense").unwrap();
        assert!(!tokens.refresh());
        assert!(counts(&secret), "a slip locks out no one");
        std::fs::remove_file(file.path()).unwrap();
        assert!(tokens.refresh() && counts(&fixed) && !counts(&secret));
        assert!(!counts(&TokenSecret::random().unwrap()));
    }
}
