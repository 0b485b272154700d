//! What an embedder writes through `runtime.transaction()` is there when it is told so, and only
//! then; what goes wrong in one transaction is undone alone.

use std::{io, time::Duration};

use madang::{Limits, approval::Approver, store::StoreError, transaction::TransactionError};
use madang_testing::{MemoryConnection, RuntimeHooks as _, ScriptedModel};
use serde_json::json;
use tokio::{task::JoinSet, time::Instant};

use crate::support::{TestRuntime, call_then_say, kind};

/// Writes a row, as a handler of the embedder's own.
fn put(db: &mut MemoryConnection, name: &str) -> io::Result<()> {
    db.put(name, json!(1)).map_err(io::Error::other)
}

async fn names(test: &TestRuntime) -> Vec<String> {
    test.rows().into_keys().collect()
}

#[tokio::test]
async fn its_result_is_given_only_after_the_commit() {
    let test = TestRuntime::without_model().await;
    let paused = test.store.pause().await;
    let (ran, has_run) = tokio::sync::oneshot::channel();
    let transaction = test.runtime.transaction(async move |db: &mut MemoryConnection| {
        put(db, "a")?;
        ran.send(()).unwrap();
        io::Result::Ok(7)
    });
    let told = tokio::spawn(transaction);
    has_run.await.unwrap();
    assert_eq!(test.runtime.actors().store.waiting().await.unwrap(), 0);
    assert!(!told.is_finished() && test.rows().is_empty(), "no row before the commit");
    drop(paused);
    assert_eq!(told.await.unwrap().unwrap(), 7);
    assert_eq!(names(&test).await, ["a"]);
    test.shutdown().await;
}

#[tokio::test]
async fn transactions_and_tools_share_one_commit() {
    let test = TestRuntime::without_model().await;
    let paused = test.store.pause().await;
    let first = test.runtime.transaction(async |db: &mut MemoryConnection| put(db, "first"));
    let first = tokio::spawn(first);
    while test.runtime.running_tasks() < 2 {
        tokio::task::yield_now().await;
    }
    let mut others = JoinSet::new();
    for number in 0..50 {
        let put = async move |db: &mut MemoryConnection| put(db, &format!("t{number}"));
        let transaction = test.runtime.transaction(put);
        others.spawn(async move { transaction.await.unwrap() });
    }
    let note = json!({ "name": "note" });
    let tool = test.call("note", &note, Approver::None);
    let go = async {
        test.waiting(51).await;
        let before = test.store.commits();
        drop(paused);
        others.join_all().await;
        test.store.commits() - before
    };
    let (report, commits) = tokio::join!(tool, go);
    first.await.unwrap().unwrap();
    assert_eq!(kind(&report), "ok");
    assert!(commits <= 2, "{commits} commits for the first and 51 that waited behind it");
    assert_eq!(test.rows().len(), 52);
    test.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_a_panic_and_a_deadline_are_undone_alone() {
    let limits = Limits { transaction_deadline: Duration::from_millis(50), ..Limits::default() };
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let paused = test.store.pause().await;
    let runtime = &test.runtime;
    // The writer takes all that waits when it begins: this one keeps it busy until the others are
    // there.
    let first = runtime.transaction(async |db: &mut MemoryConnection| put(db, "first"));
    let first = tokio::spawn(first);
    while runtime.running_tasks() < 2 {
        tokio::task::yield_now().await;
    }
    let work = async {
        tokio::join!(
            runtime.transaction(async |db: &mut MemoryConnection| put(db, "before")),
            runtime.transaction(async |db: &mut MemoryConnection| {
                put(db, "given up")?;
                Err::<(), _>(io::Error::other("changed my mind"))
            }),
            runtime.transaction(async |db: &mut MemoryConnection| {
                put(db, "panicked")?;
                if db.get("panicked").is_some() {
                    std::panic::panic_any(Bomb);
                }
                io::Result::Ok(())
            }),
            runtime.transaction(async |db: &mut MemoryConnection| {
                put(db, "late")?;
                std::future::pending::<io::Result<()>>().await
            }),
            runtime.transaction(async |db: &mut MemoryConnection| put(db, "after")),
        )
    };
    let go = async {
        test.waiting(5).await;
        drop(paused);
    };
    let ((before, failed, panicked, late, after), ()) = tokio::join!(work, go);
    first.await.unwrap().unwrap();
    before.unwrap();
    after.unwrap();
    let Err(TransactionError::Failed(own)) = failed else { panic!("{failed:?}") };
    assert_eq!(own.to_string(), "changed my mind");
    assert!(matches!(panicked, Err(TransactionError::Panicked)), "{panicked:?}");
    assert!(matches!(late, Err(TransactionError::Deadline(_))), "{late:?}");
    assert_eq!(names(&test).await, ["after", "before", "first"]);
    test.shutdown().await;
}

/// A payload of a panic that panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the payload panics too")
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_hangs_makes_others_wait_no_longer_than_its_deadline() {
    let limits = Limits::default();
    let deadline = limits.transaction_deadline;
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let (began, has_begun) = tokio::sync::oneshot::channel();
    let hanging = test.runtime.transaction(async move |_: &mut MemoryConnection| {
        began.send(()).unwrap();
        std::future::pending::<io::Result<()>>().await
    });
    let hanging = tokio::spawn(hanging);
    has_begun.await.unwrap();
    let begin = Instant::now();
    let note = json!({ "name": "note" });
    let (report, own) = tokio::join!(
        test.call("note", &note, Approver::None),
        test.runtime.transaction(async |db: &mut MemoryConnection| put(db, "own")),
    );
    assert!(begin.elapsed() <= deadline + Duration::from_millis(5), "{:?}", begin.elapsed());
    own.unwrap();
    assert_eq!(kind(&report), "ok");
    assert!(matches!(hanging.await.unwrap(), Err(TransactionError::Deadline(_))));
    test.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_future_that_is_not_polled_does_not_keep_the_transaction() {
    let test = TestRuntime::with_limits(ScriptedModel::new([]), Limits::default()).await;
    let mut forgotten =
        test.runtime.transaction(async |db: &mut MemoryConnection| put(db, "forgotten"));
    std::future::poll_fn(|cx| {
        assert!(forgotten.as_mut().poll(cx).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    let own = test.runtime.transaction(async |db: &mut MemoryConnection| put(db, "own"));
    tokio::time::timeout(Duration::from_millis(10), own).await.expect("nothing is held").unwrap();
    assert_eq!(names(&test).await, ["forgotten", "own"]);
    test.shutdown().await;
}

#[tokio::test]
async fn dropping_the_future_cancels_nothing_and_shutdown_waits_for_it() {
    let test = TestRuntime::without_model().await;
    let paused = test.store.pause().await;
    let (ran, has_run) = tokio::sync::oneshot::channel();
    let transaction =
        tokio::spawn(test.runtime.transaction(async move |db: &mut MemoryConnection| {
            ran.send(()).unwrap();
            put(db, "a")
        }));
    has_run.await.unwrap();
    transaction.abort();
    assert!(transaction.await.unwrap_err().is_cancelled());
    let runtime = test.runtime.clone();
    let store = test.store.clone();
    let shutdown = tokio::spawn(async move { test.shutdown().await });
    tokio::task::yield_now().await;
    assert!(!shutdown.is_finished());
    drop(paused);
    shutdown.await.unwrap();
    assert_eq!(store.connection().values().len(), 1);
    let late = runtime.transaction(async |db: &mut MemoryConnection| put(db, "late")).await;
    assert!(matches!(late, Err(TransactionError::Closed)), "{late:?}");
}

#[tokio::test]
async fn a_commit_that_fails_wrote_nothing_and_a_lost_answer_is_not_known() {
    let test = TestRuntime::without_model().await;
    test.store.fail_next_begin();
    let told = test.runtime.transaction(async |db: &mut MemoryConnection| put(db, "a")).await;
    assert!(matches!(told, Err(TransactionError::NotWritten(_))), "{told:?}");
    test.store.fail_next_commit();
    let told = test.runtime.transaction(async |db: &mut MemoryConnection| put(db, "b")).await;
    assert!(matches!(told, Err(TransactionError::NotWritten(_))), "{told:?}");
    assert!(test.rows().is_empty());
    test.store.lose_next_commit_reply();
    let told = test.runtime.transaction(async |db: &mut MemoryConnection| put(db, "c")).await;
    assert!(matches!(told, Err(TransactionError::Unknown(_))), "{told:?}");
    assert_eq!(names(&test).await, ["c"], "only the tables know");
    test.shutdown().await;
}

#[tokio::test]
async fn more_transactions_than_may_wait_are_refused() {
    let limits = Limits { max_waiting_writes: 1, ..Limits::default() };
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let paused = test.store.pause().await;
    let (ran, has_run) = tokio::sync::oneshot::channel();
    let first = test.runtime.transaction(async move |db: &mut MemoryConnection| {
        put(db, "first")?;
        ran.send(()).unwrap();
        std::future::pending::<io::Result<()>>().await
    });
    let first = tokio::spawn(first);
    has_run.await.unwrap();
    let refused = test.runtime.transaction(async |db: &mut MemoryConnection| put(db, "a")).await;
    assert!(
        matches!(refused, Err(TransactionError::NotWritten(StoreError::Overloaded))),
        "{refused:?}"
    );
    drop(paused);
    assert!(matches!(first.await.unwrap(), Err(TransactionError::Deadline(_))));
    test.shutdown().await;
}

#[tokio::test]
async fn another_connection_than_the_stores_is_refused_before_it_waits() {
    let test = TestRuntime::without_model().await;
    let told = test.runtime.transaction(async |_: &mut String| io::Result::Ok(())).await;
    let Err(refused @ TransactionError::OtherConnection { .. }) = told else { panic!("{told:?}") };
    assert!(refused.to_string().contains("needs a alloc::string::String"), "{refused}");
    test.shutdown().await;
}

#[tokio::test]
async fn a_turn_with_one_unasked_transactional_call_takes_three_durable_waits() {
    let model = call_then_say("note", &json!({ "name": "a" }), "Written.");
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let before = test.store.commits();
    session.send("write it down").await.unwrap().ended().await.unwrap();
    assert_eq!(test.store.commits() - before, 3);
    assert_eq!(names(&test).await, ["a"]);
    test.shutdown().await;
}
