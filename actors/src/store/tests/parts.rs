//! The parts of a group's transaction: none is begun without a job, and none twice.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::advance;

use super::{StoreFixture, fixture_of, fixture_where, record, say};
use crate::{
    port::{BoxFuture, StoreError, Transaction},
    protocol::{CallId, Limits, SessionId},
    store::{Keep, Lease},
    testing::{StepResult, SteppedStore, Steps},
};

/// Writes down the steps that begin or end a part.
#[derive(Debug, Clone, Default)]
struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    fn note(&self, step: impl Into<String>) {
        self.0.lock().unwrap().push(step.into());
    }

    /// What was noted since it was asked last.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Steps for Trace {
    fn savepoint<'a>(
        &'a self,
        of: &'a mut dyn Transaction,
        call: Option<(&'a SessionId, CallId)>,
    ) -> BoxFuture<'a, StepResult> {
        self.note("savepoint");
        of.savepoint(call)
    }

    fn commit(self: Arc<Self>, of: Box<dyn Transaction>) -> BoxFuture<'static, StepResult> {
        self.note("commit");
        of.commit()
    }
}

/// Borrows twice for one group, of which the first has the transaction now.
async fn two_borrow(
    fixture: &StoreFixture,
    trace: &Trace,
) -> (Lease, impl Future<Output = Result<Lease, StoreError>>) {
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(Vec::new());
    fixture.barrier().await;
    let one = fixture.handle.lease("one".into());
    let two = fixture.handle.lease("two".into());
    fixture.barrier().await;
    trace.take();
    drop(paused);
    first.await.unwrap();
    (one.await.unwrap(), two)
}

#[tokio::test(start_paused = true)]
async fn each_borrower_of_a_group_has_a_part_of_its_own() {
    let trace = Trace::default();
    let fixture = fixture_where(trace.clone()).await;
    let (one, two) = two_borrow(&fixture, &trace).await;
    let one = one.end(Keep::Keep, record(1));
    let two = two.await.unwrap().end(Keep::Keep, record(2));
    one.await.unwrap();
    two.await.unwrap();
    assert_eq!(trace.take(), ["savepoint", "savepoint", "commit"]);
    assert_eq!(fixture.entries().await, 2);
}

#[tokio::test(start_paused = true)]
async fn no_part_is_begun_for_a_call_whose_caller_has_left() {
    let trace = Trace::default();
    let fixture = fixture_where(trace.clone()).await;
    let (one, two) = two_borrow(&fixture, &trace).await;
    drop(two);
    one.end(Keep::Keep, record(1)).await.unwrap();
    assert_eq!(trace.take(), ["savepoint", "commit"]);
}

#[tokio::test(start_paused = true)]
async fn no_part_is_begun_for_the_next_call_once_the_group_has_closed() {
    let trace = Trace::default();
    let fixture = fixture_where(trace.clone()).await;
    let (one, two) = two_borrow(&fixture, &trace).await;
    advance(Limits::default().batch_closes_after).await;
    one.end(Keep::Keep, record(1)).await.unwrap();
    two.await.unwrap().end(Keep::Keep, record(2)).await.unwrap();
    assert_eq!(trace.take(), ["savepoint", "commit", "savepoint", "commit"]);
}

#[tokio::test]
async fn a_write_that_is_refused_alone_is_tried_once() {
    let trace = Trace::default();
    let fixture = fixture_where(trace.clone()).await;
    fixture.handle.write(say(1, "taken")).await.unwrap();
    trace.take();
    let refused = fixture.handle.write(say(1, "again")).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    assert_eq!(trace.take(), ["savepoint", "commit"]);
}

#[tokio::test(start_paused = true)]
async fn no_part_is_begun_for_writes_whose_time_was_up_while_their_group_waited() {
    let trace = Trace::default();
    let limits = Limits {
        store_timeout: Duration::from_secs(1),
        batch_closes_after: Duration::from_secs(60),
        ..Limits::default()
    };
    let fixture =
        fixture_of(limits, |store| Arc::new(SteppedStore::new(store, trace.clone()))).await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(Vec::new());
    fixture.barrier().await;
    let lease = fixture.handle.lease("keeps it".into());
    let write = fixture.handle.begin_write(say(1, "a"));
    fixture.barrier().await;
    drop(paused);
    first.await.unwrap();
    let lease = lease.await.unwrap();
    trace.take();
    assert!(matches!(write.await, Err(StoreError::Withdrawn)));
    lease.end(Keep::Keep, record(2)).await.unwrap();
    assert_eq!(trace.take(), ["commit"]);
    assert_eq!(fixture.texts().await, ["-"], "the record");
}
