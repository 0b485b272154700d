//! Records the events of one folder's files in order, together with the lines of the oracle.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use crate::oracle::Line;

/// An event of a file, or a line of the oracle.
#[derive(Debug, Clone)]
pub enum Event {
    /// A file was changed.
    File {
        /// The name of the file in its folder.
        name: Arc<str>,
        /// What happened to it.
        what: FileEvent,
    },
    /// A line of the oracle.
    Said(Line),
}

/// What happened to a file.
#[derive(Debug, Clone)]
pub enum FileEvent {
    /// Bytes were written.
    Write {
        /// The offset in the file.
        at: usize,
        /// The written bytes.
        bytes: Box<[u8]>,
    },
    /// It was truncated.
    Truncate {
        /// Its new size.
        size: usize,
    },
    /// All of it is durable.
    Sync {
        /// Whether created and removed names of its folder are durable too: SQLite syncs the folder
        /// with a new journal or log.
        with_folder: bool,
    },
    /// It was removed.
    Delete {
        /// Whether the removal is durable.
        is_synced: bool,
    },
}

/// The events of one folder.
#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
    events: Mutex<Vec<Event>>,
}

/// The running recordings, shared because SQLite finds its file layer by one name.
static ALL: Mutex<Vec<Weak<Recording>>> = Mutex::new(Vec::new());

impl Recording {
    /// Starts to record the file layer's work in this folder, until the recording is dropped.
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

    /// Finds the recording of this file's folder.
    pub(super) fn find(file: &Path) -> Option<Arc<Self>> {
        let found = |recording: &Weak<Self>| recording.upgrade();
        all().iter().filter_map(found).find(|recording| file.parent() == Some(&recording.folder))
    }

    /// Adds an event.
    pub fn note(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Returns the events so far and forgets them.
    #[must_use]
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn all() -> MutexGuard<'static, Vec<Weak<Recording>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}
