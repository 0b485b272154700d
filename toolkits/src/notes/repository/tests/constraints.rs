//! Tests what the tables refuse, whichever program writes them.
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use super::*;

/// Returns the error message of a statement.
async fn refused(db: &mut SqliteConnection, sql: &'static str) -> String {
    let error = sqlx::query(sql).execute(db).await.unwrap_err();
    error.as_database_error().unwrap().message().to_owned()
}

async fn two_users() -> SqliteConnection {
    let mut db = database().await;
    for name in ["kim", "lee"] {
        let user = user(name);
        let mut notes = NotesRepository::new(&mut db, &user);
        let top = notes.create_page("top", None).await.unwrap();
        let inner = notes.create_page("inner", Some(&top.id.to_string())).await.unwrap();
        notes.create_page("innermost", Some(&inner.id.to_string())).await.unwrap();
        let wanted = vec![block(0, "a"), block(1, "b"), block(2, "c")];
        notes.create_page_with_blocks("blocks", None, wanted).await.unwrap();
    }
    db
}

#[tokio::test]
async fn no_page_and_no_block_lies_in_itself() {
    let mut db = two_users().await;
    for (sql, rule) in [
        ("UPDATE notes_pages SET parent = number WHERE number = 1", "cycle"),
        ("UPDATE notes_pages SET parent = 3 WHERE number = 1", "cycle"),
        ("UPDATE notes_blocks SET parent = number WHERE number = 1", "cycle"),
        ("UPDATE notes_blocks SET parent = 3 WHERE number = 1", "cycle"),
    ] {
        assert_eq!(refused(&mut db, sql).await, rule, "{sql}");
    }
}

#[tokio::test]
async fn nothing_lies_in_what_belongs_to_others() {
    let mut db = two_users().await;
    for (sql, rule) in [
        ("UPDATE notes_pages SET parent = 5 WHERE number = 2", "FOREIGN KEY constraint failed"),
        ("UPDATE notes_pages SET user_id = 'lee' WHERE number = 1", "not_found"),
        ("UPDATE notes_blocks SET parent = 4 WHERE number = 2", "FOREIGN KEY constraint failed"),
        ("UPDATE notes_blocks SET page = 8 WHERE number = 1", "not_found"),
        ("DELETE FROM notes_blocks WHERE number = 1", "FOREIGN KEY constraint failed"),
    ] {
        assert_eq!(refused(&mut db, sql).await, rule, "{sql}");
    }
}

#[tokio::test]
async fn contents_titles_and_names_have_their_form() {
    let mut db = two_users().await;
    for (sql, rule) in [
        ("UPDATE notes_blocks SET content = 'a' || char(10) WHERE number = 1", "newline"),
        ("UPDATE notes_blocks SET content = char(8232) WHERE number = 1", "newline"),
        ("UPDATE notes_blocks SET content = hex(zeroblob(5001)) WHERE number = 1", "too_long"),
        ("UPDATE notes_pages SET blocks = 20001 WHERE number = 4", "page_full"),
    ] {
        let message = refused(&mut db, sql).await;
        assert_eq!(message, format!("CHECK constraint failed: {rule}"), "{sql}");
    }
    for sql in [
        "UPDATE notes_pages SET title = ' ' WHERE number = 1",
        "UPDATE notes_pages SET title = hex(zeroblob(101)) WHERE number = 1",
        "UPDATE notes_pages SET file_name = '..' WHERE number = 1",
        "UPDATE notes_pages SET file_name = 'a/b' WHERE number = 1",
        "UPDATE notes_pages SET file_key = 'blocks' WHERE number = 1",
    ] {
        refused(&mut db, sql).await;
    }
}

#[tokio::test]
async fn a_full_page_takes_no_block_more() {
    let mut db = database().await;
    let kim = user("kim");
    let made = NotesRepository::new(&mut db, &kim)
        .create_page_with_blocks("full", None, vec![block(0, "a")])
        .await
        .unwrap();
    sqlx::query("UPDATE notes_pages SET blocks = 20000").execute(&mut db).await.unwrap();
    let mut notes = NotesRepository::new(&mut db, &kim);
    let below = notes.insert_below(&made.blocks[0].id.to_string(), "b").await;
    assert_eq!(code(below), "page_full");
}

#[tokio::test]
async fn every_change_of_blocks_marks_the_file_of_its_page_and_a_new_place_alone_does_not() {
    let mut db = two_users().await;
    let marks = async |db: &mut SqliteConnection| -> i64 {
        sqlx::query_scalar("SELECT changes FROM notes_files WHERE page = 4")
            .fetch_one(db)
            .await
            .unwrap()
    };
    let before = marks(&mut db).await;
    sqlx::query("UPDATE notes_blocks SET position = 7 WHERE number = 1")
        .execute(&mut db)
        .await
        .unwrap();
    assert_eq!(marks(&mut db).await, before);
    for sql in [
        "UPDATE notes_blocks SET content = 'z' WHERE number = 1",
        "UPDATE notes_blocks SET parent = NULL WHERE number = 3",
        "DELETE FROM notes_blocks WHERE number = 3",
    ] {
        sqlx::query(sql).execute(&mut db).await.unwrap();
    }
    assert_eq!(marks(&mut db).await, before + 3);
}

#[tokio::test]
async fn what_is_lifted_out_of_a_deleted_block_costs_the_same_however_deep_it_lies() {
    let mut costs = Vec::new();
    for depth in [1, 100] {
        let mut db = database().await;
        let kim = user("kim");
        let mut notes = NotesRepository::new(&mut db, &kim);
        let above = (0..=depth).map(|level| block(level, "x"));
        let wanted = above.chain((0..100).map(|_| block(depth + 1, "y"))).collect();
        let made = notes.create_page_with_blocks("p", None, wanted).await.unwrap();
        let id = made.blocks[depth as usize].id.to_string();
        let steps = Arc::new(AtomicU32::new(0));
        let counted = steps.clone();
        let mut handle = notes.db.lock_handle().await.unwrap();
        handle.set_progress_handler(10, move || counted.fetch_add(1, Relaxed) < u32::MAX);
        drop(handle);
        notes.delete_block(&id).await.unwrap();
        costs.push(steps.load(Relaxed));
    }
    assert!(costs[0] > 0 && costs[1] < 2 * costs[0], "{costs:?} times 10 steps of SQLite");
}
