//! Gives llama.cpp the model as a file with a path, which llama.cpp requires.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use uuid::Uuid;

use super::{LoadError, options::Source};

/// A model on the disk. A temporary file is removed when this value is dropped, or at once if it
/// can be read without a name.
#[derive(Debug)]
pub(super) struct ModelFile {
    path: PathBuf,
    /// The name of a temporary file that is still to be removed.
    named: Option<PathBuf>,
    /// A temporary file, which lasts as long as it is open.
    temporary: Option<File>,
}

impl ModelFile {
    /// Uses the file itself, or writes a new one that no other program can have prepared.
    pub(super) fn of(source: &Source) -> Result<Self, LoadError> {
        let bytes = match source {
            Source::File(path) => {
                return Ok(Self { path: path.clone(), named: None, temporary: None });
            }
            Source::Bytes { bytes, .. } => bytes,
        };
        let path = std::env::temp_dir().join(format!("madang-{}.gguf", Uuid::now_v7()));
        let unpack = |cause| LoadError::Unpack { path: path.clone(), cause };
        let file = File::create_new(&path).map_err(unpack)?;
        let mut model = Self { path: path.clone(), named: Some(path.clone()), temporary: None };
        model.temporary.insert(file).write_all(bytes).map_err(unpack)?;
        model.lose_name();
        Ok(model)
    }

    /// Removes the name of the file if it can be opened by its number as well. A process that is
    /// killed while it loads then leaves nothing on the disk.
    fn lose_name(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(file) = &self.temporary {
            use std::os::fd::AsRawFd as _;
            let by_number = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
            if by_number.exists()
                && self.named.as_ref().is_some_and(|name| fs::remove_file(name).is_ok())
            {
                self.path = by_number;
                self.named = None;
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file stays, so that its pages may be read on demand.
    pub(super) fn stays(&self) -> bool {
        self.temporary.is_none()
    }
}

impl Drop for ModelFile {
    fn drop(&mut self) {
        if let Some(name) = &self.named
            && let Err(error) = fs::remove_file(name)
        {
            tracing::warn!(%error, path = %name.display(), "failed to remove the unpacked model");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn an_unpacked_model_has_no_name_that_a_kill_could_leave_behind() {
        let source = Source::Bytes { name: "a".into(), bytes: b"a model".into() };
        let model = ModelFile::of(&source).unwrap();
        assert_eq!(fs::read(model.path()).unwrap(), b"a model");
        let target = fs::read_link(model.path()).unwrap().display().to_string();
        assert!(target.ends_with(".gguf (deleted)"), "{target}");
        assert!(!model.stays());
    }
}
