//! The Markdown mirror: each page of a user as a file, in folders that follow the tree.
//!
//! The store is the truth. A change of a page counts up a mark in the very transaction of the change; the mirror writes
//! the marked pages after the commit, in a task of its own, and no tool waits for it. A file that a person edited becomes
//! the page, or is kept beside where the page has changed as well: nothing is overwritten that the mirror did not write.
//!
//! A page with a new name moves its file, and one that is gone takes it away: `gone` says in which order, `leaving` does it.
//!
//! `plan` decides, `markdown` and `diff` translate, `marks` reads and writes the marks, `folder` touches files: one that is
//! reached through a link, or that is no plain file, is left alone.
mod diff;
mod folder;
mod gone;
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

/// Removes the workspace of a user that lies beside the database, and says whether there was one. All in it goes, also files
/// that the mirror has not written; a link is removed itself and not what it leads to.
///
/// # Errors
/// [`MirrorError::Workspace`]; what is left is removed by the next attempt.
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

/// Where the workspace of a user lies by default: in a folder beside the database.
#[must_use]
pub fn workspace_beside(database: &Path, user: &UserId) -> PathBuf {
    let safe = super::file_name::file_name(user.as_str());
    let is_plain = safe == user.as_str() && super::fold::fold(&safe) == safe && !is_marked(&safe);
    let name = if is_plain {
        safe
    } else {
        // Two users whose names look alike to a file system are two all the same. So many digits that no user finds a name
        // with those of another.
        let hash = marks::hash(user.as_str().as_bytes());
        let mark: String = hash[..MARK / 2].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{safe} {mark}")
    };
    database.with_extension("notes").join(name)
}

/// Digits behind the folder's name of a user whose own name cannot be one.
const MARK: usize = 32;

/// Whether a name ends as that of such a folder does.
fn is_marked(name: &str) -> bool {
    let end = name.rsplit(' ').next().unwrap_or_default();
    end.len() == MARK && end.bytes().all(|byte| byte.is_ascii_hexdigit())
}
