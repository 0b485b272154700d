//! The next runtime: a turn goes on with its own model, and with the first where that is here no
//! more.

use std::{path::Path, sync::Arc};

use madang::{Runtime, Session, model::ChatModel, store::SqliteStore};
use madang_testing::{FakeTool, model_pair};

use super::{asking, by, call, given_back, said};

/// A runtime over a file with these models, in this order.
async fn over(file: &Path, models: Vec<(&str, Arc<dyn ChatModel>)>) -> (Runtime, Session) {
    let store = SqliteStore::open(file).await.unwrap();
    let mut builder = Runtime::builder().store(store).tool(FakeTool::read("look"));
    for (name, model) in models {
        builder = builder.add_model(name, model);
    }
    let runtime = builder.start().await.unwrap();
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    (runtime, session)
}

/// Ends a runtime in the middle of a turn of `second`, which wants something back with its call.
async fn interrupted(file: &Path) {
    let ((first, _one), (second, mut two)) = (model_pair(), model_pair());
    let (runtime, session) =
        over(file, vec![("first", Arc::new(first)), ("second", Arc::new(second))]).await;
    session.send_with("look", asking("second")).await.unwrap();
    two.next().await.finish(call(Some("sealed")));
    let completion = two.next().await;
    runtime.shutdown().await.unwrap();
    drop((completion, session));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_goes_on_with_its_model_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chats.db");
    interrupted(&file).await;

    // The order is another one now.
    let ((second, mut two), (first, mut one)) = (model_pair(), model_pair());
    let (runtime, session) =
        over(&file, vec![("other", Arc::new(first)), ("second", Arc::new(second))]).await;
    let turn = session.turn().await.unwrap().expect("the turn goes on");
    let completion = two.next().await;
    assert_eq!(given_back(completion.request()), [Some("sealed")]);
    completion.say("Seen.");
    turn.ended().await.unwrap();
    assert_eq!(said(&session).await, [by("second", "Seen.")]);
    assert!(one.try_next().is_none());
    runtime.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_model_is_here_no_more_goes_on_with_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chats.db");
    interrupted(&file).await;

    let ((first, mut one), (third, mut three)) = (model_pair(), model_pair());
    let (runtime, session) =
        over(&file, vec![("first", Arc::new(first)), ("third", Arc::new(third))]).await;
    let turn = session.turn().await.unwrap().expect("the turn goes on");
    let completion = one.next().await;
    assert_eq!(given_back(completion.request()), [None]);
    completion.say("Seen.");
    turn.ended().await.unwrap();
    assert_eq!(said(&session).await, [by("first", "Seen.")]);
    assert!(three.try_next().is_none());
    runtime.shutdown().await.unwrap();
}
