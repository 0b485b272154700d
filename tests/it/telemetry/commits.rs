//! What is measured of the store: the groups of writes, and how their commits end.

use madang::{event::TurnEnding, transaction::TransactionError};
use madang_testing::{MemoryConnection, ScriptedCompletion, ScriptedModel};
use metrics::set_default_local_recorder;

use super::watchers::Meters;
use crate::support::TestRuntime;

#[tokio::test]
async fn each_job_of_a_group_of_writes_is_counted() {
    let meters = Meters::default();
    let _watching = set_default_local_recorder(&meters);
    let test =
        TestRuntime::new(ScriptedModel::repeating([ScriptedCompletion::text("Well.")])).await;
    let mut turns = Vec::new();
    let paused = test.store.pause().await;
    // What hangs at its commit keeps the writer busy: the others wait for it together.
    let (ran, has_run) = tokio::sync::oneshot::channel();
    let first = tokio::spawn(test.runtime.transaction(async move |_: &mut MemoryConnection| {
        ran.send(()).unwrap();
        std::io::Result::Ok(())
    }));
    has_run.await.unwrap();
    for number in 0..8 {
        let runtime = test.runtime.clone();
        turns.push(tokio::spawn(async move {
            let session = runtime.user("kim").unwrap().session(&number.to_string()).await.unwrap();
            session.send("go").await.unwrap().ended().await.unwrap()
        }));
    }
    test.waiting(8).await;
    drop(paused);
    first.await.unwrap().unwrap();
    for turn in turns {
        assert_eq!(turn.await.unwrap().ending, TurnEnding::Answered);
    }
    let jobs = meters.sum("madang.store.group.jobs{}");
    assert_eq!(jobs, Some(25.0), "of each chat: that it was opened, what was asked, how it ended");
    assert!(meters.count("madang.store.group.jobs{}") < 19, "eight in one group");
    test.shutdown().await;
}

#[tokio::test]
async fn a_commit_that_fails_is_measured_with_the_kind_of_its_error() {
    let meters = Meters::default();
    let _watching = set_default_local_recorder(&meters);
    let test = TestRuntime::without_model().await;
    let nothing = async |_: &mut MemoryConnection| std::io::Result::Ok(());
    test.store.fail_next_commit();
    let told = test.runtime.transaction(nothing).await;
    assert!(matches!(told, Err(TransactionError::NotWritten(_))), "{told:?}");
    test.store.lose_next_commit_reply();
    let told = test.runtime.transaction(nothing).await;
    assert!(matches!(told, Err(TransactionError::Unknown(_))), "{told:?}");
    test.shutdown().await;
    for kind in ["unavailable", "unknown"] {
        let series = format!("madang.store.commit.duration{{error.type={kind}}}");
        assert_eq!(meters.count(&series), 1, "{kind}: {:?}", meters.names());
    }
}
