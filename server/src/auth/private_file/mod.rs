//! Opens files with secrets, if they belong to this account and nobody else can read or change
//! them.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

/// Why a file is not accepted as a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPrivate {
    /// The name is a link, or is not that of a file.
    #[error("it is a link or no file; remove it, and put a file of your own there")]
    NoFile,
    /// Another account can change what it has.
    #[error("it belongs to another account; use a file of the account that the program runs as")]
    Foreign,
    /// Others may read or change it.
    #[error("others can read or change it; let only its owner do so (`chmod 600`)")]
    Exposed,
}

impl NotPrivate {
    /// Finds this reason in an error that [`open`] returned.
    pub(super) fn among(cause: &io::Error) -> Option<Self> {
        cause.get_ref().and_then(|inner| inner.downcast_ref()).copied()
    }
}

impl From<NotPrivate> for io::Error {
    fn from(why: NotPrivate) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, why)
    }
}

/// Opens a file that only this account can read. It does not follow a link in the last name, and
/// does not wait for a pipe.
///
/// # Errors
/// Returns the error of the operating system, or one that contains [`NotPrivate`].
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|cause| match path.symlink_metadata() {
        Ok(named) if named.is_symlink() => NotPrivate::NoFile.into(),
        Ok(_) | Err(_) => cause,
    })?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let found = file.metadata()?;
        must_be_private(found.is_file(), found.uid(), found.mode())?;
    }
    Ok(file)
}

/// Judges a file by what the operating system says about it.
#[cfg(unix)]
fn must_be_private(is_file: bool, owner: u32, mode: u32) -> Result<(), NotPrivate> {
    match () {
        () if !is_file => Err(NotPrivate::NoFile),
        () if owner != rustix::process::geteuid().as_raw() => Err(NotPrivate::Foreign),
        () if mode & 0o077 != 0 => Err(NotPrivate::Exposed),
        () => Ok(()),
    }
}

/// Creates a file that only its owner can read.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests;
