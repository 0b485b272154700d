//! Leases: however a borrower ends, the transaction is returned.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use serde_json::json;
use tokio::time::timeout;

use super::{StoreFixture, fixture, fixture_where, put, record, say};
use crate::{
    port::{BoxFuture, StoreError, Transaction},
    protocol::{CallId, Limits, SessionId},
    store::{Keep, Lease},
    testing::{StepResult, Steps},
};

/// The borrower ends in order, at this point, and the commit fails.
async fn fails_with_its_group(fixture: &StoreFixture, mut lease: Lease, seq: u64) {
    put(&mut lease, "row");
    fixture.store.fail_next_commit();
    let told = lease.end(Keep::Keep, record(seq)).await;
    assert!(matches!(told, Err(StoreError::Unavailable { .. })), "{told:?}");
}

#[tokio::test]
async fn a_failed_commit_with_a_borrower_in_the_group_costs_the_borrower_only() {
    let fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(Vec::new());
    fixture.barrier().await;
    let before = fixture.handle.begin_write(say(1, "a"));
    let lease = fixture.handle.lease("t".into());
    let behind = fixture.handle.begin_write(say(2, "b"));
    fixture.barrier().await;
    drop(paused);
    first.await.unwrap();
    fails_with_its_group(&fixture, lease.await.unwrap(), 3).await;
    before.await.unwrap();
    behind.await.unwrap();
    assert_eq!(
        (fixture.value("row"), fixture.texts().await),
        (None, vec!["a".to_owned(), "b".to_owned()])
    );
}

#[tokio::test]
async fn of_many_writes_in_a_failed_group_with_a_borrower_only_the_refused_one_is_missing() {
    let fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(Vec::new());
    fixture.barrier().await;
    let write = |seq: u64| fixture.handle.begin_write(say(seq, &seq.to_string()));
    // Longer than two runs: the refused one is in the second.
    let mut writes: Vec<_> = (1..=100).map(write).collect();
    let refused = fixture.handle.begin_write(say(1, "again"));
    writes.extend((101..=150).map(write));
    let lease = fixture.handle.lease("t".into());
    fixture.barrier().await;
    drop(paused);
    first.await.unwrap();
    fails_with_its_group(&fixture, lease.await.unwrap(), 151).await;
    for write in writes {
        write.await.unwrap();
    }
    assert!(matches!(refused.await, Err(StoreError::Refused { .. })));
    let texts: Vec<_> = (1..=150).map(|seq: u64| seq.to_string()).collect();
    assert_eq!((fixture.value("row"), fixture.texts().await), (None, texts));
}

#[tokio::test]
async fn in_a_group_writes_do_not_wait_behind_borrowers() {
    let fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(say(1, "a"));
    fixture.barrier().await;
    let ahead = fixture.handle.begin_write(say(2, "b"));
    let lease = fixture.handle.lease("t".into());
    let behind = fixture.handle.begin_write(say(3, "c"));
    fixture.barrier().await;
    drop(paused);
    let mut lease = lease.await.unwrap();
    put(&mut lease, "row");
    // The second job finds the permit taken.
    let told = lease.end(Keep::Keep, record(3)).await;
    assert!(matches!(told, Err(StoreError::Refused { .. })), "{told:?}");
    for write in [first, ahead, behind] {
        write.await.unwrap();
    }
    assert_eq!(fixture.texts().await, ["a", "b", "c"]);
}

#[tokio::test]
async fn a_transaction_that_does_not_begin_refuses_writes_and_leases() {
    let fixture = fixture().await;
    fixture.store.fail_next_begin();
    assert!(matches!(fixture.handle.write(say(1, "a")).await, Err(StoreError::Unavailable { .. })));
    fixture.store.fail_next_begin();
    assert!(matches!(fixture.handle.lease("t".into()).await, Err(StoreError::Unavailable { .. })));
    fixture.handle.write(say(1, "b")).await.unwrap();
}

#[tokio::test]
async fn a_kept_lease_commits_writes_and_record_together() {
    let fixture = fixture().await;
    let mut lease = fixture.lease().await;
    put(&mut lease, "row");
    assert_eq!(fixture.value("row"), None, "no reader sees it before the commit");
    lease.end(Keep::Keep, record(1)).await.unwrap();
    assert_eq!((fixture.value("row"), fixture.entries().await), (Some(json!(1)), 1));
}

#[tokio::test]
async fn an_undone_lease_leaves_its_record_only() {
    let fixture = fixture().await;
    let mut lease = fixture.lease().await;
    put(&mut lease, "row");
    lease.end(Keep::Undo, record(1)).await.unwrap();
    assert_eq!((fixture.value("row"), fixture.entries().await), (None, 1));
}

#[tokio::test]
async fn a_refused_record_undoes_the_handlers_writes_too() {
    let fixture = fixture().await;
    fixture.handle.write(say(1, "taken")).await.unwrap();
    for keep in [Keep::Keep, Keep::Undo] {
        let mut lease = fixture.lease().await;
        put(&mut lease, "row");
        assert!(matches!(lease.end(keep, record(1)).await, Err(StoreError::Refused { .. })));
        assert_eq!((fixture.value("row"), fixture.texts().await), (None, vec!["taken".to_owned()]));
    }
    fixture.handle.write(say(2, "goes on")).await.unwrap();
}

#[tokio::test]
async fn a_lease_that_is_dropped_or_lost_in_a_panic_is_undone_and_others_go_on() {
    let fixture = fixture().await;
    let mut lease = fixture.lease().await;
    put(&mut lease, "dropped");
    let beside = fixture.handle.begin_write(say(1, "beside"));
    drop(lease);
    beside.await.unwrap();

    let mut lease = fixture.lease().await;
    let panicked = tokio::spawn(async move {
        put(&mut lease, "panicked");
        std::panic::panic_any(42_u8);
    });
    assert!(panicked.await.unwrap_err().is_panic());
    fixture.handle.write(say(2, "after")).await.unwrap();
    assert!(fixture.store.connection().values().is_empty());
}

#[tokio::test]
async fn a_lease_that_no_borrower_takes_is_returned() {
    let fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(say(1, "a"));
    let borrower = tokio::spawn({
        let handle = fixture.handle.clone();
        async move { handle.lease("t".into()).await }
    });
    fixture.barrier().await;
    borrower.abort();
    drop(borrower.await);
    let last = fixture.handle.begin_write(say(2, "b"));
    drop(paused);
    first.await.unwrap();
    last.await.unwrap();
}

/// Counts the parts of transactions.
#[derive(Debug, Clone, Default)]
struct PartCount(Arc<AtomicUsize>);

impl Steps for PartCount {
    fn savepoint<'a>(
        &'a self,
        of: &'a mut dyn Transaction,
        call: Option<(&'a SessionId, CallId)>,
    ) -> BoxFuture<'a, StepResult> {
        self.0.fetch_add(1, Relaxed);
        of.savepoint(call)
    }
}

#[tokio::test]
async fn nothing_is_begun_for_a_borrower_that_has_left() {
    let parts = PartCount::default();
    let fixture = fixture_where(parts.clone()).await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(say(1, "a"));
    fixture.barrier().await;
    drop(fixture.handle.lease("nobody".into()));
    let stays = fixture.handle.lease("somebody".into());
    fixture.barrier().await;
    let before = parts.0.load(Relaxed);
    drop(paused);
    first.await.unwrap();
    stays.await.unwrap().end(Keep::Keep, record(2)).await.unwrap();
    assert_eq!(parts.0.load(Relaxed) - before, 1, "parts of the second group");
}

#[tokio::test(start_paused = true)]
async fn in_a_group_behind_a_borrower_nothing_is_begun_whose_time_is_up() {
    let parts = PartCount::default();
    let fixture = fixture_where(parts.clone()).await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(say(1, "a"));
    fixture.barrier().await;
    let lease = fixture.handle.lease("keeps it".into());
    let write = fixture.handle.begin_write(say(2, "b"));
    let borrow = fixture.handle.lease("waits".into());
    fixture.barrier().await;
    drop(paused);
    first.await.unwrap();
    let lease = lease.await.unwrap();
    assert_eq!(fixture.handle.waiting().await, Ok(0), "all of them are in its group");
    let before = parts.0.load(Relaxed);
    assert!(matches!(write.await, Err(StoreError::Withdrawn)));
    assert!(matches!(borrow.await, Err(StoreError::Withdrawn)));
    drop(lease);
    fixture.handle.write(Vec::new()).await.unwrap();
    assert_eq!(fixture.texts().await, ["a"]);
    assert_eq!(parts.0.load(Relaxed) - before, 1, "that of the last write");
}

/// A transaction of which nothing can be undone by itself, once.
#[derive(Debug)]
struct UndoFails(AtomicBool);

impl Steps for UndoFails {
    fn undo<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        if self.0.swap(false, Relaxed) {
            return Box::pin(async { Err(StoreError::unavailable(std::fmt::Error)) });
        }
        of.undo()
    }
}

#[tokio::test]
async fn what_is_written_again_is_written_before_what_had_not_begun() {
    let fixture = fixture_where(UndoFails(AtomicBool::new(true))).await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(Vec::new());
    fixture.barrier().await;
    // As many as go in one step; the lease is in front of the next.
    let ahead: Vec<_> = (1..=64).map(|seq| fixture.handle.begin_write(say(seq, "ahead"))).collect();
    let lease = fixture.handle.lease("t".into());
    let behind = fixture.handle.begin_write(say(64, "behind"));
    fixture.barrier().await;
    drop(paused);
    first.await.unwrap();
    let _ = lease.await.unwrap(); // what it wrote cannot be undone alone
    for write in ahead {
        write.await.unwrap();
    }
    assert!(matches!(behind.await, Err(StoreError::Refused { .. })), "its number was taken");
    assert_eq!(fixture.texts().await, ["ahead"].repeat(64));
}

#[tokio::test]
async fn dropping_the_answer_to_a_lease_does_not_lose_its_writes() {
    let fixture = fixture().await;
    let mut lease = fixture.lease().await;
    put(&mut lease, "row");
    drop(lease.end(Keep::Keep, record(1)));
    fixture.handle.write(say(2, "barrier")).await.unwrap();
    assert_eq!((fixture.value("row"), fixture.entries().await), (Some(json!(1)), 2));
}

#[tokio::test]
async fn a_lease_outlives_the_actor_and_is_committed() {
    let fixture = fixture().await;
    let mut lease = fixture.lease().await;
    put(&mut lease, "row");
    fixture.actor.kill();
    fixture.ended.await.unwrap();
    lease.end(Keep::Keep, record(1)).await.unwrap();
    assert_eq!(fixture.store.connection().get("row"), Some(json!(1)));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_stays_away_is_reported_until_it_comes_home() {
    let fixture = fixture().await;
    let lease = fixture.lease().await;
    tokio::time::sleep(Limits::default().transaction_deadline * 2).await;
    assert_eq!(fixture.health.overdue_leases(), 0, "its borrower may be late by a little");
    let overdue = async {
        while fixture.health.overdue_leases() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Limits::default().transaction_deadline * 5, overdue).await.expect("reported in time");
    drop(lease);
    fixture.handle.write(say(1, "a")).await.unwrap();
    assert_eq!(fixture.health.overdue_leases(), 0);
}
