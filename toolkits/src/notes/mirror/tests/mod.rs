//! Tests the mirror on a real database and a real folder.

mod ends;
mod foreign;
mod gone;
mod pages;

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use madang::{
    UserId,
    store::{Store, Transaction},
};
use sqlx::AssertSqlSafe;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use super::{pass::Pass, records::Which, steps::Steps, *};
use crate::notes::{
    MIGRATIONS,
    block::NewBlock,
    changes::lent,
    repository::{Inside, MadePage, NotesError, NotesRepository},
};
use madang::store::SqliteStore;

const PATIENCE: Duration = Duration::from_secs(60);

/// A store, and a workspace in a folder of its own.
struct MirrorFixture {
    store: SqliteStore,
    folder: TempDir,
    user: UserId,
}

/// A transaction of the writer, to be kept.
struct Writing(Box<dyn Transaction>);

impl Writing {
    fn notes<'a>(&'a mut self, user: &'a UserId) -> NotesRepository<'a> {
        NotesRepository::new(lent(self.0.connection()).unwrap(), user)
    }

    async fn keep(self) {
        self.0.commit().await.unwrap();
    }
}

impl MirrorFixture {
    async fn new() -> Self {
        let store = SqliteStore::in_memory().migrations("notes", &MIGRATIONS).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self { store, folder, user: UserId::new("kim").unwrap() }
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join("work").join(path)
    }

    async fn write(&self) -> Writing {
        Writing(self.store.begin().await.unwrap())
    }

    async fn page(&self, title: &str, parent: Option<&str>, blocks: &[(u32, &str)]) -> MadePage {
        let blocks = blocks
            .iter()
            .map(|(indent, content)| NewBlock { content: (*content).to_owned(), indent: *indent });
        let mut writing = self.write().await;
        let made = writing
            .notes(&self.user)
            .create_page_with_blocks(title, parent, blocks.collect())
            .await;
        writing.keep().await;
        made.unwrap()
    }

    async fn update(&self, page: &MadePage, place: usize, content: &str) {
        let mut writing = self.write().await;
        let id = page.blocks[place].id.to_string();
        writing.notes(&self.user).update_block(&id, content).await.unwrap();
        writing.keep().await;
    }

    async fn rename(&self, page: &MadePage, title: &str) {
        let mut writing = self.write().await;
        let id = page.page.id.to_string();
        let renamed = writing.notes(&self.user).rename_page(&id, title).await.unwrap();
        assert_eq!((renamed.id, &*renamed.title), (page.page.id, title));
        writing.keep().await;
    }

    async fn delete(&self, page: &MadePage) {
        let mut writing = self.write().await;
        writing.notes(&self.user).delete_page(&page.page.id.to_string()).await.unwrap();
        writing.keep().await;
    }

    async fn lines(&self, page: &MadePage) -> Vec<String> {
        let mut writing = self.write().await;
        let lines = writing.notes(&self.user).lines(&page.page, 0, usize::MAX).await.unwrap();
        writing.keep().await;
        lines
            .items
            .iter()
            .map(|line| format!("{}{}", "  ".repeat(line.depth), line.content))
            .collect()
    }

    fn pass(&self, steps: Steps) -> Pass {
        Pass::new(&self.store, self.user.clone(), &self.at(""), steps)
    }

    async fn run(&self, steps: Steps) -> Result<MirrorReport, MirrorError> {
        self.pass(steps).run(Which::All).await
    }

    async fn repair(&self) -> MirrorReport {
        self.run(Steps::default()).await.unwrap()
    }

    fn start(&self) -> Mirror {
        Mirror::start(&self.store, self.user.clone(), &self.at(""))
    }

    /// Waits until a file has this text.
    async fn becomes(&self, path: &str, text: &str) {
        let is_so = async {
            while fs::read_to_string(self.at(path)).ok().as_deref() != Some(text) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, is_so).await.expect("the file follows");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// Lists the files in the workspace.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        walk(&self.at(""), "", &mut files);
        files
    }
}

fn walk(folder: &Path, name: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{name}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), &format!("{name}/"), files);
        } else {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Makes each step of this name fail.
fn fails_at(name: &'static str) -> Steps {
    Steps::asking(move |step| if step == name { Err(io::Error::other(step)) } else { Ok(()) })
}

/// Ends the process before the step of this number, and counts the steps.
fn ends_at(number: usize) -> (Steps, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let steps = Steps::asking(move |step| {
        if counted.fetch_add(1, SeqCst) < number { Ok(()) } else { Err(io::Error::other(step)) }
    });
    (steps, count)
}
