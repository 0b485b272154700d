//! Renames a file without replacing another, in one step if the system can do that.
use std::os::fd::OwnedFd;

use rustix::{
    fs::{AtFlags, Mode, OFlags, linkat, openat, renameat, unlinkat},
    io::{Errno, Result},
};

/// Renames a file of the mirror's own, also to another folder. Returns an error if something has
/// that name there already.
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

/// Moves a file away within its folder, whoever saves another by its name meanwhile. Returns an error
/// if something has the name `to` already.
pub(super) fn move_away(folder: &OwnedFd, from: &str, to: &str) -> Result<()> {
    match in_one_step((folder, from), (folder, to)) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => move_over_empty(folder, from, to),
        ended => ended,
    }
}

/// Takes the name with an empty file, and renames over that. With a link and a removal, as above, the
/// removal could meet a file that was saved after the link.
fn move_over_empty(folder: &OwnedFd, from: &str, to: &str) -> Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    drop(openat(folder, to, flags, Mode::from_raw_mode(0o600))?);
    renameat(folder, from, folder, to).inspect_err(|_| {
        let _ = unlinkat(folder, to, AtFlags::empty());
    })
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

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    type Moves = fn(&OwnedFd, &str, &str) -> Result<()>;

    #[test]
    fn a_file_that_moves_away_replaces_none_and_leaves_nothing_behind() {
        for moves in [move_away as Moves, move_over_empty as Moves] {
            let folder = tempfile::tempdir().unwrap();
            let opened = OwnedFd::from(File::open(folder.path()).unwrap());
            let path = |name: &str| folder.path().join(name);
            fs::write(path("p.md"), "mine").unwrap();
            fs::write(path("taken"), "another").unwrap();
            assert_eq!(moves(&opened, "p.md", "taken"), Err(Errno::EXIST));
            assert_eq!(moves(&opened, "gone.md", "free"), Err(Errno::NOENT));
            assert!(!path("free").exists(), "no empty file stays");
            moves(&opened, "p.md", "free").unwrap();
            assert_eq!(fs::read_to_string(path("free")).unwrap(), "mine");
            assert_eq!(fs::read_to_string(path("taken")).unwrap(), "another");
            assert!(!path("p.md").exists());
        }
    }
}
