//! Finds the valid tokens by the hash of their secret, and reads them again after their file
//! changed.

use std::{collections::HashMap, sync::Arc};

use madang::approval::Digest;

use super::{
    token_entry::TokenEntry,
    token_file::{TokenFile, TokenFileError},
    watched::Watched,
};

/// The tokens that count: those of the file, and those that the program itself brings.
pub(crate) type Tokens = Watched<TokenSet, TokenFileError>;

/// The tokens that count at one moment, by their hashes. The time of a look-up says something only
/// about the hash of a guess, and leads to no secret.
pub(crate) type TokenSet = HashMap<Digest, Arc<TokenEntry>>;

/// Reads the file for the first time.
///
/// # Errors
/// Returns [`TokenFileError`] if the file cannot be read.
pub(crate) fn open(
    fixed: Vec<TokenEntry>,
    file: Option<TokenFile>,
) -> Result<Tokens, TokenFileError> {
    let path = file.as_ref().map(|file| file.path().to_owned());
    let read = move || {
        let read = file.as_ref().map_or(Ok(Vec::new()), TokenFile::list)?;
        let entries = read.into_iter().chain(fixed.clone());
        Ok(entries.map(|entry| (entry.sha256, Arc::new(entry))).collect())
    };
    Watched::open("the tokens", path, read)
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
        let tokens = open(vec![entry], Some(file.clone())).unwrap();
        let counts = |secret: &TokenSecret| tokens.current().contains_key(&secret.digest());
        assert!(!tokens.refresh(), "nothing has changed");
        let secret = file.add("laptop", kim(), TokenScopes::ALL, None).unwrap();
        assert!(counts(&fixed) && !counts(&secret));
        assert!(tokens.refresh() && counts(&fixed) && counts(&secret));
        std::fs::write(file.path(), "nonsense").unwrap();
        assert!(!tokens.refresh());
        assert!(counts(&secret), "a slip locks out no caller");
        std::fs::remove_file(file.path()).unwrap();
        assert!(tokens.refresh() && counts(&fixed) && !counts(&secret));
        assert!(!counts(&TokenSecret::random().unwrap()));
    }
}
