//! What is told of commits, and of what was not committed.

use madang_actors::port::StoreError;

use super::support::{House, say};

#[tokio::test(flavor = "multi_thread")]
async fn each_commit_is_counted() {
    let house = House::new().await;
    let commits = house.store.commits();
    for count in 0..3 {
        assert_eq!(*commits.borrow(), count);
        house.chat(&count.to_string()).await;
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_says_what_would_have_to_be_so() {
    let house = House::new().await;
    house.chat("s").await;
    house.handle.write(say("s", 1)).await.unwrap();
    let refused = house.handle.write(say("s", 1)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused:?}");
    let said = refused.to_string();
    assert!(said.contains("not all of this is so: place 1 of session s is free"), "{said}");
    house.close().await;
}
