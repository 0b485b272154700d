//! Keeps the content of a file, and reads it again after the file changed.

use std::{
    error::Error,
    fmt, fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::SystemTime,
};

use tracing::{info, warn};

/// The current content of a file. Without a file, the content is fixed.
pub(crate) struct Watched<T, E> {
    /// Its name in the log.
    what: &'static str,
    path: Option<PathBuf>,
    read: Box<dyn Fn() -> Result<T, E> + Send + Sync>,
    /// What the file looked like when it was last read.
    seen: Mutex<Option<Looks>>,
    current: RwLock<Arc<T>>,
}

/// What shows that a file was changed. Files are replaced and not written over, so each has a
/// number of its own.
type Looks = (Option<SystemTime>, u64, u64);

impl<T, E> fmt::Debug for Watched<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<T, E: Error> Watched<T, E> {
    /// Reads for the first time.
    ///
    /// # Errors
    /// Returns the error of `read`.
    pub(crate) fn open(
        what: &'static str,
        path: Option<PathBuf>,
        read: impl Fn() -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<Self, E> {
        let seen = Mutex::new(path.as_ref().and_then(looks));
        let current = RwLock::new(Arc::new(read()?));
        Ok(Self { what, path, read: Box::new(read), seen, current })
    }

    /// Returns the current content of the file.
    pub(crate) fn current(&self) -> Arc<T> {
        // If another thread broke the lock, the value is whole nevertheless, because only whole
        // ones are put in.
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether there is a file to look at.
    pub(crate) const fn may_change(&self) -> bool {
        self.path.is_some()
    }

    /// Reads the file again if it has changed, and returns whether the content is new. Blocks for
    /// as long as the disk takes. A file that cannot be read changes nothing, because a slip in an
    /// editor must not lock everyone out.
    pub(crate) fn refresh(&self) -> bool {
        let Self { what, path: Some(path), .. } = self else { return false };
        let looks = looks(path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // A missing file looks the same each time, and one look at it is enough.
        if *seen == looks {
            return false;
        }
        *seen = looks;
        match (self.read)() {
            Ok(read) => {
                info!("read {what} again");
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(read);
                true
            }
            Err(error) => {
                let cause = error.source().map(ToString::to_string);
                warn!(%error, cause, "{what} could not be read again, so the previous ones remain valid");
                false
            }
        }
    }
}

fn looks(path: &PathBuf) -> Option<Looks> {
    let metadata = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let number = 0;
    Some((metadata.modified().ok(), metadata.len(), number))
}
