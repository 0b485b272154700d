//! Tests what the repository and its tables accept, on a real SQLite.
mod constraints;
mod order;
mod searching;

use sqlx::Connection;

use super::{
    super::block::{BlockId, NewBlock},
    *,
};
use crate::notes::{
    MIGRATIONS,
    history::Location,
    page::{MAX_LEVELS, Page},
};

async fn database() -> SqliteConnection {
    let mut db = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    MIGRATIONS.run(&mut db).await.unwrap();
    db
}

fn user(name: &str) -> UserId {
    UserId::new(name).unwrap()
}

fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn code<T: std::fmt::Debug>(result: Result<T, NotesError>) -> &'static str {
    match result {
        Err(NotesError::Rule(violation)) => violation.code(),
        other => panic!("{other:?} is not a broken rule"),
    }
}

fn block(indent: u32, content: &str) -> NewBlock {
    NewBlock { content: content.to_owned(), indent }
}

impl NotesRepository<'_> {
    /// Lists the blocks of the last recorded change.
    async fn changed_blocks(&mut self) -> Vec<BlockId> {
        let last = "SELECT block_ids FROM notes_changes ORDER BY number DESC LIMIT 1";
        let ids: String = sqlx::query_scalar(last).fetch_one(&mut *self.db).await.unwrap();
        serde_json::from_str(&ids).unwrap()
    }

    /// Renders the page as lines, with two spaces a level.
    async fn shown(&mut self, page: &Page) -> Vec<String> {
        let lines = self.lines(page, 0, usize::MAX).await.unwrap();
        lines
            .items
            .iter()
            .map(|line| format!("{}{}", "  ".repeat(line.depth), line.content))
            .collect()
    }
}

#[tokio::test]
async fn a_page_with_blocks_reads_back_in_order_and_nested() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let wanted = [(0, "a"), (1, "b"), (1, "c"), (0, "d"), (1, "e"), (2, "f")];
    let wanted = wanted.map(|(indent, content)| block(indent, content)).to_vec();
    let made = notes.create_page_with_blocks("노트", None, wanted).await.unwrap();
    assert_eq!(made.failed, []);
    assert_eq!(notes.shown(&made.page).await, ["a", "  b", "  c", "d", "  e", "    f"]);
    assert_eq!(notes.page(&made.page.id.to_string()).await.unwrap().block_count, 6);
}

#[tokio::test]
async fn blocks_that_fail_do_not_keep_the_others_from_being_made() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let long = "x".repeat(10_001);
    let wanted = [(0, "a"), (1, "b\nb"), (2, "c"), (0, &*long), (1, "d")];
    let wanted = wanted.map(|(indent, content)| block(indent, content)).to_vec();
    let made = notes.create_page_with_blocks("노트", None, wanted).await.unwrap();
    let failed: Vec<_> = made.failed.iter().map(|failed| (failed.index, failed.code)).collect();
    assert_eq!(failed, [(1, "newline"), (3, "too_long")]);
    assert_eq!(notes.shown(&made.page).await, ["a", "  c", "d"]);
    let none = notes.create_page_with_blocks("x", None, vec![block(0, "\n")]).await;
    assert_eq!(code(none), "no_blocks_created");
    notes.create_page_with_blocks("leer", None, Vec::new()).await.unwrap();
}

#[tokio::test]
async fn a_block_goes_below_another_behind_it_or_to_the_end() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let page = notes.create_page("p", None).await.unwrap();
    let of = page.id.to_string();
    let a = notes.create_block(Inside::Page(&of), None, "a").await.unwrap().id.to_string();
    notes.create_block(Inside::Page(&of), None, "c").await.unwrap();
    let b = notes.create_block(Inside::Page(&of), Some(&a), "b").await.unwrap();
    notes.create_block(Inside::Block(&a), None, "a2").await.unwrap();
    notes.insert_below(&a, "a1").await.unwrap();
    notes.insert_below(&b.id.to_string(), "b'").await.unwrap();
    assert_eq!(notes.shown(&page).await, ["a", "  a1", "  a2", "b", "b'", "c"]);
    let inside = notes.create_block(Inside::Block(&a), Some(&b.id.to_string()), "x").await;
    assert_eq!(code(inside), "not_sibling");
    assert_eq!(notes.order_of(&b).await.unwrap(), 1);
}

#[tokio::test]
async fn what_lies_in_a_deleted_block_takes_its_place() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let wanted = [(0, "a"), (0, "b"), (1, "c"), (2, "d"), (1, "e"), (0, "f")];
    let wanted = wanted.map(|(indent, content)| block(indent, content)).to_vec();
    let made = notes.create_page_with_blocks("p", None, wanted).await.unwrap();
    let b = notes.block(&made.blocks[1].id.to_string()).await.unwrap();
    assert_eq!(notes.children_of(&b).await.unwrap(), 2);
    notes.delete_block(&b.id.to_string()).await.unwrap();
    assert_eq!(notes.shown(&made.page).await, ["a", "c", "  d", "e", "f"]);
    assert_eq!(code(notes.delete_block(&b.id.to_string()).await), "not_found");
    let last = made.blocks[5].id.to_string();
    notes.delete_block(&last).await.unwrap();
    assert_eq!(notes.shown(&made.page).await, ["a", "c", "  d", "e"]);
}

#[tokio::test]
async fn a_moved_block_is_reported_as_changed() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let wanted = [(0, "a"), (1, "b"), (1, "c"), (2, "d"), (0, "e")];
    let wanted = wanted.map(|(indent, content)| block(indent, content)).to_vec();
    let made = notes.create_page_with_blocks("p", None, wanted).await.unwrap();
    let [a, b, c, ..] = made.blocks.iter().map(|block| block.id).collect::<Vec<_>>()[..] else {
        panic!("five blocks")
    };
    notes.delete_block(&a.to_string()).await.unwrap();
    assert_eq!(
        notes.changed_blocks().await,
        [a, b, c],
        "those in the deleted one moved, d stays in c"
    );
}

#[tokio::test]
async fn text_is_appended_behind_a_separator() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let made = notes.create_page_with_blocks("p", None, vec![block(0, "a"), block(0, "")]).await;
    let [a, empty] = &made.unwrap().blocks[..] else { panic!("two blocks") };
    let a = a.id.to_string();
    let empty = empty.id.to_string();
    assert_eq!(notes.append_to_block(&a, "b", ", ").await.unwrap().content, "a, b");
    assert_eq!(notes.append_to_block(&empty, "b", ", ").await.unwrap().content, "b");
    assert_eq!(code(notes.append_to_block(&a, "x", "\n").await), "newline");
    assert_eq!(code(notes.append_to_block(&a, &"x".repeat(10_000), " ").await), "too_long");
}

#[tokio::test]
async fn the_notes_of_others_are_not_there() {
    let mut db = database().await;
    let kim = user("kim");
    let lee = user("lee");
    let made = NotesRepository::new(&mut db, &kim)
        .create_page_with_blocks("비밀", None, vec![block(0, "비밀번호")])
        .await
        .unwrap();
    let page = made.page.id.to_string();
    let block = made.blocks[0].id.to_string();
    let mut notes = NotesRepository::new(&mut db, &lee);
    assert_eq!(code(notes.page(&page).await), "not_found");
    assert_eq!(code(notes.page_titled("비밀").await), "not_found");
    assert_eq!(code(notes.page_at("비밀").await), "not_found");
    assert_eq!(code(notes.block(&block).await), "not_found");
    assert_eq!(code(notes.create_page("x", Some(&page)).await), "not_found");
    assert_eq!(code(notes.create_block(Inside::Page(&page), None, "x").await), "not_found");
    assert_eq!(code(notes.create_block(Inside::Block(&block), None, "x").await), "not_found");
    assert_eq!(code(notes.insert_below(&block, "x").await), "not_found");
    assert_eq!(code(notes.update_block(&block, "x").await), "not_found");
    assert_eq!(code(notes.delete_block(&block).await), "not_found");
    assert_eq!(code(notes.query_blocks("비밀", Some(&page), 0, 10).await), "not_found");
    assert_eq!(notes.query_blocks("비밀", None, 0, 10).await.unwrap().total, 0);
    assert_eq!(notes.query_pages("비밀", 0, 10).await.unwrap().total, 0);
    assert_eq!(notes.list_pages(Directories::Included, 0, 10).await.unwrap().total, 0);
    assert_eq!(notes.tree(0, 10).await.unwrap().total, 0);
    notes.visit(&session("s"), Location::Page(made.page.id)).await.unwrap();
    assert_eq!(notes.context(&session("s")).await.unwrap().page, None);
    for id in ["", "1", "'; DROP TABLE notes_pages; --", "00000000-0000-0000-0000-000000000000"] {
        assert_eq!(code(notes.page(id).await), "not_found");
        assert_eq!(code(notes.block(id).await), "not_found");
    }
}

#[tokio::test]
async fn a_page_that_contains_pages_is_a_directory() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let top = notes.create_page("프로젝트", None).await.unwrap();
    assert!(!top.is_directory);
    let inner = notes.create_page("마당", Some(&top.id.to_string())).await.unwrap();
    notes.create_page("마당", Some(&top.id.to_string())).await.unwrap();
    assert!(notes.page(&top.id.to_string()).await.unwrap().is_directory);
    let listed = notes.list_pages(Directories::LeftOut, 0, 1).await.unwrap();
    assert_eq!((listed.items.len(), listed.total), (1, 2));
    assert_eq!(notes.list_pages(Directories::Included, 1, 10).await.unwrap().items.len(), 2);
    assert_eq!(notes.path_of(&inner).await.unwrap(), "프로젝트/마당");
    for path in ["프로젝트/마당", "./프로젝트/마당.md", "프로젝트\\마당"] {
        assert_eq!(notes.page_at(path).await.unwrap().unwrap().id, inner.id, "{path}");
    }
    let second = notes.page_at("프로젝트/마당 (2)").await.unwrap().unwrap();
    assert_ne!(second.id, inner.id);
    assert_eq!(notes.page_at(".").await.unwrap(), None);
    assert_eq!(code(notes.page_at("마당").await), "not_found");
    assert_eq!(code(notes.page_at("../마당").await), "outside_workspace");
    let tree = notes.tree(0, 10).await.unwrap();
    let depths: Vec<_> = tree.items.iter().map(|row| row.depth).collect();
    assert_eq!(depths, [0, 1, 1]);
}

#[tokio::test]
async fn a_page_whose_title_ends_like_a_file_is_reached_by_it() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let ends_so = notes.create_page("README.md", None).await.unwrap();
    for path in ["README.md", "readme.md", "README.md.md"] {
        assert_eq!(notes.page_at(path).await.unwrap().unwrap().id, ends_so.id, "{path}");
    }
    let plain = notes.create_page("README", None).await.unwrap();
    assert_eq!(notes.page_at("README").await.unwrap().unwrap().id, plain.id);
}

#[tokio::test]
async fn a_session_has_its_own_page_focus_and_way_back() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let here = session("a");
    let elsewhere = session("b");
    let made = notes.create_page_with_blocks("p", None, vec![block(0, "x"), block(0, "y")]).await;
    let MadePage { page, blocks, .. } = made.unwrap();
    let other = notes.create_page("q", None).await.unwrap();
    assert_eq!(code(notes.focus(&here, Some(blocks[0].id), &[]).await), "no_page_open");
    notes.visit(&here, Location::Page(page.id)).await.unwrap();
    notes.focus(&here, Some(blocks[0].id), &[blocks[0].id, blocks[1].id]).await.unwrap();
    let context = notes.context(&here).await.unwrap();
    assert_eq!(context.focused.unwrap().id, blocks[0].id);
    assert_eq!(context.selected.len(), 2);
    assert_eq!(notes.context(&elsewhere).await.unwrap().page, None);
    notes.delete_block(&blocks[0].id.to_string()).await.unwrap();
    let context = notes.context(&here).await.unwrap();
    assert_eq!((context.focused, context.selected.len()), (None, 1));
    notes.visit(&here, Location::Page(other.id)).await.unwrap();
    assert_eq!(code(notes.focus(&here, Some(blocks[1].id), &[]).await), "not_found");
    assert_eq!(notes.context(&here).await.unwrap().selected, []);
    assert_eq!(notes.travel(&here, Way::Back).await.unwrap(), Location::Page(page.id));
    assert_eq!(code(notes.travel(&here, Way::Back).await), "no_history");
    notes.visit(&here, Location::Index).await.unwrap();
    assert_eq!(code(notes.travel(&here, Way::Forward).await), "no_history");
    assert_eq!(notes.context(&here).await.unwrap().page, None);
    assert_eq!(notes.last_page(&here).await.unwrap(), page.id);
    assert_eq!(code(notes.last_page(&elsewhere).await), "no_page_open");
}

#[tokio::test]
async fn levels_and_lengths_have_bounds() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let deep: Vec<_> = (0..100).map(|indent| block(indent, "x")).collect();
    let made = notes.create_page_with_blocks("hundred levels", None, deep).await.unwrap();
    assert_eq!((made.blocks.len(), made.failed.len()), (100, 0));
    let mut above = made.blocks[99].id.to_string();
    for _ in 100..MAX_LEVELS {
        above = notes.create_block(Inside::Block(&above), None, "x").await.unwrap().id.to_string();
    }
    assert_eq!(code(notes.create_block(Inside::Block(&above), None, "x").await), "too_deep");

    let mut above = notes.create_page("pages", None).await.unwrap().id.to_string();
    for _ in 1..MAX_LEVELS {
        above = notes.create_page("page", Some(&above)).await.unwrap().id.to_string();
    }
    assert_eq!(code(notes.create_page("page", Some(&above)).await), "too_deep");
    for title in ["", " ", "a\nb", &"x".repeat(201)] {
        assert_eq!(code(notes.create_page(title, None).await), "validation", "{title:?}");
    }
    for title in ["CON", "..", "a/b", "🎭", &"가".repeat(85), "\u{202e}abc"] {
        notes.create_page(title, None).await.unwrap();
        assert_eq!(notes.page_titled(title).await.unwrap().title, title);
    }
}

#[tokio::test]
async fn a_page_renamed_to_what_is_the_same_to_a_file_system_keeps_the_name_of_its_file() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let page = notes.create_page("plan", None).await.unwrap();
    for (title, file) in [("Plan", "Plan"), ("plan?", "plan_"), ("plan*", "plan_")] {
        notes.rename_page(&page.id.to_string(), title).await.unwrap();
        let name: String = sqlx::query_scalar("SELECT file_name FROM notes_pages")
            .fetch_one(&mut *notes.db)
            .await
            .unwrap();
        assert_eq!(name, file, "no other page has it: {title}");
    }
}
