//! The mirror on a real database and a real folder: edits outside, ends at every step, names, links.
use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use madang_actors::{
    port::{Store, Transaction},
    protocol::UserId,
};
use sqlx::AssertSqlSafe;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use super::{
    folder::{Folder, Placed},
    pass::Pass,
    plan::Found,
    steps::Steps,
    *,
};
use crate::{
    store::SqliteStore,
    toolkit::notes::{
        MIGRATIONS,
        block::NewBlock,
        repository::{Inside, MadePage, NotesRepository},
    },
};

const PATIENCE: Duration = Duration::from_secs(30);

/// A store, and a workspace in a folder of its own.
struct House {
    store: SqliteStore,
    folder: TempDir,
    user: UserId,
}

/// The writer's transaction, to be kept.
struct Writing(Box<dyn Transaction>);

impl Writing {
    fn notes<'a>(&'a mut self, user: &'a UserId) -> NotesRepository<'a> {
        NotesRepository::new(book::write_on(&mut *self.0).unwrap(), user)
    }

    async fn keep(self) {
        self.0.commit().await.unwrap();
    }
}

impl House {
    async fn new() -> Self {
        let store = SqliteStore::in_memory([&*MIGRATIONS]).await.unwrap();
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

    async fn pass(&self, steps: Steps) -> Result<Report, MirrorError> {
        let workspace = self.at("");
        Pass::open(&self.store, self.user.clone(), &workspace, steps).await?.reconcile().await
    }

    async fn open(&self, steps: Steps) -> Pass {
        Pass::open(&self.store, self.user.clone(), &self.at(""), steps).await.unwrap()
    }

    async fn sync(&self) -> Report {
        self.pass(Steps::default()).await.unwrap()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// All that lies in the workspace, but for the file that says whose it is.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        walk(&self.at(""), "", &mut files);
        files.remove(".madang-workspace");
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

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn each_page_is_a_file_in_folders_that_follow_the_tree() {
    let house = House::new().await;
    let top = house.page("프로젝트", None, &[(0, "a"), (1, "b")]).await.page.id.to_string();
    house.page("마당", Some(&top), &[(0, "c")]).await;
    house.page("빈 페이지", None, &[]).await;
    let report = house.sync().await;
    assert_eq!(report.written, names(&["프로젝트.md", "프로젝트/마당.md", "빈 페이지.md"]));
    let expected =
        [("빈 페이지.md", ""), ("프로젝트.md", "- a\n  - b\n"), ("프로젝트/마당.md", "- c\n")];
    assert_eq!(
        house.files(),
        expected.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
    );
    assert_eq!(house.sync().await, Report::default(), "nothing is left to do");
}

#[tokio::test]
async fn an_edit_made_outside_becomes_the_page_and_blocks_that_stay_keep_their_ids() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a"), (1, "b"), (0, "c")]).await;
    house.sync().await;
    fs::write(house.at("p.md"), "- a\n- new\n    - b!\n- c\n").unwrap();
    let report = house.sync().await;
    assert_eq!((report.imported, report.kept_beside), (names(&["p.md"]), vec![]));
    assert_eq!(house.lines(&page).await, ["a", "new", "  b!", "c"]);
    assert_eq!(house.read("p.md"), "- a\n- new\n  - b!\n- c\n", "as the mirror writes it");
    let mut writing = house.write().await;
    let kept = writing.notes(&house.user).block(&page.blocks[2].id.to_string()).await.unwrap();
    assert_eq!(kept.content, "c");
    writing.keep().await;
    assert_eq!(house.sync().await, Report::default());
}

#[tokio::test]
async fn where_both_changed_the_edit_is_kept_beside() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a")]).await;
    house.sync().await;
    for (number, copy) in [(1, "p (conflict).md"), (2, "p (conflict 2).md")] {
        let (ours, theirs) = (format!("ours {number}"), format!("- theirs {number}\n"));
        fs::write(house.at("p.md"), &theirs).unwrap();
        house.update(&page, 0, &ours).await;
        assert_eq!(house.sync().await.kept_beside, names(&[copy]));
        assert_eq!((house.read("p.md"), house.read(copy)), (format!("- {ours}\n"), theirs));
    }
    assert_eq!(house.lines(&page).await, ["ours 2"]);
}

#[tokio::test]
async fn a_file_that_was_there_before_the_page_is_kept_beside() {
    let house = House::new().await;
    fs::create_dir_all(house.at("")).unwrap();
    fs::write(house.at("p.md"), "somebody's").unwrap();
    house.page("p", None, &[(0, "a")]).await;
    assert_eq!(house.sync().await.kept_beside, names(&["p (conflict).md"]));
    assert_eq!(
        (house.read("p.md"), house.read("p (conflict).md")),
        ("- a\n".to_owned(), "somebody's".to_owned())
    );
}

#[tokio::test]
async fn what_cannot_become_the_page_is_kept_beside() {
    for bad in [b"- \xff\n".to_vec(), format!("- {}\n", "x".repeat(10_001)).into_bytes()] {
        let house = House::new().await;
        let page = house.page("p", None, &[(0, "a")]).await;
        house.sync().await;
        fs::write(house.at("p.md"), &bad).unwrap();
        assert_eq!(house.sync().await.kept_beside, names(&["p (conflict).md"]));
        assert_eq!(fs::read(house.at("p (conflict).md")).unwrap(), bad);
        assert_eq!(
            (house.read("p.md"), house.lines(&page).await),
            ("- a\n".to_owned(), names(&["a"]))
        );
    }
}

#[tokio::test]
async fn a_file_that_was_deleted_is_written_again() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a")]).await;
    house.sync().await;
    fs::remove_file(house.at("p.md")).unwrap();
    assert_eq!(house.sync().await.written, names(&["p.md"]));
    assert_eq!(house.lines(&page).await, ["a"]);
    fs::remove_dir_all(house.at("")).unwrap();
    assert_eq!(house.sync().await.written, names(&["p.md"]));
}

#[tokio::test]
async fn no_link_is_followed_and_nothing_outside_is_touched() {
    let house = House::new().await;
    let outside = house.folder.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(house.at("")).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    symlink(outside.join("secret"), house.at("link.md")).unwrap();
    symlink(&outside, house.at("folder")).unwrap();
    symlink(outside.join("nothing"), house.at("dangling.md")).unwrap();
    fs::create_dir(house.at("taken.md")).unwrap();
    for title in ["link", "dangling", "taken"] {
        house.page(title, None, &[(0, "x")]).await;
    }
    let folder = house.page("folder", None, &[]).await.page.id.to_string();
    house.page("inner", Some(&folder), &[(0, "x")]).await;
    let report = house.sync().await;
    assert_eq!(report.written, names(&["folder.md"]));
    assert_eq!(report.blocked, names(&["link.md", "dangling.md", "taken.md", "folder/inner.md"]));
    let left: Vec<_> =
        fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["secret"]);
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "secret");
    fs::remove_file(house.at("link.md")).unwrap();
    assert_eq!(house.sync().await.written, names(&["link.md"]), "once nothing is in the way");
}

#[tokio::test]
async fn what_stands_in_the_way_of_a_page_that_has_not_changed_is_reported() {
    let house = House::new().await;
    house.page("p", None, &[(0, "a")]).await;
    house.sync().await;
    fs::remove_file(house.at("p.md")).unwrap();
    symlink("nothing", house.at("p.md")).unwrap();
    for _ in 0..2 {
        assert_eq!(house.sync().await.blocked, names(&["p.md"]));
    }
    fs::remove_file(house.at("p.md")).unwrap();
    assert_eq!(house.pass(fails_at("sync")).await.unwrap().failed, names(&["p.md"]));
    let report = house.sync().await;
    assert_eq!((report.written, report.blocked, report.failed), (names(&["p.md"]), vec![], vec![]));
}

#[tokio::test]
async fn an_emptied_file_is_kept_beside_and_the_page_stays() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a"), (1, "b")]).await;
    house.page("empty", None, &[]).await;
    house.sync().await;
    for text in ["", "\u{feff}", " \r\n\n"] {
        fs::write(house.at("p.md"), text).unwrap();
        let report = house.sync().await;
        assert_eq!((report.kept_beside.len(), report.imported), (1, vec![]));
        assert_eq!(house.lines(&page).await, ["a", "  b"], "{text:?}");
        assert_eq!(house.read("p.md"), "- a\n  - b\n");
        assert_eq!(house.read(&report.kept_beside[0]), text);
    }
    fs::write(house.at("empty.md"), "\n").unwrap();
    let report = house.sync().await;
    assert_eq!((report.kept_beside, report.imported), (vec![], names(&["empty.md"])));
}

#[tokio::test]
async fn a_file_longer_than_any_text_that_is_read_is_known_again() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, path) = (Folder::open(folder.path(), Steps::default()).unwrap(), names(&["p.md"]));
    let mut long = vec![b'x'; 17 << 20];
    let before = book::hash(&long);
    assert_eq!(folder.write(&path, &long, None).unwrap(), Placed::Done);
    assert_eq!(folder.read(&path).unwrap(), Found::File { hash: before, text: None });
    *long.last_mut().unwrap() = b'y';
    assert_eq!(folder.write(&path, &long, Some(before)).unwrap(), Placed::Done);
    let after = book::hash(&long);
    assert_eq!(folder.read(&path).unwrap(), Found::File { hash: after, text: None });
}

#[tokio::test]
async fn changed_pages_are_found_by_their_index() {
    let house = House::new().await;
    let mut reader = house.store.reader().await.unwrap();
    let plan: Vec<(i64, i64, i64, String)> =
        sqlx::query_as(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", book::READ_CHANGED)))
            .bind("kim")
            .bind(0)
            .bind(64)
            .fetch_all(book::read_on(&mut *reader).unwrap())
            .await
            .unwrap();
    let [(.., changed), (.., page)] = &plan[..] else { panic!("{plan:?}") };
    assert!(changed.contains("USING INDEX notes_files_to_write (page>?)"), "{plan:?}");
    assert!(page.starts_with("SEARCH page"), "{plan:?}");
}

#[tokio::test]
async fn every_title_has_a_file_inside_of_the_workspace() {
    let house = House::new().await;
    let long = "가".repeat(85);
    let titles = [
        "CON",
        "..",
        "a/b",
        "../../x",
        "/etc/passwd",
        "🎭",
        &long,
        "trail. .",
        "Plan",
        "plan",
        "PLAN",
        "\u{202e}x",
        ".madang-workspace",
        "caf\u{e9}",
        "cafe\u{301}",
        "a.md",
        "a",
        "C:\\x",
        "*?\"<>|",
    ];
    for title in titles {
        let made = house.page(title, None, &[(0, title)]).await.page.id.to_string();
        house.page("inner", Some(&made), &[(0, "x")]).await;
    }
    house.sync().await;
    let files = house.files();
    assert_eq!(files.len(), 2 * titles.len(), "{files:#?}");
    let folded: std::collections::BTreeSet<_> =
        files.keys().map(|name| super::super::fold::fold(name)).collect();
    assert_eq!(folded.len(), files.len(), "unlike one another whatever their case");
    let around: Vec<_> = fs::read_dir(house.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(around, ["work"]);
}

#[tokio::test]
async fn a_hundred_levels_of_pages_are_a_hundred_folders() {
    let house = House::new().await;
    let title = "가".repeat(60);
    let mut above = house.page(&title, None, &[]).await.page.id.to_string();
    for _ in 1..100 {
        above = house.page(&title, Some(&above), &[]).await.page.id.to_string();
    }
    let report = house.sync().await;
    assert_eq!((report.written.len(), report.failed), (100, vec![]));
    assert_eq!(house.sync().await, Report::default(), "a path of 18,000 bytes is found again");
}

#[tokio::test]
async fn ten_thousand_lines_are_imported() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "first")]).await;
    house.sync().await;
    let text: String =
        (0..10_000).map(|number| format!("{}- line {number}\n", "  ".repeat(number % 3))).collect();
    fs::write(house.at("p.md"), &text).unwrap();
    assert_eq!(house.sync().await.imported, names(&["p.md"]));
    assert_eq!(house.lines(&page).await.len(), 10_000);
    assert_eq!(house.read("p.md"), text);
}

/// Lets the process end before the step of this number, and says whether it came to that.
fn ends_at(number: usize) -> (Steps, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let steps = Steps::asking(move |step| {
        if counted.fetch_add(1, SeqCst) < number { Ok(()) } else { Err(io::Error::other(step)) }
    });
    (steps, count)
}

/// Lets each step of this name fail.
fn fails_at(name: &'static str) -> Steps {
    Steps::asking(move |step| if step == name { Err(io::Error::other(step)) } else { Ok(()) })
}

#[tokio::test]
async fn wherever_the_process_ends_the_next_start_loses_nothing() {
    for number in 0.. {
        let house = House::new().await;
        let top = house.page("changed", None, &[(0, "old")]).await;
        let edited = house.page("edited", Some(&top.page.id.to_string()), &[(0, "old")]).await;
        let both = house.page("both", None, &[(0, "old")]).await;
        house.sync().await;
        house.update(&top, 0, "new").await;
        fs::write(house.at("changed/edited.md"), "- by hand\n").unwrap();
        house.update(&both, 0, "ours").await;
        fs::write(house.at("both.md"), "- theirs\n").unwrap();
        house.page("fresh", None, &[(0, "fresh")]).await;
        let (steps, count) = ends_at(number);
        drop(house.pass(steps).await);
        // Nobody comes back at once: meanwhile a page changes once more.
        let is_changed_again = number % 2 == 0;
        if is_changed_again {
            house.update(&top, 0, "newest").await;
        }
        house.sync().await;
        let newest = if is_changed_again { "- newest\n" } else { "- new\n" };
        let expected = [
            ("both (conflict).md", "- theirs\n"),
            ("both.md", "- ours\n"),
            ("changed.md", newest),
            ("changed/edited.md", "- by hand\n"),
            ("fresh.md", "- fresh\n"),
        ];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(house.files(), expected.into(), "ended at step {number}");
        assert_eq!(house.lines(&edited).await, ["by hand"], "ended at step {number}");
        assert_eq!(house.sync().await, Report::default(), "ended at step {number}");
        if count.load(SeqCst) <= number {
            assert!(number > 30, "there are that many steps: {number}");
            break;
        }
    }
}

#[tokio::test]
async fn a_file_of_the_mirrors_own_is_known_after_two_ends_of_the_process() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a")]).await;
    house.sync().await;
    house.update(&page, 0, "b").await;
    let marks = AtomicUsize::new(0);
    let behind_the_write = Steps::asking(move |step| {
        let is_second = step == "mark" && marks.fetch_add(1, SeqCst) == 1;
        if is_second { Err(io::Error::other(step)) } else { Ok(()) }
    });
    house.pass(behind_the_write).await.unwrap_err();
    assert_eq!(house.read("p.md"), "- b\n");
    house.update(&page, 0, "c").await;
    house.pass(fails_at("folders")).await.unwrap();
    assert_eq!(house.sync().await.kept_beside, names(&[]));
    let expected = [("p.md".to_owned(), "- c\n".to_owned())];
    assert_eq!(house.files(), expected.into());
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_tried_again_without_a_commit_that_would_wake_the_task() {
    let house = House::new().await;
    house.page("p", None, &[(0, "a")]).await;
    house.sync().await;
    let page = house.page("q", None, &[(0, "a")]).await;
    let pass = house.open(fails_at("sync")).await;
    assert_eq!(pass.catch_up().await.unwrap().failed, names(&["q.md"]));
    let mut commits = house.store.commits();
    commits.borrow_and_update();
    assert_eq!(pass.catch_up().await.unwrap().failed, names(&["q.md"]));
    assert!(!commits.has_changed().unwrap());
    house.update(&page, 0, "b").await;
    assert_eq!(house.sync().await.written, names(&["q.md"]));
}

#[tokio::test]
async fn an_edit_that_slips_in_between_look_and_write_is_not_lost() {
    for step in ["folders", "create", "write", "sync", "ready", "place"] {
        let house = House::new().await;
        let page = house.page("p", None, &[(0, "a")]).await;
        house.sync().await;
        house.update(&page, 0, "ours").await;
        let (path, once) = (house.at("p.md"), AtomicUsize::new(0));
        let steps = Steps::asking(move |at| {
            if at == step && once.fetch_add(1, SeqCst) == 0 {
                fs::write(&path, "- theirs\n")?;
            }
            Ok(())
        });
        let report = house.pass(steps).await.unwrap();
        assert_eq!(report.kept_beside, names(&["p (conflict).md"]), "{step}");
        let expected = [("p (conflict).md", "- theirs\n"), ("p.md", "- ours\n")];
        assert_eq!(
            house.files(),
            expected.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
        );
    }
}

#[tokio::test]
async fn two_edits_that_slip_in_are_both_kept_and_reported() {
    let house = House::new().await;
    let top = house.page("top", None, &[]).await.page.id.to_string();
    let page = house.page("p", Some(&top), &[(0, "a")]).await;
    house.sync().await;
    house.update(&page, 0, "ours").await;
    let (path, looks) = (house.at("top/p.md"), AtomicUsize::new(0));
    let steps = Steps::asking(move |at| match at {
        "place" if looks.load(SeqCst) == 0 => fs::write(&path, "- theirs\n"),
        "look" if looks.fetch_add(1, SeqCst) == 0 => fs::write(&path, "- again\n"),
        _ => Ok(()),
    });
    let report = house.pass(steps).await.unwrap();
    let kept: Vec<_> = report.kept_beside.iter().map(|name| house.read(name)).collect();
    assert_eq!(kept, ["- again\n", "- theirs\n"], "{report:?}");
    assert_eq!(house.read("top/p.md"), "- ours\n");
}

#[tokio::test]
async fn what_is_left_from_a_write_is_thrown_away_only_where_it_is_the_users_own() {
    let house = House::new().await;
    let top = house.page("top", None, &[(0, "kim's")]).await.page.id.to_string();
    house.page("p", Some(&top), &[]).await;
    let lee = UserId::new("lee").unwrap();
    let mut writing = house.write().await;
    let blocks = vec![NewBlock { content: "lee's".to_owned(), indent: 0 }];
    writing.notes(&lee).create_page_with_blocks("p", None, blocks).await.unwrap();
    writing.keep().await;
    sync(&house.store, lee, &house.folder.path().join("lee")).await.unwrap();
    house.sync().await;
    fs::write(house.at("top/.madang-ready-1.tmp"), "- kim's\n").unwrap();
    fs::write(house.at("top/.madang-ready-2.tmp"), "- lee's\n").unwrap();
    let [kept] = &house.sync().await.kept_beside[..] else { panic!("one is kept") };
    assert_eq!(house.read(kept), "- lee's\n");
    assert_eq!(house.files().len(), 3);
}

#[tokio::test]
async fn the_task_writes_after_the_commit_and_stops_with_everything_written() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a")]).await;
    let mirror = Mirror::start(&house.store, house.user.clone(), &house.at("")).await.unwrap();
    let becomes = async |text: &str| {
        let is_so = async {
            while fs::read_to_string(house.at("p.md")).ok().as_deref() != Some(text) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, is_so).await.expect("the file follows");
    };
    becomes("- a\n").await;
    house.update(&page, 0, "b").await;
    becomes("- b\n").await;
    let mut writing = house.write().await;
    let id = page.page.id.to_string();
    writing.notes(&house.user).create_block(Inside::Page(&id), None, "last").await.unwrap();
    writing.keep().await;
    mirror.stop().await;
    assert_eq!(house.read("p.md"), "- b\n- last\n");
}

#[tokio::test]
async fn the_workspace_of_somebody_else_is_refused() {
    let house = House::new().await;
    house.page("p", None, &[(0, "a")]).await;
    house.sync().await;
    let lee = UserId::new("lee").unwrap();
    let refused = sync(&house.store, lee, &house.at("")).await;
    assert!(matches!(refused, Err(MirrorError::Foreign { .. })), "{refused:?}");
    let other = SqliteStore::in_memory([&*MIGRATIONS]).await.unwrap();
    let refused = sync(&other, house.user.clone(), &house.at("")).await;
    assert!(matches!(refused, Err(MirrorError::Foreign { .. })), "{refused:?}");
    assert_eq!(house.files().len(), 1);
}

#[test]
fn users_whose_names_look_alike_have_workspaces_of_their_own() {
    let of =
        |name: &str| workspace_beside(Path::new("/data/madang.db"), &UserId::new(name).unwrap());
    assert_eq!(of("kim"), Path::new("/data/madang.notes/kim"));
    assert_ne!(of("a/b"), of("a_b"));
    assert_ne!(of("a/b"), of("a:b"));
    let folded = |name| super::super::fold::fold(of(name).to_str().unwrap());
    assert_ne!(folded("Kim"), folded("kim"), "on a disk without regard to case");
    assert_ne!(folded("Kim"), folded("KIM"));
    assert!(of("../x").starts_with("/data/madang.notes"));
}
