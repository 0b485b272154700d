//! Mirrors each page of a user as a Markdown file, in folders that follow the tree.
//!
//! The mirror is one-way: files are written from the store and never read back. A separate task
//! writes the files from it after each commit, so no tool waits for a file or fails because of one.
//! At its start, the task compares all files with their pages and repairs them. A renamed page gets
//! a new file, and the old one is removed like that of a deleted page.
//!
//! - `task` waits for commits. `pass` goes through the pages and makes their files follow.
//! - `records` reads which pages have changed, and records the files that the mirror wrote, by
//!   their `hash`.
//! - `markdown` writes a page as text. `folder` and `rename` touch the files.
//!
//! Invariants:
//! - A file that the mirror did not write is neither overwritten nor removed. If it is at the place
//!   of a page, it is renamed.
//! - Nothing is read or written through a link, or outside of the workspace.
//! - If the process ends at any step, the next start repairs the files.
mod folder;
mod hash;
mod markdown;
mod pass;
mod records;
mod rename;
mod report;
mod steps;
mod task;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use madang::UserId;

pub use pass::{clear, repair};
pub use report::{MirrorEnd, MirrorError, MirrorReport};
pub use task::Mirror;

/// Removes the workspace of a user next to the database, with all files in it, and returns whether
/// it existed. A link is removed itself, and not its target.
///
/// # Errors
/// Returns [`MirrorError::Workspace`]. What was removed so far stays removed, and the next attempt
/// removes the rest.
pub fn remove_workspace_beside(database: &Path, user: &UserId) -> Result<bool, MirrorError> {
    let path = workspace_beside(database, user);
    let removed = match std::fs::symlink_metadata(&path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(&path),
        Ok(_) => std::fs::remove_file(&path),
        Err(cause) => Err(cause),
    };
    match removed {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(MirrorError::Workspace { path, cause }),
    }
}

/// Returns the default workspace of a user, a folder next to the database.
#[must_use]
pub fn workspace_beside(database: &Path, user: &UserId) -> PathBuf {
    let safe = super::file_name::file_name(user.as_str());
    let is_plain = safe == user.as_str() && super::fold::fold(&safe) == safe && !is_marked(&safe);
    let name = if is_plain {
        safe
    } else {
        // Users whose names a file system takes for the same need different folders. With this many
        // digits, no user can choose another's folder name.
        let hash = hash::hash(user.as_str().as_bytes());
        let mark: String = hash[..MARK / 2].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{safe} {mark}")
    };
    database.with_extension("notes").join(name)
}

/// Digits at the end of a folder's name, for a user whose own name cannot be one.
const MARK: usize = 32;

/// Returns whether a name ends in such digits.
fn is_marked(name: &str) -> bool {
    let end = name.rsplit(' ').next().unwrap_or_default();
    end.len() == MARK && end.bytes().all(|byte| byte.is_ascii_hexdigit())
}
