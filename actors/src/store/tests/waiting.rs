//! The callers that wait for the store: until when, and at what cost.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::{fixture, fixture_with, put, record, say};
use crate::{port::StoreError, protocol::Limits, store::Keep};

/// No caller waits longer, and this test does not either.
async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(Limits::default().store_timeout * 2, future).await.expect("it is told in time")
}

#[tokio::test(start_paused = true)]
async fn what_no_writer_comes_to_in_time_is_withdrawn_and_never_written() {
    let fixture = fixture().await;
    let lease = fixture.lease().await; // of a borrower that does not give it back
    let write = fixture.handle.begin_write(say(1, "a"));
    let borrow = fixture.handle.lease("t".into());
    let error = in_time(write).await.unwrap_err();
    assert!(matches!(error, StoreError::Withdrawn) && !error.may_have_happened());
    assert!(matches!(in_time(borrow).await, Err(StoreError::Withdrawn)));
    drop(lease);
    fixture.handle.write(say(2, "b")).await.unwrap();
    assert_eq!(fixture.texts().await, ["b"], "a caller that was told no finds nothing");
}

#[tokio::test(start_paused = true)]
async fn what_a_writer_has_begun_is_told_as_it_ends_however_late() {
    let fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let mut write = Box::pin(fixture.handle.begin_write(say(1, "a")));
    assert!(timeout(Limits::default().store_timeout * 9, &mut write).await.is_err(), "not known");
    drop(paused);
    in_time(write).await.unwrap();
    assert_eq!(fixture.texts().await, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_borrower_waits_for_its_commit_however_late() {
    let fixture = fixture().await;
    let mut lease = fixture.lease().await;
    put(&mut lease, "row");
    let paused = fixture.store.pause().await;
    let mut end = Box::pin(lease.end(Keep::Keep, record(1)));
    assert!(timeout(Limits::default().store_timeout * 9, &mut end).await.is_err(), "not known");
    drop(paused);
    in_time(end).await.unwrap();
    assert_eq!((fixture.value("row").is_some(), fixture.entries().await), (true, 1));
}

#[tokio::test(start_paused = true)]
async fn what_was_undone_with_a_borrower_is_withdrawn_where_its_time_is_up() {
    let fixture = fixture().await;
    let paused = fixture.store.pause().await;
    let first = fixture.handle.begin_write(Vec::new());
    fixture.barrier().await;
    let ahead = fixture.handle.begin_write(say(1, "a"));
    let lease = fixture.handle.lease("t".into());
    fixture.barrier().await;
    drop(paused);
    first.await.unwrap();
    let lease = lease.await.unwrap();
    sleep(Limits::default().store_timeout * 2).await; // and the write is in its transaction
    fixture.store.fail_next_commit();
    assert!(lease.end(Keep::Keep, record(3)).await.is_err());
    assert!(matches!(in_time(ahead).await, Err(StoreError::Withdrawn)));
    fixture.handle.write(say(2, "b")).await.unwrap();
    assert_eq!(fixture.texts().await, ["b"]);
}

#[tokio::test(start_paused = true)]
async fn withdrawn_requests_make_room_for_others() {
    let fixture = fixture_with(Limits { max_waiting_writes: 3, ..Limits::default() }).await;
    let lease = fixture.lease().await; // in one of the slots
    let writes = [1, 2].map(|seq| fixture.handle.begin_write(say(seq, "a")));
    assert!(matches!(fixture.handle.write(say(3, "a")).await, Err(StoreError::Overloaded)));
    for write in writes {
        assert!(matches!(in_time(write).await, Err(StoreError::Withdrawn)));
    }
    assert_eq!(fixture.handle.waiting().await, Ok(0));
    let later = [3, 4].map(|seq| fixture.handle.begin_write(say(seq, "b")));
    drop(lease);
    for write in later {
        write.await.unwrap();
    }
    assert_eq!(fixture.texts().await, ["b", "b"]);
}

/// On threads, so that deadlines and writers really meet: each job is a coin that may fall on
/// either side.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_is_told_no_finds_nothing_whenever_the_writer_comes() {
    let limits = Limits { store_timeout: Duration::from_millis(2), ..Limits::default() };
    let fixture = fixture_with(limits).await;
    let mut seq = 0;
    let mut refused = 0;
    let is_tame = |seq, refused| refused == 0 || u64::from(refused) == seq;
    // Some more where the machine is so slow, or so quick, that all of them fell on one side.
    for round in 0..5_000_u64 {
        if round >= 200 && !is_tame(seq, refused) {
            break;
        }
        let Ok(lease) = fixture.handle.lease("t".into()).await else { continue };
        let writes: Vec<_> = (0..8)
            .map(|_| {
                seq += 1;
                (seq, fixture.handle.begin_write(say(seq, &seq.to_string())))
            })
            .collect();
        sleep(Duration::from_micros(500 + round * 17 % 2_500)).await;
        drop(lease);
        for (seq, write) in writes {
            let told = write.await;
            let is_there = fixture.texts().await.contains(&seq.to_string());
            refused += u32::from(told.is_err());
            match told {
                Ok(()) => assert!(is_there, "{seq}"),
                Err(StoreError::Withdrawn) => assert!(!is_there, "{seq}"),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    // Neither may be told later otherwise.
    loop {
        if fixture.handle.write(Vec::new()).await.is_ok() {
            break;
        }
    }
    assert_eq!(fixture.texts().await.len() as u64 + u64::from(refused), seq);
    assert!(!is_tame(seq, refused), "{refused} of {seq}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_for_a_dead_actor_hears_it_in_time() {
    let mut fixture = fixture().await;
    fixture.actor.kill();
    (&mut fixture.ended).await.unwrap();
    let write = fixture.handle.begin_write(say(1, "a"));
    let lease = fixture.handle.lease("t".into());
    assert!(matches!(in_time(write).await, Err(StoreError::Withdrawn)));
    assert!(matches!(in_time(lease).await, Err(StoreError::Withdrawn)));
}

#[tokio::test(start_paused = true)]
async fn each_waits_as_long_as_everybody() {
    let fixture = fixture().await;
    let patience = Limits::default().store_timeout;
    let lease = fixture.lease().await;
    let first = fixture.handle.begin_write(say(1, "a"));
    sleep(patience / 2).await;
    let second = fixture.handle.begin_write(say(2, "b"));
    assert!(matches!(in_time(first).await, Err(StoreError::Withdrawn)));
    sleep(patience / 4).await;
    drop(lease);
    second.await.unwrap();
    assert_eq!(fixture.texts().await, ["b"]);
}

/// The bound of what waits holds also where the callers have left, and so look no more.
#[tokio::test(start_paused = true)]
async fn callers_that_left_make_room_for_others_when_their_time_is_up() {
    let fixture = fixture_with(Limits { max_waiting_writes: 2, ..Limits::default() }).await;
    let lease = fixture.lease().await; // in one of the slots
    drop(fixture.handle.begin_write(say(1, "a")));
    assert!(matches!(fixture.handle.write(say(2, "b")).await, Err(StoreError::Overloaded)));
    sleep(Limits::default().store_timeout).await;
    let later = fixture.handle.begin_write(say(2, "b"));
    drop(lease);
    later.await.unwrap();
    assert_eq!(fixture.texts().await, ["b"]);
}
