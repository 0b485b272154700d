//! Keeps other accounts from the database, its log, its index and its locks, on Unix. Elsewhere the
//! rules of the folder hold.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind},
    path::Path,
};

use super::{OpenError, inspect::Sharing};
use crate::store::files::create_new;

/// Creates an empty file for a database, unless one exists. SQLite creates its log and its index
/// with the mode of this file.
pub(super) fn create(database: &Path) -> io::Result<()> {
    // The file is new, so no part of this process can have it open.
    match create_new(database) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a lock file that no other account can lock.
pub(super) fn open_lock(path: &Path, database: &Path) -> Result<File, OpenError> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    unix::no_links(&mut options);
    let file = options.open(path).map_err(|cause| OpenError::of_io(database, cause))?;
    #[cfg(unix)]
    unix::must_be_ours(&file, path, database)?;
    Ok(file)
}

/// Takes away the rights of other accounts on a database; on an embedder's file it only logs them.
pub(super) fn tighten(database: &Path, sharing: Sharing) {
    #[cfg(unix)]
    unix::tighten(database, sharing);
    #[cfg(not(unix))]
    let _ = (database, sharing);
}

#[cfg(unix)]
mod unix {
    use std::{
        fs::{self, File, Metadata, OpenOptions, Permissions},
        os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
        path::Path,
    };

    use rustix::{fs::OFlags, process::geteuid};
    use tracing::warn;

    use super::{OpenError, Sharing};
    use crate::store::files::{beside, is_foreign};

    /// The user may read and write; other accounts may do nothing.
    pub(super) const OURS: u32 = 0o600;
    /// The rights of other accounts.
    const OTHERS: u32 = 0o077;
    /// The right of every account to create files in a folder; without the sticky bit, also to
    /// remove them.
    const ANYBODY_WRITES: u32 = 0o002;
    const STICKY: u32 = 0o1000;

    /// Opens no link and no pipe: a link could lead into another account's file, and a pipe would
    /// wait for a reader.
    pub(super) fn no_links(options: &mut OpenOptions) {
        let flags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK);
        options.mode(OURS).custom_flags(flags.bits().cast_signed());
    }

    /// Refuses a lock file that another account can open, because it could hold the lock forever.
    pub(super) fn must_be_ours(file: &File, path: &Path, database: &Path) -> Result<(), OpenError> {
        let unusable = |cause| OpenError::of_io(database, cause);
        let metadata = file.metadata().map_err(unusable)?;
        // The owner of the database can lock out other programs anyway.
        let owner = fs::metadata(database).ok().map(|found| found.uid());
        let is_ours = metadata.uid() == geteuid().as_raw() || Some(metadata.uid()) == owner;
        if !metadata.is_file() || !is_ours {
            return Err(OpenError::ForeignLock { path: path.to_owned() });
        }
        if metadata.mode() & OTHERS != 0 {
            file.set_permissions(Permissions::from_mode(OURS)).map_err(unusable)?;
        }
        Ok(())
    }

    pub(super) fn tighten(database: &Path, sharing: Sharing) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            only_ours(&beside(database, suffix), sharing);
        }
        let folder = database.parent().map(|folder| (folder, fs::metadata(folder)));
        if let Some((folder, Ok(metadata))) = folder
            && is_anybodys(&metadata)
        {
            warn!(
                folder = %folder.display(),
                "another account may replace the database: take the right to write in its folder away from others"
            );
        }
    }

    /// Returns whether any account may replace a file in this folder.
    fn is_anybodys(folder: &Metadata) -> bool {
        folder.mode() & ANYBODY_WRITES != 0 && folder.mode() & STICKY == 0
    }

    /// Returns whether other accounts have any right on this file.
    fn is_exposed(file: &Metadata) -> bool {
        file.is_file() && file.mode() & OTHERS != 0
    }

    fn only_ours(path: &Path, sharing: Sharing) {
        // Opens nothing: a process that closes a file loses all its locks on it.
        let Ok(metadata) = fs::symlink_metadata(path) else { return };
        if is_foreign(metadata.uid(), geteuid().as_raw()) {
            let file = path.display();
            let owner = metadata.uid();
            warn!(%file, owner, "the database belongs to another account, which can read and change it");
        }
        if !is_exposed(&metadata) {
            return;
        }
        let file = path.display();
        if sharing == Sharing::WithEmbedder {
            warn!(%file, "other users of this machine may open the database");
            return;
        }
        let ours = Permissions::from_mode(metadata.mode() & !OTHERS);
        match fs::set_permissions(path, ours) {
            Ok(()) => {
                warn!(%file, "other users of this machine could open the database, and cannot any more")
            }
            Err(error) => warn!(%file, %error, "other users of this machine may open the database"),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_others_may_do_is_told_by_the_mode() {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("a.db");
            File::create(&file).unwrap();
            let with = |path: &Path, mode| {
                fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
                fs::symlink_metadata(path).unwrap()
            };
            for (mode, exposed) in [(0o600, false), (0o700, false), (0o640, true), (0o604, true)] {
                assert_eq!(is_exposed(&with(&file, mode)), exposed, "{mode:o}");
            }
            let folder = folder.path();
            assert!(!is_exposed(&with(folder, 0o755)), "a folder is no file");
            for (mode, anybodys) in
                [(0o700, false), (0o755, false), (0o1777, false), (0o777, true), (0o702, true)]
            {
                assert_eq!(is_anybodys(&with(folder, mode)), anybodys, "{mode:o}");
            }
        }
    }
}
