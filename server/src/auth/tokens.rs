//! The tokens that count now, found by the hash of their secret, and read again when their file changes.

use std::{
    collections::HashMap,
    fs,
    sync::{Arc, Mutex},
    time::SystemTime,
};

use madang::approval::Digest;
use tokio::sync::watch;
use tracing::{info, warn};

use super::{
    secret::digest_of,
    token_file::{TokenEntry, TokenFile, TokenFileError},
};

/// The tokens that count.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// Those that the program itself brings.
    fixed: Vec<TokenEntry>,
    file: Option<TokenFile>,
    /// How the file looked when it was read last.
    seen: Mutex<Option<Looks>>,
    current: watch::Sender<Arc<TokenSet>>,
}

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

/// What tells that a file was changed: files are replaced and not written over, so each has a number of its own.
type Looks = (Option<SystemTime>, u64, u64);

impl Tokens {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// [`TokenFileError`] where it cannot be read.
    pub(crate) fn open(
        fixed: Vec<TokenEntry>,
        file: Option<TokenFile>,
    ) -> Result<Self, TokenFileError> {
        let looks = file.as_ref().and_then(looks);
        let read = file.as_ref().map_or(Ok(Vec::new()), TokenFile::list)?;
        let set = TokenSet::new(read.into_iter().chain(fixed.clone()));
        let current = watch::Sender::new(Arc::new(set));
        Ok(Self { fixed, file, seen: Mutex::new(looks), current })
    }

    /// Gives the tokens that count now.
    pub(crate) fn current(&self) -> Arc<TokenSet> {
        self.current.borrow().clone()
    }

    /// Gives the tokens of now and of each later change.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<TokenSet>> {
        self.current.subscribe()
    }

    /// Tells whether there is a file to look at.
    pub(crate) const fn may_change(&self) -> bool {
        self.file.is_some()
    }

    /// Reads the file again where it has changed. Blocks for as long as the disk takes. A file that cannot be read leaves
    /// the tokens as they are: a slip of an editor must not lock all out.
    pub(crate) fn refresh(&self) {
        let Some(file) = &self.file else { return };
        let looks = looks(file);
        let mut seen = self.seen.lock().expect("no code under this lock panics");
        if looks.is_some() && *seen == looks {
            return;
        }
        match file.list() {
            Ok(read) => {
                if *seen == looks {
                    return; // the file is still missing
                }
                info!(tokens = read.len(), "read the tokens again");
                let set = TokenSet::new(read.into_iter().chain(self.fixed.clone()));
                self.current.send_replace(Arc::new(set));
            }
            Err(error) if *seen != looks => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                warn!(%error, cause, "the tokens could not be read again, so those of before still count");
            }
            Err(_) => {}
        }
        *seen = looks;
    }
}

fn looks(file: &TokenFile) -> Option<Looks> {
    let metadata = fs::metadata(file.path()).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let number = 0;
    Some((metadata.modified().ok(), metadata.len(), number))
}

#[cfg(test)]
mod tests {
    use madang::UserId;

    use super::*;
    use crate::auth::{scope::TokenScopes, secret::TokenSecret, token_file::TokenHolder};

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
        let watch = tokens.watch();
        let counts = |secret: &TokenSecret| tokens.current().of_secret(secret.reveal()).is_some();
        tokens.refresh();
        assert!(!watch.has_changed().unwrap(), "nothing has changed");
        let secret = file.add("laptop", kim(), TokenScopes::ALL, None).unwrap();
        assert!(counts(&fixed) && !counts(&secret));
        tokens.refresh();
        assert!(counts(&fixed) && counts(&secret) && watch.has_changed().unwrap());
        std::fs::write(file.path(), "nonsense").unwrap();
        tokens.refresh();
        assert!(counts(&secret), "a slip locks out no one");
        std::fs::remove_file(file.path()).unwrap();
        tokens.refresh();
        assert!(counts(&fixed) && !counts(&secret));
        assert!(!counts(&TokenSecret::random().unwrap()));
    }
}
