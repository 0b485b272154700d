//! Gives llama.cpp a model as a file with a path, which it requires.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use uuid::Uuid;

use super::{LoadError, options::Source};

/// A model on the disk; a temporary file is removed with this value.
#[derive(Debug)]
pub(super) struct ModelFile {
    path: PathBuf,
    is_temporary: bool,
}

impl ModelFile {
    /// Returns the file itself, or writes a new one that no other program can have prepared.
    pub(super) fn of(source: &Source) -> Result<Self, LoadError> {
        let bytes = match source {
            Source::File(path) => return Ok(Self { path: path.clone(), is_temporary: false }),
            Source::Bytes { bytes, .. } => bytes,
        };
        let path = std::env::temp_dir().join(format!("madang-{}.gguf", Uuid::now_v7()));
        let unpack = |cause| LoadError::Unpack { path: path.clone(), cause };
        let mut file = File::create_new(&path).map_err(unpack)?;
        let model = Self { path: path.clone(), is_temporary: true };
        file.write_all(bytes).map_err(unpack)?;
        Ok(model)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Tells whether the file stays, so that its pages may be read on demand.
    pub(super) fn stays(&self) -> bool {
        !self.is_temporary
    }
}

impl Drop for ModelFile {
    fn drop(&mut self) {
        if self.is_temporary
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "failed to remove the unpacked model");
        }
    }
}
