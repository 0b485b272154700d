//! Tests what callers learn of commits and of refusals.

use madang_actors::port::StoreError;

use super::support::{StoreFixture, say};

#[tokio::test(flavor = "multi_thread")]
async fn each_commit_is_counted() {
    let fixture = StoreFixture::new().await;
    let commits = fixture.store.commits();
    for count in 0..3 {
        assert_eq!(*commits.borrow(), count);
        fixture.chat(&count.to_string()).await;
    }
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_says_what_would_have_to_be_so() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.handle.write(say("s", 1)).await.unwrap();
    let refused = fixture.handle.write(say("s", 1)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused:?}");
    let said = refused.to_string();
    assert!(
        said.contains("not all of this is so: number 1 in the transcript of session s is free"),
        "{said}"
    );
    fixture.close().await;
}
