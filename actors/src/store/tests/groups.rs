//! Groups of writes: what is committed together, what each caller receives, what is bounded.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use ractor::Actor;

use super::{StoreActor, fixture, fixture_where, fixture_with, say};
use crate::{
    port::{BoxFuture, StoreError, Transaction},
    protocol::Limits,
    store::Keep,
    test_runtime::in_time,
    testing::{StepResult, Steps},
};

#[tokio::test]
async fn what_waits_during_a_commit_is_the_next_group() {
    let fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(say(1, "1"));
    fixture.barrier().await;
    let others: Vec<_> = (2..=100).map(|seq| fixture.handle.begin_write(say(seq, "n"))).collect();
    fixture.barrier().await;
    let before = fixture.store.commits();
    drop(paused);
    first.await.unwrap();
    for other in others {
        other.await.unwrap();
    }
    assert_eq!(fixture.store.commits() - before, 2);
    assert_eq!(fixture.entries().await, 100);
}

#[tokio::test]
async fn a_refused_job_is_undone_as_a_whole_and_its_neighbours_stay() {
    let fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let one = fixture.handle.begin_write(say(1, "one"));
    let refused = fixture.handle.begin_write([say(2, "half"), say(1, "again")].concat());
    let two = fixture.handle.begin_write(say(2, "two"));
    drop(paused);
    one.await.unwrap();
    assert!(matches!(refused.await, Err(StoreError::Refused { .. })));
    two.await.unwrap();
    assert_eq!(fixture.texts().await, ["one", "two"]);
}

#[tokio::test]
async fn a_failed_commit_is_told_to_the_whole_group_and_the_next_one_goes_on() {
    let fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(Vec::new());
    fixture.barrier().await;
    let group = [fixture.handle.begin_write(say(1, "a")), fixture.handle.begin_write(say(2, "b"))];
    fixture.barrier().await;
    drop(paused);
    let paused = fixture.store.pause().await;
    first.await.unwrap();
    fixture.store.fail_next_commit();
    drop(paused);
    for write in group {
        let error = write.await.unwrap_err();
        assert!(
            matches!(error, StoreError::Unavailable { .. }) && !error.may_have_happened(),
            "{error:?}"
        );
    }
    fixture.handle.write(say(1, "c")).await.unwrap();
    assert_eq!(fixture.texts().await, ["c"]);
}

#[tokio::test]
async fn a_lost_answer_to_a_commit_is_told_as_unknown() {
    let fixture = fixture().await;
    fixture.store.lose_next_commit_reply();
    let error = fixture.handle.write(say(1, "a")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unknown { .. }) && error.may_have_happened(), "{error:?}");
    assert_eq!(fixture.texts().await, ["a"], "only the store knows");
}

#[tokio::test]
async fn more_jobs_than_may_wait_are_refused_before_the_mailbox() {
    let fixture = fixture_with(Limits { max_waiting_writes: 2, ..Limits::default() }).await;
    let paused = fixture.store.pause().await;
    let held = [fixture.handle.begin_write(say(1, "a")), fixture.handle.begin_write(say(2, "b"))];
    assert!(matches!(fixture.handle.write(say(3, "c")).await, Err(StoreError::Overloaded)));
    assert!(matches!(fixture.handle.lease("t".into()).await, Err(StoreError::Overloaded)));
    drop(paused);
    for write in held {
        write.await.unwrap();
    }
    fixture.handle.write(say(3, "c")).await.unwrap();
    assert_eq!(fixture.texts().await, ["a", "b", "c"]);
}

#[tokio::test]
async fn what_was_sent_while_no_actor_ran_is_written_by_the_next_one() {
    let mut fixture = fixture().await;
    fixture.actor.kill();
    (&mut fixture.ended).await.unwrap();
    let sent = fixture.handle.begin_write(say(1, "sent"));
    let (next, _) = Actor::spawn(None, StoreActor, fixture.arguments.clone()).await.unwrap();
    sent.await.unwrap();
    fixture.address.moved(next);
    fixture.handle.write(say(2, "later")).await.unwrap();
    assert_eq!(fixture.texts().await, ["sent", "later"]);
}

/// Panics in one commit, behind the store's.
#[derive(Debug, Clone, Default)]
struct Panics(Arc<AtomicBool>);

impl Steps for Panics {
    fn commit(self: Arc<Self>, of: Box<dyn Transaction>) -> BoxFuture<'static, StepResult> {
        Box::pin(async move {
            let committed = of.commit().await;
            assert!(!self.0.swap(false, Relaxed), "on purpose");
            committed
        })
    }
}

#[tokio::test]
async fn what_waits_is_written_though_a_writer_panics_whose_actor_was_replaced() {
    let panics = Panics::default();
    let mut fixture = fixture_where(panics.clone()).await;
    let paused = fixture.store.pause().await;
    panics.0.store(true, Relaxed);
    let running = fixture.handle.begin_write(say(1, "running"));
    fixture.barrier().await;
    fixture.actor.kill();
    (&mut fixture.ended).await.unwrap();
    let (next, _) = Actor::spawn(None, StoreActor, fixture.arguments.clone()).await.unwrap();
    fixture.address.moved(next);
    let queued = fixture.handle.begin_write(say(2, "queued"));
    fixture.barrier().await;
    drop(paused);
    let told = in_time(running).await;
    assert!(matches!(told, Err(StoreError::Silent)), "it was begun: {told:?}");
    in_time(queued).await.unwrap();
    assert_eq!(fixture.texts().await, ["running", "queued"]);
}

#[tokio::test]
async fn what_waits_is_written_even_where_no_actor_follows() {
    let mut fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let running = fixture.handle.begin_write(say(1, "running"));
    fixture.barrier().await;
    let queued = fixture.handle.begin_write(say(2, "queued"));
    fixture.barrier().await;
    fixture.actor.kill();
    (&mut fixture.ended).await.unwrap();
    drop(paused);
    running.await.unwrap();
    queued.await.unwrap();
    fixture.tasks.close();
    fixture.tasks.wait().await;
    assert_eq!(fixture.texts().await, ["running", "queued"]);
}

#[tokio::test]
async fn an_actor_that_is_stopped_in_order_refuses_what_comes() {
    let mut fixture = fixture().await;
    fixture.actor.stop(None);
    (&mut fixture.ended).await.unwrap();
    let late = fixture.handle.write(say(1, "late")).await;
    assert!(matches!(late, Err(StoreError::Unavailable { .. })), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_group_closes_after_its_time_and_the_rest_is_the_next() {
    let fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(say(1, "a"));
    fixture.barrier().await;
    let lease = fixture.handle.lease("t".into());
    let waits = fixture.handle.begin_write(say(2, "b"));
    assert_eq!(fixture.handle.waiting().await.unwrap(), 2);
    drop(paused);
    first.await.unwrap();
    let lease = lease.await.unwrap();
    tokio::time::sleep(Limits::default().batch_closes_after).await;
    let before = fixture.store.commits();
    lease.end(Keep::Keep, Vec::new()).await.unwrap();
    waits.await.unwrap();
    assert_eq!(fixture.store.commits() - before, 2);
}

#[tokio::test]
async fn among_many_writes_that_go_in_one_step_a_refused_one_is_undone_alone() {
    let fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(Vec::new());
    fixture.barrier().await;
    let mut group = Vec::new();
    for seq in 1..=100 {
        group.push(fixture.handle.begin_write(say(seq, &seq.to_string())));
        if seq % 30 == 0 {
            // The second write of the job is refused, so its first must go, too.
            group.push(
                fixture.handle.begin_write([say(1_000 + seq, "half"), say(seq, "again")].concat()),
            );
        }
    }
    fixture.barrier().await;
    let before = fixture.store.commits();
    drop(paused);
    first.await.unwrap();
    let mut refused = 0;
    for write in group {
        match write.await {
            Ok(()) => {}
            Err(StoreError::Refused { .. }) => refused += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!((refused, fixture.store.commits() - before), (3, 2));
    let expected: Vec<String> = (1..=100).map(|seq| seq.to_string()).collect();
    assert_eq!(fixture.texts().await, expected);
}
