//! Groups of writes: what is committed together, what is told to whom, what is bounded.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use ractor::Actor;

use super::{StoreActor, house, house_where, house_with, say};
use crate::{
    port::{BoxFuture, StoreError, Transaction},
    protocol::Limits,
    store::Keep,
    testing::{StepResult, Steps},
    yard::in_time,
};

#[tokio::test]
async fn what_waits_during_a_commit_is_the_next_group() {
    let house = house().await;
    let paused = house.store.pause().await;
    let first = house.handle.begin_write(say(1, "1"));
    house.barrier().await;
    let others: Vec<_> = (2..=100).map(|seq| house.handle.begin_write(say(seq, "n"))).collect();
    house.barrier().await;
    let before = house.store.commits();
    drop(paused);
    first.await.unwrap();
    for other in others {
        other.await.unwrap();
    }
    assert_eq!(house.store.commits() - before, 2);
    assert_eq!(house.entries().await, 100);
}

#[tokio::test]
async fn a_refused_job_is_undone_as_a_whole_and_its_neighbours_stay() {
    let house = house().await;
    let paused = house.store.pause().await;
    let one = house.handle.begin_write(say(1, "one"));
    let refused = house.handle.begin_write([say(2, "half"), say(1, "again")].concat());
    let two = house.handle.begin_write(say(2, "two"));
    drop(paused);
    one.await.unwrap();
    assert!(matches!(refused.await, Err(StoreError::Refused { .. })));
    two.await.unwrap();
    assert_eq!(house.texts().await, ["one", "two"]);
}

#[tokio::test]
async fn a_failed_commit_is_told_to_the_whole_group_and_the_next_one_goes_on() {
    let house = house().await;
    let paused = house.store.pause().await;
    let first = house.handle.begin_write(Vec::new());
    house.barrier().await;
    let group = [house.handle.begin_write(say(1, "a")), house.handle.begin_write(say(2, "b"))];
    house.barrier().await;
    drop(paused);
    let paused = house.store.pause().await;
    first.await.unwrap();
    house.store.fail_next_commit();
    drop(paused);
    for write in group {
        let error = write.await.unwrap_err();
        assert!(
            matches!(error, StoreError::Unavailable { .. }) && !error.may_have_happened(),
            "{error:?}"
        );
    }
    house.handle.write(say(1, "c")).await.unwrap();
    assert_eq!(house.texts().await, ["c"]);
}

#[tokio::test]
async fn a_lost_answer_to_a_commit_is_told_as_unknown() {
    let house = house().await;
    house.store.lose_next_commit_reply();
    let error = house.handle.write(say(1, "a")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unknown { .. }) && error.may_have_happened(), "{error:?}");
    assert_eq!(house.texts().await, ["a"], "only the store knows");
}

#[tokio::test]
async fn more_jobs_than_may_wait_are_refused_before_the_mailbox() {
    let house = house_with(Limits { max_waiting_writes: 2, ..Limits::default() }).await;
    let paused = house.store.pause().await;
    let held = [house.handle.begin_write(say(1, "a")), house.handle.begin_write(say(2, "b"))];
    assert!(matches!(house.handle.write(say(3, "c")).await, Err(StoreError::Overloaded)));
    assert!(matches!(house.handle.lease("t".into()).await, Err(StoreError::Overloaded)));
    drop(paused);
    for write in held {
        write.await.unwrap();
    }
    house.handle.write(say(3, "c")).await.unwrap();
    assert_eq!(house.texts().await, ["a", "b", "c"]);
}

#[tokio::test]
async fn what_was_sent_while_nobody_was_there_is_written_by_the_next_actor() {
    let mut house = house().await;
    house.actor.kill();
    (&mut house.ended).await.unwrap();
    let sent = house.handle.begin_write(say(1, "sent"));
    let (next, _) = Actor::spawn(None, StoreActor, house.arguments.clone()).await.unwrap();
    sent.await.unwrap();
    house.address.moved(next);
    house.handle.write(say(2, "later")).await.unwrap();
    assert_eq!(house.texts().await, ["sent", "later"]);
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
    let mut house = house_where(panics.clone()).await;
    let paused = house.store.pause().await;
    panics.0.store(true, Relaxed);
    let running = house.handle.begin_write(say(1, "running"));
    house.barrier().await;
    house.actor.kill();
    (&mut house.ended).await.unwrap();
    let (next, _) = Actor::spawn(None, StoreActor, house.arguments.clone()).await.unwrap();
    house.address.moved(next);
    let queued = house.handle.begin_write(say(2, "queued"));
    house.barrier().await;
    drop(paused);
    let told = in_time(running).await;
    assert!(matches!(told, Err(StoreError::Silent)), "it was begun: {told:?}");
    in_time(queued).await.unwrap();
    assert_eq!(house.texts().await, ["running", "queued"]);
}

#[tokio::test]
async fn what_waits_is_written_even_where_nobody_follows_the_actor() {
    let mut house = house().await;
    let paused = house.store.pause().await;
    let running = house.handle.begin_write(say(1, "running"));
    house.barrier().await;
    let queued = house.handle.begin_write(say(2, "queued"));
    house.barrier().await;
    house.actor.kill();
    (&mut house.ended).await.unwrap();
    drop(paused);
    running.await.unwrap();
    queued.await.unwrap();
    house.tasks.close();
    house.tasks.wait().await;
    assert_eq!(house.texts().await, ["running", "queued"]);
}

#[tokio::test]
async fn an_actor_that_is_stopped_in_order_refuses_what_comes() {
    let mut house = house().await;
    house.actor.stop(None);
    (&mut house.ended).await.unwrap();
    let late = house.handle.write(say(1, "late")).await;
    assert!(matches!(late, Err(StoreError::Unavailable { .. })), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_group_closes_after_its_time_and_the_rest_is_the_next() {
    let house = house().await;
    let paused = house.store.pause().await;
    let first = house.handle.begin_write(say(1, "a"));
    house.barrier().await;
    let lease = house.handle.lease("t".into());
    let waits = house.handle.begin_write(say(2, "b"));
    assert_eq!(house.handle.waiting().await.unwrap(), 2);
    drop(paused);
    first.await.unwrap();
    let lease = lease.await.unwrap();
    tokio::time::sleep(Limits::default().batch_closes_after).await;
    let before = house.store.commits();
    lease.end(Keep::Keep, Vec::new()).await.unwrap();
    waits.await.unwrap();
    assert_eq!(house.store.commits() - before, 2);
}

#[tokio::test]
async fn among_many_writes_that_go_in_one_step_a_refused_one_is_undone_alone() {
    let house = house().await;
    let paused = house.store.pause().await;
    let first = house.handle.begin_write(Vec::new());
    house.barrier().await;
    let mut group = Vec::new();
    for seq in 1..=100 {
        group.push(house.handle.begin_write(say(seq, &seq.to_string())));
        if seq % 30 == 0 {
            // The second write of the job is refused, so its first must go, too.
            group.push(
                house.handle.begin_write([say(1_000 + seq, "half"), say(seq, "again")].concat()),
            );
        }
    }
    house.barrier().await;
    let before = house.store.commits();
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
    assert_eq!((refused, house.store.commits() - before), (3, 2));
    let expected: Vec<String> = (1..=100).map(|seq| seq.to_string()).collect();
    assert_eq!(house.texts().await, expected);
}
