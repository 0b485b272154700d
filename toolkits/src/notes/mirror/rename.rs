//! Renames files without replacing any, and exchanges two files: in one step where the system can.
use std::os::fd::OwnedFd;

use rustix::io::{Errno, Result};

/// Renames a file unless something has that name already.
pub(super) fn rename_new(folder: &OwnedFd, from: &str, to: &str) -> Result<()> {
    rename_across((folder, from), (folder, to))
}

/// Moves a file to another folder unless something has that name there already.
pub(super) fn rename_across(from: (&OwnedFd, &str), to: (&OwnedFd, &str)) -> Result<()> {
    match in_one_step(from, to, Way::New) {
        // A hard link fails if the name exists; then the first name goes.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            use rustix::fs::{AtFlags, linkat, unlinkat};
            linkat(from.0, from.1, to.0, to.1, AtFlags::empty())?;
            unlinkat(from.0, from.1, AtFlags::empty())
        }
        ended => ended,
    }
}

/// Exchanges two files.
pub(super) fn exchange(folder: &OwnedFd, one: &str, other: &str) -> Result<()> {
    in_one_step((folder, one), (folder, other), Way::Exchange)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    New,
    Exchange,
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn in_one_step(from: (&OwnedFd, &str), to: (&OwnedFd, &str), way: Way) -> Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    let flags = match way {
        Way::New => RenameFlags::NOREPLACE,
        Way::Exchange => RenameFlags::EXCHANGE,
    };
    renameat_with(from.0, from.1, to.0, to.1, flags)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn in_one_step(_: (&OwnedFd, &str), _: (&OwnedFd, &str), _: Way) -> Result<()> {
    Err(Errno::NOSYS)
}
