//! The file of tokens, with one entry as JSON on each line. Programs change it under a lock.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use madang::UserId;

use super::{
    holder::{TokenHolder, is_plain},
    private_file::{self, NotPrivate},
    scope::TokenScopes,
    secret::TokenSecret,
    token_entry::TokenEntry,
};
use crate::ask::Ask;

/// The most bytes of a file, enough for some ten thousand tokens.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A file of tokens. A server reads it again after it changed.
#[derive(Debug, Clone)]
pub struct TokenFile {
    path: PathBuf,
}

/// Why a file of tokens could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFileError {
    /// The file could not be read or written.
    #[error("failed to {doing} the tokens in {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The path of the file of tokens.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        cause: io::Error,
    },
    /// Another account could have created or read the file.
    #[error("the tokens in {} are not used: {why}", path.display())]
    NotPrivate {
        /// The path of the file of tokens.
        path: PathBuf,
        /// What others could do, and what helps.
        why: NotPrivate,
    },
    /// A line of the file is not a token.
    #[error("line {line} of {} is not a token", path.display())]
    Line {
        /// The path of the file of tokens.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What does not fit.
        #[source]
        cause: serde_json::Error,
    },
    /// Two lines have the same name.
    #[error("{} has two tokens with the name {name}", path.display())]
    TwoOfOneName {
        /// The path of the file of tokens.
        path: PathBuf,
        /// The name that two lines have.
        name: String,
    },
    /// A token of this name exists.
    #[error("there is a token with the name {name} already")]
    NameTaken {
        /// The name that the new token was to get.
        name: String,
    },
    /// The name cannot be used.
    #[error(
        "{name:?} cannot be a token's name: give 1 to 64 letters, digits, hyphens, underscores and dots"
    )]
    InvalidName {
        /// The refused name, as it was given.
        name: String,
    },
}

impl TokenFile {
    /// Names the file. It need not exist, because a missing file has no tokens.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the tokens, in the order of the file.
    ///
    /// # Errors
    /// Returns [`TokenFileError`], which names the file and the line.
    pub fn list(&self) -> Result<Vec<TokenEntry>, TokenFileError> {
        match private_file::open(&self.path, OpenOptions::new().read(true)) {
            Ok(mut file) => self.read(&mut file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(cause) => Err(self.io("read", cause)),
        }
    }

    /// Makes a token and adds it under a name of its own. Returns its secret, which is kept nowhere
    /// else.
    ///
    /// # Errors
    /// Returns [`TokenFileError`], which says why there is no new token.
    pub fn add(
        &self,
        name: &str,
        holder: TokenHolder,
        scopes: TokenScopes,
        ask: Option<Ask>,
    ) -> Result<TokenSecret, TokenFileError> {
        if !is_plain(name) {
            return Err(TokenFileError::InvalidName { name: name.to_owned() });
        }
        let secret = TokenSecret::random().map_err(|cause| self.io("make", cause))?;
        let entry = TokenEntry { ask, ..TokenEntry::new(name, holder, scopes, &secret) };
        self.change(|entries| {
            if entries.iter().any(|entry| entry.name == name) {
                return Err(TokenFileError::NameTaken { name: name.to_owned() });
            }
            entries.push(entry);
            Ok(())
        })?;
        Ok(secret)
    }

    /// Removes a token. Servers refuse it after their next look at the file, and end its streams.
    /// Returns false if no token has the name.
    ///
    /// # Errors
    /// Returns [`TokenFileError`], which says why the file is unchanged.
    pub fn remove(&self, name: &str) -> Result<bool, TokenFileError> {
        self.change(|entries| {
            let before = entries.len();
            entries.retain(|entry| entry.name != name);
            Ok(entries.len() < before)
        })
    }

    /// Removes all tokens of a user, and returns their names. The tokens of services are kept, even
    /// of those that act for the user.
    ///
    /// # Errors
    /// Returns [`TokenFileError`], which says why the file is unchanged.
    pub fn remove_of(&self, user: &UserId) -> Result<Vec<String>, TokenFileError> {
        let of_user = TokenHolder::User(user.clone());
        if self.list()?.iter().all(|entry| entry.holder != of_user) {
            return Ok(Vec::new()); // a file that is missing is not made
        }
        self.change(|entries| {
            let removed = entries.extract_if(.., |entry| entry.holder == of_user);
            Ok(removed.map(|entry| entry.name).collect())
        })
    }

    /// Rewrites the file under a lock. If two programs do so, the second sees the result of the
    /// first.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T, TokenFileError>,
    ) -> Result<T, TokenFileError> {
        let mut file = self.locked().map_err(|cause| self.io("lock", cause))?;
        let mut entries = self.read(&mut file)?;
        let before = entries.clone();
        let given = change(&mut entries)?;
        if entries != before {
            self.replace(&entries).map_err(|cause| self.io("write", cause))?;
        }
        Ok(given)
    }

    /// Opens the file and locks it. If there is no file, makes an empty one. The lock is valid only
    /// while the file still has its name.
    fn locked(&self) -> io::Result<File> {
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            let opened = match private_file::open(&self.path, &mut options) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match private_file::create(&self.path) {
                        Ok(_) => continue,
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                        Err(error) => return Err(error),
                    }
                }
                opened => opened?,
            };
            opened.lock()?;
            if is_same_file(&opened, &self.path)? {
                return Ok(opened);
            }
        }
    }

    fn replace(&self, entries: &[TokenEntry]) -> io::Result<()> {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let fresh = self.path.with_file_name(name);
        // This is left by a process that was killed here. No other process has the lock.
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = private_file::create(&fresh)?;
        for entry in entries {
            serde_json::to_writer(&mut file, entry)?;
            file.write_all(b"\n")?;
        }
        file.sync_all()?;
        fs::rename(&fresh, &self.path)
    }

    fn read(&self, file: &mut File) -> Result<Vec<TokenEntry>, TokenFileError> {
        let mut text = String::new();
        let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
        read.map_err(|cause| self.io("read", cause))?;
        if text.len() as u64 > MAX_BYTES {
            let cause = io::Error::new(io::ErrorKind::FileTooLarge, "it has too many tokens");
            return Err(self.io("read", cause));
        }
        let mut entries = Vec::new();
        let mut names = HashSet::new();
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            let entry: TokenEntry = serde_json::from_str(line).map_err(|cause| {
                TokenFileError::Line { path: self.path.clone(), line: number, cause }
            })?;
            if !names.insert(entry.name.clone()) {
                return Err(TokenFileError::TwoOfOneName {
                    path: self.path.clone(),
                    name: entry.name,
                });
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    fn io(&self, doing: &'static str, cause: io::Error) -> TokenFileError {
        let path = self.path.clone();
        match NotPrivate::among(&cause) {
            Some(why) => TokenFileError::NotPrivate { path, why },
            None => TokenFileError::Io { doing, path, cause },
        }
    }
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let open = file.metadata()?;
    let named = path.metadata();
    Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino())))
}

#[cfg(not(unix))]
fn is_same_file(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true) // a locked file cannot be replaced there
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::holder::ServicePrefix;

    fn kim() -> TokenHolder {
        TokenHolder::User(UserId::new("kim").unwrap())
    }

    #[test]
    fn tokens_are_added_listed_and_removed_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(folder.path().join("tokens"));
        assert!(file.list().unwrap().is_empty() && !file.remove("laptop").unwrap());
        let secret = file.add("laptop", kim(), TokenScopes::OF_PERSON, Some(Ask::None)).unwrap();
        let service = TokenHolder::service(ServicePrefix::new("openwebui").unwrap());
        file.add("webui", service.clone(), TokenScopes::OF_SERVICE, None).unwrap();
        let taken = file.add("laptop", kim(), TokenScopes::ALL, None).unwrap_err();
        assert!(matches!(taken, TokenFileError::NameTaken { .. }), "{taken}");
        let entries = file.list().unwrap();
        assert_eq!(entries[0].sha256, secret.digest());
        assert_eq!((&entries[0].holder, entries[0].ask), (&kim(), Some(Ask::None)));
        assert_eq!((&*entries[1].name, &entries[1].holder), ("webui", &service));
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains(secret.reveal()) && text.lines().count() == 2, "{text}");
        assert!(file.remove("laptop").unwrap());
        assert_eq!(file.list().unwrap().len(), 1);
        assert!(file.add("no name", kim(), TokenScopes::ALL, None).is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(file.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn the_tokens_of_a_user_go_at_once_and_those_of_others_and_of_services_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(folder.path().join("tokens"));
        let user = |name: &str| UserId::new(name).unwrap();
        assert!(file.remove_of(&user("kim")).unwrap().is_empty() && !file.path().exists());
        for (name, holder) in [("laptop", "kim"), ("phone", "lee"), ("desk", "kim"), ("k", "kimm")]
        {
            file.add(name, TokenHolder::User(user(holder)), TokenScopes::ALL, None).unwrap();
        }
        let service = TokenHolder::service(ServicePrefix::new("kim").unwrap());
        file.add("service", service, TokenScopes::OF_SERVICE, None).unwrap();
        assert_eq!(file.remove_of(&user("kim")).unwrap(), ["laptop", "desk"]);
        let left: Vec<_> = file.list().unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(left, ["phone", "k", "service"]);
        assert!(file.remove_of(&user("kim")).unwrap().is_empty());
    }

    #[test]
    fn no_change_is_lost_where_many_change_the_file_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(folder.path().join("tokens"));
        std::thread::scope(|scope| {
            for number in 0..16 {
                let file = &file;
                scope.spawn(move || {
                    let name = format!("n{number}");
                    file.add(&name, kim(), TokenScopes::ALL, None).unwrap();
                    if number % 2 == 0 {
                        assert!(file.remove(&name).unwrap());
                    }
                });
            }
        });
        let mut names: Vec<_> = file.list().unwrap().into_iter().map(|entry| entry.name).collect();
        names.sort();
        assert_eq!(names, ["n1", "n11", "n13", "n15", "n3", "n5", "n7", "n9"]);
    }

    #[test]
    fn a_line_that_is_no_token_is_named_and_nothing_is_taken_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(folder.path().join("tokens"));
        file.add("laptop", kim(), TokenScopes::ALL, None).unwrap();
        let good = std::fs::read_to_string(file.path()).unwrap();
        let good = good.trim_end();
        for (bad, wanted) in [
            ("{}".to_owned(), "line 2"),
            ("nonsense".to_owned(), "line 2"),
            (good.to_owned(), "two tokens"),
            (good.replace("laptop", "b").replace("\"user\":\"kim\",", ""), "line 2"),
            (good.replace("laptop", "b").replace("\"scopes\"", "\"more\":1,\"scopes\""), "line 2"),
            (good.replace("laptop", "b").replace("chat", "root"), "line 2"),
        ] {
            std::fs::write(file.path(), format!("{good}\n{bad}\n")).unwrap();
            let error = file.list().unwrap_err().to_string();
            assert!(error.contains(wanted), "{bad}: {error}");
        }
        std::fs::write(file.path(), " ".repeat(MAX_BYTES as usize + 1)).unwrap();
        assert!(file.list().is_err());
    }
}
