//! Renames a file without replacing another, in one step if the system can do that.
use std::os::fd::OwnedFd;

use rustix::{
    fs::{AtFlags, linkat, unlinkat},
    io::{Errno, Result},
};

/// Renames a file, also to another folder. Returns an error if something has that name there
/// already.
pub(super) fn rename_new(from: (&OwnedFd, &str), to: (&OwnedFd, &str)) -> Result<()> {
    match in_one_step(from, to) {
        // A hard link fails if the name exists. After it, the first name is removed.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            linkat(from.0, from.1, to.0, to.1, AtFlags::empty())?;
            unlinkat(from.0, from.1, AtFlags::empty())
        }
        ended => ended,
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn in_one_step(from: (&OwnedFd, &str), to: (&OwnedFd, &str)) -> Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn in_one_step(_: (&OwnedFd, &str), _: (&OwnedFd, &str)) -> Result<()> {
    Err(Errno::NOSYS)
}
