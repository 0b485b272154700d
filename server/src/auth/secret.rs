//! Makes and keeps secrets: tokens as clients send them, and the small files that keep a secret
//! between starts.

use std::{
    error::Error,
    fmt,
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use madang::approval::Digest;
use sha2::{Digest as _, Sha256};

use super::{
    ended_logins::EndedLogins,
    private_file::{self, NotPrivate},
};

/// What each token begins with, so that scanners of sources find one that leaked.
const PREFIX: &str = "mdg_";

/// A token as a client sends it: `mdg_` and 43 characters, 256 bits. Its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(String);

impl TokenSecret {
    /// Makes a token from the operating system's randomness.
    ///
    /// # Errors
    /// Returns an error if the operating system has no randomness.
    pub fn random() -> io::Result<Self> {
        Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random_bytes::<32>()?))))
    }

    /// Returns the text of the token. Show it once, and never log it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the SHA-256 of the token, which files keep in its place.
    #[must_use]
    pub fn digest(&self) -> Digest {
        digest_of(&self.0)
    }

    /// Reads a token from its file. If there is no file, makes both. Only its owner can read the
    /// file.
    ///
    /// # Errors
    /// Returns [`SecretFileError`], which names the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SecretFileError> {
        let made = || Ok(Self::random()?.0);
        open(path.as_ref(), made, |text| {
            let is_token = text.strip_prefix(PREFIX).is_some_and(|rest| rest.len() == 43);
            is_token.then(|| Self(text.to_owned())).ok_or_else(|| "the file has no token".into())
        })
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret(..)")
    }
}

/// The key that seals cookies and the states of questions that MCP clients return. The logins that
/// were ended before their time are kept with it. Logins survive a restart if the key outlives the
/// process. Its `Debug` hides it.
#[derive(Clone)]
pub struct CookieKey {
    bytes: [u8; 32],
    pub(super) ended: Arc<EndedLogins>,
}

impl CookieKey {
    /// Makes a key that only this process has.
    ///
    /// # Errors
    /// Returns an error if the operating system has no randomness.
    pub fn random() -> io::Result<Self> {
        Ok(Self { bytes: random_bytes()?, ended: Arc::default() })
    }

    /// Reads the key from its file. If there is no file, makes both. Only its owner can read the
    /// file. The file of the logins that were ended is next to it, with the ending `ended`.
    ///
    /// # Errors
    /// Returns [`SecretFileError`], which names the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SecretFileError> {
        let path = path.as_ref();
        let made = || Ok(Digest::new(random_bytes()?).to_string());
        let bytes = open(path, made, |text| Ok(*Digest::try_from(text.to_owned())?.bytes()))?;
        let path = path.with_added_extension("ended");
        let ended = EndedLogins::open(path.clone());
        let ended = ended.map_err(|cause| SecretFileError { path, cause })?;
        Ok(Self { bytes, ended: ended.into() })
    }

    /// Makes a key for another purpose.
    #[cfg(feature = "mcp")]
    pub(crate) fn derive(&self, purpose: &[u8]) -> [u8; 32] {
        self.seal(purpose).finalize().into_bytes().into()
    }

    /// Seals this text.
    pub(super) fn seal(&self, text: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::new_from_slice(&self.bytes).expect("HMAC takes a key of any length");
        mac.chain_update(text)
    }
}

impl fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieKey(..)")
    }
}

/// A file with a secret could not be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to read or make the secret in {}{}", path.display(), advice(cause))]
pub struct SecretFileError {
    path: PathBuf,
    #[source]
    cause: io::Error,
}

/// Returns what others could do with the file, and what helps. Returns nothing for any other error.
fn advice(cause: &io::Error) -> String {
    NotPrivate::among(cause).map(|why| format!(": {why}")).unwrap_or_default()
}

/// Returns the SHA-256 of a text.
pub(crate) fn digest_of(text: &str) -> Digest {
    Digest::new(Sha256::digest(text.as_bytes()).into())
}

/// Returns bytes of the operating system's randomness.
pub(crate) fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// The most bytes of a file with a secret.
const MAX_BYTES: u64 = 1_024;

/// Reads what a file has. If there is no file, makes it.
fn open<T>(
    path: &Path,
    make: impl FnOnce() -> io::Result<String>,
    parse: impl FnOnce(&str) -> Result<T, Box<dyn Error + Send + Sync>>,
) -> Result<T, SecretFileError> {
    let invalid = |cause| io::Error::new(io::ErrorKind::InvalidData, cause);
    let opened = read_or_make(path, make).and_then(|text| parse(text.trim_end()).map_err(invalid));
    opened.map_err(|cause| SecretFileError { path: path.to_owned(), cause })
}

/// Reads a secret. If there is no file, makes it. If two processes begin at once, both have the one
/// that was made first.
fn read_or_make(path: &Path, make: impl FnOnce() -> io::Result<String>) -> io::Result<String> {
    match open_existing(path) {
        Ok(file) => return read(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // It is written under another name first, so a reader never finds half a secret.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}", u64::from_ne_bytes(random_bytes()?)));
    let fresh = path.with_file_name(name);
    let secret = make()?;
    let written = private_file::create(&fresh).and_then(|mut file| {
        file.write_all(secret.as_bytes())?;
        file.sync_all()
    });
    let linked = written.and_then(|()| std::fs::hard_link(&fresh, path));
    std::fs::remove_file(&fresh)?;
    match linked {
        Ok(()) => Ok(secret),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(open_existing(path)?),
        Err(error) => Err(error),
    }
}

fn open_existing(path: &Path) -> io::Result<File> {
    private_file::open(path, OpenOptions::new().read(true))
}

fn read(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_256_bits_and_shows_itself_only_when_asked() {
        let one = TokenSecret::random().unwrap();
        let two = TokenSecret::random().unwrap();
        assert_eq!(one.reveal().len(), 4 + 43);
        assert_ne!(one, two);
        assert_ne!(one.digest(), two.digest());
        assert_eq!(format!("{one:?}"), "TokenSecret(..)");
    }

    #[test]
    fn a_secret_stays_the_same_in_its_file_which_others_cannot_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let token = TokenSecret::open(&path).unwrap();
        assert_eq!(TokenSecret::open(&path).unwrap(), token);
        let keys = folder.path().join("key");
        assert_eq!(CookieKey::open(&keys).unwrap().bytes, CookieKey::open(&keys).unwrap().bytes);
        #[cfg(unix)]
        for path in [&path, &keys] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 2, "nothing is left beside them");
        std::fs::write(&path, "mdg_short").unwrap();
        std::fs::write(&keys, "no key").unwrap();
        assert!(TokenSecret::open(&path).is_err() && CookieKey::open(&keys).is_err());
    }

    #[test]
    fn all_that_begin_at_once_have_the_same_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let tokens: Vec<_> = std::thread::scope(|scope| {
            let open = || TokenSecret::open(&path).unwrap().0;
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(tokens.iter().all(|token| *token == tokens[0]));
    }
}
