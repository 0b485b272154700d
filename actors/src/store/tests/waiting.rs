//! Who waits for the store: until when, and at what cost.

use std::time::Duration;

use tokio::{
    runtime::Handle,
    time::{sleep, timeout},
};

use super::{house, say};
use crate::{port::StoreError, protocol::Limits};

/// Nobody waits longer, and this test does not either.
async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(Limits::default().store_timeout * 2, future).await.expect("it is told in time")
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_too_long_hears_that_the_store_is_silent() {
    let house = house().await;
    let paused = house.store.pause().await;
    let error = in_time(house.handle.write(say(1, "a"))).await.unwrap_err();
    assert!(matches!(error, StoreError::Silent) && error.may_have_happened());
    assert!(matches!(in_time(house.handle.lease("t".into())).await, Err(StoreError::Silent)));
    drop(paused);
    house.handle.write(say(2, "b")).await.unwrap();
    assert_eq!(house.texts().await, ["a", "b"], "what was sent is still written");
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_dead_actor_hears_it_in_time() {
    let mut house = house().await;
    house.actor.kill();
    (&mut house.ended).await.unwrap();
    let write = house.handle.begin_write(say(1, "a"));
    let lease = house.handle.lease("t".into());
    assert!(matches!(in_time(write).await, Err(StoreError::Silent)));
    assert!(matches!(in_time(lease).await, Err(StoreError::Silent)));
}

#[tokio::test(start_paused = true)]
async fn each_waits_as_long_as_everybody() {
    let (house, patience) = (house().await, Limits::default().store_timeout);
    let paused = house.store.pause().await;
    let first = house.handle.begin_write(say(1, "a"));
    sleep(patience / 2).await;
    let second = house.handle.begin_write(say(2, "b"));
    assert!(matches!(in_time(first).await, Err(StoreError::Silent)));
    sleep(patience / 4).await;
    drop(paused);
    second.await.unwrap();
    assert_eq!(house.texts().await, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn one_task_keeps_the_time_of_all_and_ends_when_nobody_waits() {
    let house = house().await;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    sleep(Limits::default().store_timeout * 2).await;
    let at_rest = tasks();
    let paused = house.store.pause().await;
    let writes: Vec<_> = (1..=100).map(|seq| house.handle.begin_write(say(seq, "n"))).collect();
    house.barrier().await;
    assert_eq!(tasks() - at_rest, 2, "the writer and the keeper");
    drop(paused);
    for write in writes {
        write.await.unwrap();
    }
    sleep(Limits::default().store_timeout * 2).await;
    assert_eq!(tasks(), at_rest);
}

#[tokio::test(start_paused = true)]
async fn with_the_last_handle_the_keeper_is_gone() {
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let mut house = house().await;
    house.actor.stop(None);
    (&mut house.ended).await.unwrap();
    assert_eq!(tasks(), 1, "the keeper sleeps");
    drop(house);
    let gone = async {
        while tasks() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Limits::default().store_timeout / 2, gone).await.expect("before it would look again");
}
