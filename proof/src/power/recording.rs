//! What happened to the files of one folder, in order, together with what people said meanwhile.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use crate::oracle::Line;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// Bytes were written.
    Write {
        /// The name of the file.
        file: Arc<str>,
        /// Where.
        at: usize,
        /// What.
        bytes: Box<[u8]>,
    },
    /// A file was cut to this size.
    Truncate {
        /// The name of the file.
        file: Arc<str>,
        /// The size.
        size: usize,
    },
    /// All of a file is on the disk.
    Sync {
        /// The name of the file.
        file: Arc<str>,
        /// So is what was created and removed in its folder: SQLite syncs that with a new journal or log.
        with_folder: bool,
    },
    /// A file was removed.
    Delete {
        /// The name of the file.
        file: Arc<str>,
        /// That it was removed is on the disk.
        is_synced: bool,
    },
    /// Somebody acknowledged something.
    Said(Line),
}

/// The events of one folder.
#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
    events: Mutex<Vec<Event>>,
}

/// The recordings that are going on. SQLite knows one file layer by its name, so that they must share it.
static ALL: Mutex<Vec<Weak<Recording>>> = Mutex::new(Vec::new());

impl Recording {
    /// Begins to record what the file layer does in this folder, until it is dropped.
    #[must_use]
    pub fn of(folder: &Path) -> Arc<Self> {
        super::vfs::register();
        let recording =
            Arc::new(Self { folder: folder.to_owned(), events: Mutex::new(Vec::new()) });
        let mut all = all();
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&recording));
        recording
    }

    /// The recording of the folder that this file lies in.
    pub(super) fn find(file: &Path) -> Option<Arc<Self>> {
        let found = |recording: &Weak<Self>| recording.upgrade();
        all().iter().filter_map(found).find(|recording| file.parent() == Some(&recording.folder))
    }

    /// Writes an event down.
    pub fn note(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Gives what was recorded so far, and goes on with nothing.
    #[must_use]
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn all() -> MutexGuard<'static, Vec<Weak<Recording>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}
