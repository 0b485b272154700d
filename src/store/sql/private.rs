//! Whose eyes the files are for: on Unix a database, its log, its index and its locks are its user's alone. Elsewhere the
//! folder's own rules hold.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind},
    path::Path,
};

use super::{OpenError, inspect::Sharing};

/// Makes an empty file for a database, unless there is one. SQLite gives its log and its index the mode of the file.
pub(super) fn create(database: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // A new file: no part of this process can have it open already.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, unix::OURS);
    match options.open(database) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a lock file that nobody else can lock.
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

/// Takes what others may do to a database away from them; of a file that is the embedder's own, that is only said.
pub(super) fn tighten(database: &Path, sharing: Sharing) {
    #[cfg(unix)]
    unix::tighten(database, sharing);
    #[cfg(not(unix))]
    let _ = (database, sharing);
}

#[cfg(unix)]
mod unix {
    use std::{
        fs::{self, File, OpenOptions, Permissions},
        os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
        path::{Path, PathBuf},
    };

    use rustix::{fs::OFlags, process::geteuid};
    use tracing::warn;

    use super::{OpenError, Sharing};

    /// Its user may read and write it, and nobody else anything.
    pub(super) const OURS: u32 = 0o600;
    /// What others than its user may do to a file.
    const OTHERS: u32 = 0o077;
    /// Anybody may make files in a folder, and remove those of others unless it is sticky.
    const ANYBODY_WRITES: u32 = 0o002;
    const STICKY: u32 = 0o1000;

    /// A link could lead a lock into a file of somebody's, and a pipe would wait for a reader.
    pub(super) fn no_links(options: &mut OpenOptions) {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.mode(OURS).custom_flags(flags.bits().cast_signed());
    }

    /// Whoever can open a lock file can hold its lock for ever.
    pub(super) fn must_be_ours(file: &File, path: &Path, database: &Path) -> Result<(), OpenError> {
        let unusable = |cause| OpenError::of_io(database, cause);
        let metadata = file.metadata().map_err(unusable)?;
        // Who has the database may keep others out of it anyhow.
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
            let mut path = database.as_os_str().to_owned();
            path.push(suffix);
            only_ours(&PathBuf::from(path), sharing);
        }
        let folder = database.parent().map(|folder| (folder, fs::metadata(folder)));
        if let Some((folder, Ok(metadata))) = folder
            && metadata.mode() & ANYBODY_WRITES != 0
            && metadata.mode() & STICKY == 0
        {
            warn!(
                folder = %folder.display(),
                "anybody may replace the database: take the right to write in its folder away from others"
            );
        }
    }

    fn only_ours(path: &Path, sharing: Sharing) {
        // Nothing is opened: a process loses its locks on a file when any part of it closes that file.
        let Ok(metadata) = fs::symlink_metadata(path) else { return };
        if !metadata.is_file() || metadata.mode() & OTHERS == 0 {
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
}
