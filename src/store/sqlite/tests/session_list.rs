//! Tests that a list of chats is found by indexes, and shows no chat whose owner is not certain.

use madang_actors::{
    port::{SessionPage, SessionSummary, Store as _, Write},
    protocol::UserId,
};
use sqlx::AssertSqlSafe;

use super::{
    super::{own::Own, session_list},
    support::{StoreFixture, change, plan, record, say, session, user, vandal},
};

async fn page(fixture: &StoreFixture, owner: &str, limit: usize) -> Vec<SessionSummary> {
    let page = SessionPage::of(limit).unwrap();
    fixture.store.sessions(&UserId::new(owner).unwrap(), &page).await.unwrap()
}

fn names(page: &[SessionSummary]) -> Vec<&str> {
    page.iter().map(|summary| summary.session.as_str()).collect()
}

/// Makes chats of kim's, the last of them the newest.
async fn chats<const N: usize>(names: [&str; N]) -> StoreFixture {
    let fixture = StoreFixture::new().await;
    for (name, at) in names.into_iter().zip(1..) {
        fixture.chat(name).await;
        let mut said = say(name, 1);
        let Some(Write::Message { message, .. }) = said.first_mut() else { panic!("{said:?}") };
        message.at = madang_actors::protocol::Timestamp::from_millis(at);
        fixture.handle.write(said).await.unwrap();
    }
    fixture
}

/// A user may have 10,000 chats of 10,000 entries: a page must read its own rows only, and sort
/// nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_chats_is_found_by_indexes_alone() {
    let fixture = StoreFixture::new().await;
    let mut db = fixture.other_program().await;
    let own = Own { db: &mut db, keys: fixture.store.keys(), mark: "" };
    let newest = session_list::query(&own, &user(), None, 50);
    let older = session_list::query(&own, &user(), Some((5, "s".to_owned())), 50);
    let newest = plan(&fixture, &newest).await;
    let older = plan(&fixture, &older).await;
    let by = |what: &str| format!("SEARCH its USING INDEX madang_chats_of_user ({what})");
    assert_eq!(newest[0], by("user=? AND last_at>?"), "it is not NULL");
    assert_eq!(older[0], by("user=? AND last_at>? AND (last_at,session)<(?,?)"));
    for steps in [newest, older] {
        for step in &steps {
            let is_search = step.starts_with("SEARCH ") && step.contains(" USING ");
            let is_heading = ["CORRELATED ", "SCALAR "].iter().any(|word| step.starts_with(word));
            assert!(is_search || is_heading, "{step} in {steps:#?}");
        }
        let by_index = |index: &str| steps.iter().any(|step| step.contains(index));
        for index in ["madang_open_turns", "madang_open_calls", "madang_clearings"] {
            assert!(by_index(index), "{index} in {steps:#?}");
        }
    }
    drop(db);
    fixture.close().await;
}

/// A program that can write the file can give a chat to another user, but has no key to seal that
/// with.
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_whose_owner_was_changed_on_disk_is_listed_for_no_user() {
    let fixture = chats(["a", "b", "c"]).await;
    assert_eq!(names(&page(&fixture, "kim", 9).await), ["c", "b", "a"]);
    let mut db = vandal(&fixture).await;
    change(&mut db, "UPDATE madang_sessions SET user = $1 WHERE session = 'b'", "lee").await;
    assert_eq!(names(&page(&fixture, "kim", 9).await), ["c", "a"]);
    assert_eq!(names(&page(&fixture, "lee", 9).await), [""; 0]);
    drop(db);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_cannot_be_read_hides_no_other_and_shortens_no_page() {
    let fixture = chats(["a", "b", "c", "d", "e", "f"]).await;
    let mut db = vandal(&fixture).await;
    for name in ["f", "d", "c"] {
        let sql = format!("UPDATE madang_sessions SET seal = NULL WHERE session = '{name}'");
        sqlx::query(AssertSqlSafe(sql)).execute(&mut db).await.unwrap();
    }
    let two = page(&fixture, "kim", 2).await;
    assert_eq!(names(&two), ["e", "b"]);
    let rest = SessionPage::of(2).unwrap().after(two[1].position());
    let rest = fixture.store.sessions(&user(), &rest).await.unwrap();
    assert_eq!(names(&rest), ["a"]);
    // A text that cannot be read leaves the chat without a title.
    let broken = "UPDATE madang_messages SET content = $1 WHERE session = 'e'";
    change(&mut db, broken, "{\"role\":\"user\",\"text\":7}").await;
    let one = page(&fixture, "kim", 1).await;
    assert_eq!((names(&one), one[0].title.as_str()), (vec!["e"], ""));
    drop(db);
    fixture.close().await;
}

/// The moment is kept by the tables, whichever write brings it, and a call alone moves no row of
/// the index.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_beside_messages_and_ends_leaves_the_list_as_it_is() {
    let fixture = chats(["s"]).await;
    let before = page(&fixture, "kim", 1).await;
    fixture.handle.write(record("s", 7)).await.unwrap();
    let [SessionSummary { last_at, .. }] = page(&fixture, "kim", 1).await[..] else { panic!() };
    assert_eq!(last_at, before[0].last_at);
    // A borrower of the connection cannot change it.
    let mut lease = fixture.lease("tool").await;
    let moved = sqlx::query("UPDATE madang_sessions SET last_at = 99")
        .execute(super::support::db(&mut lease));
    assert!(moved.await.is_err());
    drop(lease);
    assert_eq!(fixture.store.owner(&session("s")).await.unwrap(), Some(user()));
    fixture.close().await;
}
