//! Tests that a session's owner is the one that its seal confirms, for reads and for writes.

use madang_actors::{
    ledger::text_digest,
    port::{Store as _, StoreError, Write},
    protocol::{Timestamp, TurnOptions, UserId},
};

use super::support::{StoreFixture, at, session, turn, user};

fn opened(name: &str, by: &str) -> Write {
    Write::Session { session: session(name), user: UserId::new(by).unwrap(), at: at() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_owner_was_changed_on_disk_is_refused_where_it_is_opened_to_write() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    for sql in [
        "DROP TRIGGER madang_sessions_keep_their_user",
        "UPDATE madang_sessions SET user = 'lee' WHERE session = 's'",
    ] {
        sqlx::query(sql).execute(&mut fixture.other_program().await).await.unwrap();
    }
    for by in ["lee", "kim"] {
        let refused = fixture.handle.write(vec![opened("s", by)]).await;
        assert!(matches!(refused, Err(StoreError::Refused { .. })), "{by}: {refused:?}");
    }
    // The refusal undoes its whole job and no other job.
    let both = vec![opened("new", "lee"), opened("s", "lee")];
    assert!(fixture.handle.write(both).await.is_err());
    assert_eq!(fixture.count("SELECT count(*) FROM madang_sessions").await, 1);
    fixture.handle.write(vec![opened("another", "lee")]).await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opened_again_by_its_user_a_session_stays_as_it_is_and_by_another_it_is_refused() {
    let fixture = StoreFixture::new().await;
    let twice = vec![opened("s", user().as_str()), opened("s", user().as_str())];
    fixture.handle.write(twice).await.unwrap();
    fixture.handle.write(vec![opened("s", user().as_str())]).await.unwrap();
    let refused = fixture.handle.write(vec![opened("s", "lee")]).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    assert_eq!(fixture.count("SELECT count(*) FROM madang_sessions").await, 1);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_turns_come_in_the_order_in_which_they_began_and_then_by_their_sessions() {
    let fixture = StoreFixture::new().await;
    for (name, at) in [("d", 1), ("a", 2), ("c", 3), ("b", 1)] {
        let began = Write::TurnStarted {
            session: session(name),
            turn: turn(),
            at: Timestamp::from_millis(at),
            options: TurnOptions::default(),
            text: text_digest("hi"),
            max_stored_bytes: u64::MAX,
        };
        fixture.handle.write(vec![opened(name, "kim"), began]).await.unwrap();
    }
    let open = fixture.store.interrupted().await.unwrap();
    let sessions: Vec<_> = open.iter().map(|open| open.session.as_str()).collect();
    assert_eq!(sessions, ["b", "d", "a", "c"]);
    fixture.close().await;
}
