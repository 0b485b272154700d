//! Whose a session is, as its seal says: not as its row says, neither for what is read nor for what is written.

use madang_actors::{
    port::{StoreError, Write},
    protocol::UserId,
};

use super::support::{House, at, session, user};

fn opened(name: &str, by: &str) -> Write {
    Write::Session { session: session(name), user: UserId::new(by).unwrap(), at: at() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_owner_was_changed_on_disk_is_refused_where_it_is_opened_to_write() {
    let house = House::new().await;
    house.chat("s").await;
    for sql in [
        "DROP TRIGGER madang_sessions_keep_their_user",
        "UPDATE madang_sessions SET user = 'lee' WHERE session = 's'",
    ] {
        sqlx::query(sql).execute(&mut house.other_program().await).await.unwrap();
    }
    for by in ["lee", "kim"] {
        let refused = house.handle.write(vec![opened("s", by)]).await;
        assert!(matches!(refused, Err(StoreError::Refused { .. })), "{by}: {refused:?}");
    }
    // It stops nobody else, and nothing of the same job is kept.
    let both = vec![opened("new", "lee"), opened("s", "lee")];
    assert!(house.handle.write(both).await.is_err());
    assert_eq!(house.count("SELECT count(*) FROM madang_sessions").await, 1);
    house.handle.write(vec![opened("another", "lee")]).await.unwrap();
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opened_again_by_its_user_a_session_stays_as_it_is_and_by_another_it_is_refused() {
    let house = House::new().await;
    let twice = vec![opened("s", user().as_str()), opened("s", user().as_str())];
    house.handle.write(twice).await.unwrap();
    house.handle.write(vec![opened("s", user().as_str())]).await.unwrap();
    let refused = house.handle.write(vec![opened("s", "lee")]).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    assert_eq!(house.count("SELECT count(*) FROM madang_sessions").await, 1);
    house.close().await;
}
