//! The Markdown mirror: each page of a user as a file, in folders that follow the tree.
//!
//! The store is the truth. A change of a page counts up a mark in the same transaction. After the commit a separate
//! task writes the marked pages, and no tool waits for it. A renamed page moves its file, and a deleted page removes
//! it.
//!
//! - `task` waits for commits; `pass` goes through the pages: it reads each file, decides, writes, and records the
//!   result.
//! - `plan` decides; `markdown` and `diff` translate between pages and files; `hash` recognises files.
//! - `marks` and `left` read and write the marks in the store; `gone` moves and removes files of renamed and deleted
//!   pages.
//! - `folder`, `leaving` and `rename` touch the files.
//!
//! Invariants:
//! - A file that the mirror did not write is never overwritten. A person's edit becomes the page; if the page changed
//!   too, the edit is kept beside it.
//! - Nothing is read or written through a link, or outside of the workspace.
//! - After an end of the process at any step, the next pass repairs both sides.
mod diff;
mod folder;
mod gone;
mod hash;
mod leaving;
mod left;
mod markdown;
mod marks;
mod pass;
mod plan;
mod rename;
mod report;
mod steps;
mod task;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use madang::UserId;

pub use gone::clear;
pub use pass::sync;
pub use report::{MirrorError, MirrorReport};
pub use task::Mirror;

/// Removes the workspace of a user beside the database, with all files in it, and tells whether it existed. Removes a
/// link itself, not its target.
///
/// # Errors
/// [`MirrorError::Workspace`]; the next attempt removes the rest.
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

/// Returns the default workspace of a user: a folder beside the database.
#[must_use]
pub fn workspace_beside(database: &Path, user: &UserId) -> PathBuf {
    let safe = super::file_name::file_name(user.as_str());
    let is_plain = safe == user.as_str() && super::fold::fold(&safe) == safe && !is_marked(&safe);
    let name = if is_plain {
        safe
    } else {
        // Users whose names a file system takes for equal need different folders. With this many digits no user can
        // choose another's folder name.
        let hash = hash::hash(user.as_str().as_bytes());
        let mark: String = hash[..MARK / 2].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{safe} {mark}")
    };
    database.with_extension("notes").join(name)
}

/// Digits at the end of a folder's name, for a user whose own name cannot be one.
const MARK: usize = 32;

/// Tells whether a name ends in such digits.
fn is_marked(name: &str) -> bool {
    let end = name.rsplit(' ').next().unwrap_or_default();
    end.len() == MARK && end.bytes().all(|byte| byte.is_ascii_hexdigit())
}
