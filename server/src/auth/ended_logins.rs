//! Keeps the logins that a person ended before their time, by signing out.
//!
//! A cookie itself contains its expiry. So the server keeps the logins that were ended earlier, in
//! memory and in a file next to the key, each until it would have expired.

use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use madang::{Timestamp, approval::Digest};

use super::{login::Login, private_file};

/// How many ended logins of one token are remembered one by one. A person has fewer browsers.
/// Beyond this number, all logins of the token that end before these are over too. So a token
/// cannot fill the file.
const MAX_OF_TOKEN: usize = 64;
/// The longest file: 64 logins of 80 bytes for each of 10,000 tokens.
const MAX_BYTES: u64 = 52 << 20;

/// The ended logins, and the file that keeps them.
#[derive(Debug, Default)]
pub(super) struct EndedLogins {
    path: Option<PathBuf>,
    ended: Mutex<LoginTable>,
}

impl EndedLogins {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, can be read or changed by another account, or
    /// has other lines.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let mut text = String::new();
        match private_file::open(&path, OpenOptions::new().read(true)) {
            Ok(file) => drop(file.take(MAX_BYTES).read_to_string(&mut text)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let table = LoginTable::parse(&text).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{} has no logins", path.display()))
        })?;
        Ok(Self { path: Some(path), ended: Mutex::new(table) })
    }

    /// Returns the end of a new login: this moment, or a little later so that no other login ends
    /// then.
    pub(super) fn unused(&self, until: Timestamp) -> Timestamp {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).unused(until)
    }

    /// Returns whether a login was ended.
    pub(super) fn has(&self, login: Login) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).has(login)
    }

    /// Ends a login. It no longer counts from now on, even if it cannot be written. Blocks for as
    /// long as the disk takes.
    ///
    /// # Errors
    /// Returns an error if the file could not be written. The login would count again after a
    /// restart.
    pub(super) fn add(&self, login: Login, now: Timestamp) -> io::Result<()> {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.add(login, now);
        match &self.path {
            Some(path) => write(path, &ended.text()),
            None => Ok(()),
        }
    }
}

/// Puts a whole file in place of the previous one.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let fresh = path.with_added_extension("new");
    // This is left by a process that was killed here.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = private_file::create(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, path)
}

/// The ended logins of each token, by the moments at which they would have ended.
#[derive(Debug, Default, PartialEq, Eq)]
struct LoginTable {
    ended: HashMap<Digest, BTreeSet<Timestamp>>,
    /// The moment at which the newest login ends. Each login has a moment of its own, by which it
    /// is known.
    newest: i64,
}

impl LoginTable {
    fn unused(&mut self, until: Timestamp) -> Timestamp {
        self.newest = until.millis().max(self.newest + 1);
        Timestamp::from_millis(self.newest)
    }

    fn has(&self, Login { token, until }: Login) -> bool {
        self.ended.get(&token).is_some_and(|ended| {
            let is_full = ended.len() >= MAX_OF_TOKEN;
            ended.contains(&until) || is_full && ended.first().is_some_and(|first| until < *first)
        })
    }

    fn add(&mut self, Login { token, until }: Login, now: Timestamp) {
        self.ended.retain(|_, ended| {
            ended.retain(|until| now < *until);
            !ended.is_empty()
        });
        let ended = self.ended.entry(token).or_default();
        ended.insert(until);
        if ended.len() > MAX_OF_TOKEN {
            ended.pop_first();
        }
    }

    /// Writes a line for each login: the hash of its token, and its moment.
    fn text(&self) -> String {
        let lines = self.ended.iter().flat_map(|(token, ended)| {
            ended.iter().map(move |until| format!("{token} {}\n", until.millis()))
        });
        lines.collect()
    }

    fn parse(text: &str) -> Option<Self> {
        let mut table = Self::default();
        for line in text.lines() {
            let (token, until) = line.split_once(' ')?;
            let token = Digest::try_from(token.to_owned()).ok()?;
            let until = Timestamp::from_millis(until.parse().ok()?);
            table.ended.entry(token).or_default().insert(until);
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(token: u8, until: i64) -> Login {
        Login { token: Digest::new([token; 32]), until: Timestamp::from_millis(until) }
    }

    const NOW: Timestamp = Timestamp::from_millis(0);

    #[test]
    fn an_ended_login_stays_ended_after_a_restart_and_others_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let open = || EndedLogins::open(folder.path().join("ended")).unwrap();
        let first = open();
        first.add(login(1, 100), NOW).unwrap();
        first.add(login(2, 200), NOW).unwrap();
        for ended in [first, open()] {
            assert!(ended.has(login(1, 100)) && ended.has(login(2, 200)));
            assert!(!ended.has(login(1, 200)) && !ended.has(login(3, 100)));
        }
        std::fs::write(folder.path().join("ended"), "what").unwrap();
        assert!(EndedLogins::open(folder.path().join("ended")).is_err());
    }

    #[test]
    fn logins_of_one_moment_are_ended_apart() {
        let logins = EndedLogins::default();
        let [one, two] = [(); 2].map(|()| logins.unused(Timestamp::from_millis(100)).millis());
        logins.add(login(1, one), NOW).unwrap();
        assert!(logins.has(login(1, one)) && !logins.has(login(1, two)));
    }

    #[test]
    fn what_is_over_by_itself_is_forgotten() {
        let mut table = LoginTable::default();
        table.add(login(1, 100), NOW);
        table.add(login(2, 200), Timestamp::from_millis(100));
        assert_eq!(table.text().lines().count(), 1);
        assert!(table.has(login(2, 200)));
    }

    #[test]
    fn a_token_that_signs_out_without_end_fills_nothing_and_revives_nothing() {
        let mut table = LoginTable::default();
        for until in 1..=1_000 {
            table.add(login(1, until), NOW);
        }
        assert_eq!(table.text().lines().count(), MAX_OF_TOKEN);
        assert!((1..=1_000).all(|until| table.has(login(1, until))));
        assert!(!table.has(login(1, 1_001)) && !table.has(login(2, 1)));
        assert_eq!(LoginTable::parse(&table.text()), Some(table));
    }
}
