//! Keeps the keys of seals in a file in the user's configuration, never in the folder of the
//! database.
//!
//! A program that can write the database must not have the keys. If they were beside the database,
//! they would be copied, shared and replaced with it.

use std::{
    env, fs,
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use madang_actors::ledger::{NoRandomness, SealKey, SealKeys};
use uuid::Uuid;

use super::files::{beside, create_new};

/// The variable that names the key file if the program does not.
pub(super) const VARIABLE: &str = "MADANG_SEAL_KEYS";

/// The start of each line.
const KIND: &str = "madang-seal-key-1";

/// A file with the keys of seals, one on each line, the newest first. Only its owner may read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealKeyFile(PathBuf);

/// A reason why the seal keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealKeyError {
    /// The environment names no folder for the file.
    #[error(
        "neither MADANG_SEAL_KEYS, XDG_CONFIG_HOME nor HOME says where the seal keys are kept; set MADANG_SEAL_KEYS to a file"
    )]
    NoPlace,
    /// The file cannot be read or created.
    #[error("failed to use the seal keys in {}; check that you may read and write there, or set MADANG_SEAL_KEYS to another file", path.display())]
    Unusable {
        /// The key file.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// Other accounts can read or change the file.
    #[error("others can read or change the seal keys in {}; let only its owner do so (`chmod 600`)", path.display())]
    Exposed {
        /// The key file.
        path: PathBuf,
    },
    /// Another account owns the file, and can read and change it.
    #[error("the seal keys in {} belong to another account; use a file of the account that the program runs as", path.display())]
    Foreign {
        /// The key file.
        path: PathBuf,
    },
    /// The file holds something other than keys.
    #[error("{} has no seal keys; restore it from a backup", path.display())]
    Damaged {
        /// The key file.
        path: PathBuf,
    },
    /// The system has no random numbers.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

impl SealKeyFile {
    /// Uses the file at this path.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns the usual file: `MADANG_SEAL_KEYS`, or `madang/seal.keys` in the user's
    /// configuration.
    ///
    /// # Errors
    /// [`SealKeyError::NoPlace`] if the environment names no folder.
    pub fn usual() -> Result<Self, SealKeyError> {
        usual(|name| env::var_os(name).map(PathBuf::from)).ok_or(SealKeyError::NoPlace).map(Self)
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the keys. Returns `None` if there is no file.
    ///
    /// # Errors
    /// [`SealKeyError`] says what to do.
    pub fn read(&self) -> Result<Option<SealKeys>, SealKeyError> {
        let keys = self.keys()?;
        Ok(keys.map(SealKeys::new))
    }

    /// Reads the keys, or creates the file with a fresh one. Programs that create it at the same
    /// time all read the same keys.
    ///
    /// # Errors
    /// [`SealKeyError`] says what to do.
    pub fn read_or_create(&self) -> Result<SealKeys, SealKeyError> {
        self.read_or_create_with(sync)
    }

    fn read_or_create_with(&self, sync: SyncFolder) -> Result<SealKeys, SealKeyError> {
        let keys = match self.read()? {
            Some(keys) => keys,
            None => self.created()?,
        };
        // Before a database needs the key, which may be on another disk. A key that is there
        // already may be new, too.
        self.sync_names(sync)?;
        Ok(keys)
    }

    fn created(&self) -> Result<SealKeys, SealKeyError> {
        self.create_folder()?;
        let fresh = self.written(&[SealKey::random()?])?;
        // A hard link replaces no existing file, as a rename would.
        let linked = fs::hard_link(&fresh, &self.0);
        self.remove(&fresh);
        // The link failed because another program created the file first: its keys count.
        let cause = || linked.err().unwrap_or_else(|| ErrorKind::NotFound.into());
        self.read()?.ok_or_else(|| self.unusable(cause()))
    }

    /// Adds a fresh key before the others. It seals from the next start on, and older keys still
    /// verify older seals.
    ///
    /// # Errors
    /// [`SealKeyError`] says what to do. The file is then unchanged, or has the fresh key already.
    pub fn rotate(&self) -> Result<SealKeys, SealKeyError> {
        self.rotate_with(sync)
    }

    fn rotate_with(&self, sync: SyncFolder) -> Result<SealKeys, SealKeyError> {
        let mut keys = self.keys()?.unwrap_or_default();
        keys.insert(0, SealKey::random()?);
        self.create_folder()?;
        let fresh = self.written(&keys)?;
        fs::rename(&fresh, &self.0).map_err(|cause| {
            self.remove(&fresh);
            self.unusable(cause)
        })?;
        self.sync_names(sync)?;
        Ok(SealKeys::new(keys))
    }

    fn keys(&self) -> Result<Option<Vec<SealKey>>, SealKeyError> {
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(SealKeyError::Damaged { path: self.0.clone() });
            }
            Err(cause) => return Err(self.unusable(cause)),
        };
        self.must_be_private()?;
        let keys: Option<Vec<_>> = text.lines().map(key).collect();
        let keys = keys.filter(|keys| !keys.is_empty());
        keys.map(Some).ok_or_else(|| SealKeyError::Damaged { path: self.0.clone() })
    }

    #[cfg(unix)]
    fn must_be_private(&self) -> Result<(), SealKeyError> {
        use std::os::unix::fs::MetadataExt as _;
        let found = fs::metadata(&self.0).map_err(|cause| self.unusable(cause))?;
        let path = || self.0.clone();
        if super::files::is_foreign(found.uid(), rustix::process::geteuid().as_raw()) {
            return Err(SealKeyError::Foreign { path: path() });
        }
        if found.mode() & 0o077 != 0 {
            return Err(SealKeyError::Exposed { path: path() });
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn must_be_private(&self) -> Result<(), SealKeyError> {
        Ok(())
    }

    /// Writes keys durably to a new file in the same folder.
    fn written(&self, keys: &[SealKey]) -> Result<PathBuf, SealKeyError> {
        let path = beside(&self.0, &format!(".{}", Uuid::now_v7().simple()));
        let write = || -> io::Result<()> {
            let mut file = create_new(&path)?;
            for key in keys {
                writeln!(file, "{KIND} {}", key.digits())?;
            }
            file.sync_all()
        };
        write().map_err(|cause| {
            self.remove(&path);
            self.unusable(cause)
        })?;
        Ok(path)
    }

    fn create_folder(&self) -> Result<(), SealKeyError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder_of(&self.0)).map_err(|cause| self.unusable(cause))
    }

    /// Makes the names of the file and of the folders above it durable: some of them may be new.
    fn sync_names(&self, sync: SyncFolder) -> Result<(), SealKeyError> {
        let folders =
            folder_of(&self.0).ancestors().filter(|folder| !folder.as_os_str().is_empty());
        folders.into_iter().try_for_each(sync).map_err(|cause| self.unusable(cause))
    }

    fn remove(&self, path: &Path) {
        if let Err(error) = fs::remove_file(path) {
            tracing::debug!(%error, keys = %self.0.display(), "a file of keys stays behind");
        }
    }

    fn unusable(&self, cause: io::Error) -> SealKeyError {
        SealKeyError::Unusable { path: self.0.clone(), cause }
    }
}

/// Makes the names in a folder durable.
type SyncFolder = fn(&Path) -> io::Result<()>;

/// Makes the names in a folder durable, if this program may and the file system can.
#[cfg(unix)]
fn sync(folder: &Path) -> io::Result<()> {
    use ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    match fs::File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) => {
            tracing::debug!(%error, folder = %folder.display(), "a folder of keys cannot be synced");
            Ok(())
        }
        synced => synced,
    }
}

// Elsewhere a folder cannot be opened like a file, and the file system's journal has the names.
#[cfg(not(unix))]
fn sync(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the folder of a path.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn key(line: &str) -> Option<SealKey> {
    let digits = line.strip_prefix(KIND)?.strip_prefix(' ')?;
    SealKey::from_digits(digits)
}

fn usual(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(file) = variable(VARIABLE).filter(|path| !path.as_os_str().is_empty()) {
        return Some(file);
    }
    // XDG says to ignore relative paths.
    let absolute = |name| variable(name).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(config.join("madang").join("seal.keys"))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn file(folder: &tempfile::TempDir) -> SealKeyFile {
        SealKeyFile::at(folder.path().join("config/madang/seal.keys"))
    }

    fn ids(keys: &SealKeys) -> Vec<String> {
        keys.ids().map(|id| id.to_string()).collect()
    }

    #[test]
    fn the_keys_are_made_once_and_only_their_owner_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder);
        assert!(file.read().unwrap().is_none());
        let makers: Vec<_> = (0..8)
            .map(|_| {
                let file = file.clone();
                std::thread::spawn(move || ids(&file.read_or_create().unwrap()))
            })
            .collect();
        let made: Vec<_> = makers.into_iter().map(|maker| maker.join().unwrap()).collect();
        assert!(made.iter().all(|ids| *ids == made[0] && ids.len() == 1), "{made:?}");
        let left: Vec<_> = fs::read_dir(file.path().parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing else stays: {left:?}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(file.path()), 0o600);
            assert_eq!(mode(file.path().parent().unwrap()), 0o700);
            for exposed in [0o640, 0o604, 0o620] {
                fs::set_permissions(file.path(), fs::Permissions::from_mode(exposed)).unwrap();
                let error = file.read_or_create().unwrap_err();
                assert!(matches!(error, SealKeyError::Exposed { .. }), "{exposed:o}: {error}");
            }
            // Only root can change the owner of a file.
            if std::os::unix::fs::chown(file.path(), Some(65_534), None).is_ok() {
                let error = file.read_or_create().unwrap_err();
                assert!(matches!(error, SealKeyError::Foreign { .. }), "{error}");
            }
        }
    }

    #[test]
    fn the_names_of_file_and_folders_are_synced_before_a_key_counts() {
        thread_local!(static SYNCED: RefCell<Vec<(PathBuf, bool)>> = const { RefCell::new(Vec::new()) });
        fn noted(folder: &Path) -> io::Result<()> {
            let has_file = folder.join("seal.keys").exists();
            SYNCED.with_borrow_mut(|synced| synced.push((folder.to_owned(), has_file)));
            sync(folder)
        }
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder);
        let above = |synced: Vec<(PathBuf, bool)>| -> Vec<_> {
            let own = synced.into_iter().filter(|(synced, _)| synced.starts_with(folder.path()));
            own.map(|(synced, has_file)| {
                (synced.strip_prefix(folder.path()).unwrap().to_owned(), has_file)
            })
            .collect()
        };
        let expected = [("config/madang", true), ("config", false), ("", false)]
            .map(|(synced, has_file)| (PathBuf::from(synced), has_file));
        let error = file.read_or_create_with(|_| Err(ErrorKind::Other.into())).unwrap_err();
        assert!(matches!(error, SealKeyError::Unusable { .. }), "{error}");
        // The key is there by now, and its name may not be on the disk.
        file.read_or_create_with(noted).unwrap();
        assert_eq!(above(SYNCED.take()), expected);
        file.rotate_with(noted).unwrap();
        assert_eq!(above(SYNCED.take()), expected);
    }

    #[test]
    fn a_rotation_puts_a_fresh_key_before_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder);
        let first = ids(&file.read_or_create().unwrap());
        let rotated = ids(&file.rotate().unwrap());
        assert_eq!((rotated.len(), &rotated[1..]), (2, &*first));
        assert_eq!(ids(&file.read_or_create().unwrap()), rotated);
    }

    #[test]
    fn a_file_with_anything_else_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = SealKeyFile::at(folder.path().join("keys"));
        let good = format!("{KIND} {}\n", "0a".repeat(32));
        for text in
            ["", "\n", "secret", &good.replace("0a", "0g"), &good[..80], &format!("{good}x")]
        {
            fs::write(file.path(), text).unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
            }
            for error in [file.read_or_create().unwrap_err(), file.rotate().unwrap_err()] {
                assert!(matches!(error, SealKeyError::Damaged { .. }), "{text:?}: {error}");
            }
            assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_text_is_damaged_and_what_cannot_be_read_is_told_with_its_cause() {
        let folder = tempfile::tempdir().unwrap();
        let file = SealKeyFile::at(folder.path().join("keys"));
        fs::write(file.path(), [0xff, 0xfe]).unwrap();
        assert!(matches!(file.read().unwrap_err(), SealKeyError::Damaged { .. }));
        let folder = SealKeyFile::at(folder.path());
        assert!(matches!(folder.read().unwrap_err(), SealKeyError::Unusable { .. }));
    }

    #[test]
    fn the_usual_keys_are_among_the_users_configuration() {
        let path = |set: &[(&str, &str)]| {
            let value = |name: &str| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value))
            };
            usual(value)
        };
        let home = ("HOME", "/home/kim");
        let in_home = Some("/home/kim/.config/madang/seal.keys".into());
        assert_eq!(path(&[home]), in_home);
        assert_eq!(path(&[home, ("XDG_CONFIG_HOME", "config")]), in_home);
        assert_eq!(path(&[home, (VARIABLE, "")]), in_home);
        let elsewhere = path(&[home, ("XDG_CONFIG_HOME", "/config")]);
        assert_eq!(elsewhere, Some("/config/madang/seal.keys".into()));
        assert_eq!(path(&[home, (VARIABLE, "/keys")]), Some("/keys".into()));
        assert_eq!(path(&[]), None);
    }
}
