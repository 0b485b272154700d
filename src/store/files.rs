//! Names and makes files that only this account may read.

use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

/// Returns the path of a file in the same folder, whose name is that of this file and a suffix.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Creates a file that no other account can open.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns whether a file of this owner belongs to another account than this process. Root can read
/// and change every file.
#[cfg(unix)]
pub(crate) const fn is_foreign(owner: u32, ours: u32) -> bool {
    owner != ours && owner != 0
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_foreign_if_neither_this_account_nor_root_owns_it() {
        let cases = [(1000, 1000, false), (0, 1000, false), (1001, 1000, true), (1000, 0, true)];
        for (owner, ours, foreign) in cases {
            assert_eq!(is_foreign(owner, ours), foreign, "{owner} {ours}");
        }
    }
}
