//! Creates the folder of a temporary database, and removes it.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use uuid::Uuid;

/// A folder that only this user can read, removed when dropped.
#[derive(Debug)]
pub(super) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(super) fn new() -> io::Result<Self> {
        let path = env::temp_dir().join(format!("madang-{}", Uuid::now_v7().simple()));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, folder = %self.0.display(), "a temporary folder stays behind");
        }
    }
}
