//! When a session sleeps, and what it has forgotten when it wakes.

use std::{sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    sync::oneshot,
    time::{Instant, sleep},
};

use super::{by_hand, by_hand_with};
use crate::{
    protocol::{Limits, Scope, TurnEnding},
    session::{Error, SessionMsg, SessionSlot},
    test_runtime::{TestRuntime, in_time},
};

const REST: Duration = Duration::from_secs(1);

/// Lets the paused clock run until the session sleeps.
async fn idles(slot: &SessionSlot) {
    let idles = async {
        while slot.awake().is_some() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    in_time(idles).await;
}

/// Lets the session sleep, if nothing is going on in it.
async fn may_sleep(slot: &SessionSlot) {
    let (reply, heard) = oneshot::channel();
    slot.awake().unwrap().cast(SessionMsg::Sleep { reply }).unwrap();
    in_time(heard).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_sleeps_once_nothing_happened_for_long_enough_though_it_was_busy_as_it_looked() {
    let limits = Limits { session_idle: REST, ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let slot = runtime.slot("s").await;
    let woke = Instant::now();
    runtime.state(&slot).await;
    idles(&slot).await;
    assert!(woke.elapsed() >= REST && woke.elapsed() < REST * 3 / 2, "{:?}", woke.elapsed());
    // It looks when it is busy, soon behind that, and when it has rested.
    for half_rests in [1, 3] {
        let end = runtime.ask(&slot, "hi").await.unwrap();
        let completion = script.next().await;
        sleep(REST / 2 * half_rests).await;
        completion.say("Hello.");
        in_time(end).await.unwrap();
        let ended = Instant::now();
        idles(&slot).await;
        assert!(ended.elapsed() >= REST, "{half_rests}: {:?}", ended.elapsed());
    }
}

#[tokio::test]
async fn an_error_that_is_over_is_not_told_again_when_the_session_wakes() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "one").await.unwrap();
    script.next().await.fail("Offline");
    in_time(end).await.unwrap();
    assert!(runtime.state(&slot).await.error.is_some());
    let end = runtime.ask(&slot, "two").await.unwrap();
    script.next().await.say("Hello.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
    assert_eq!(runtime.state(&slot).await.error, None);
    may_sleep(&slot).await;
    assert!(slot.awake().is_none());
    assert_eq!(runtime.state(&slot).await.error, None);
    may_sleep(&slot).await;
    runtime.at_rest().await;
    drop(slot);
    let nothing_keeps_the_slot = async {
        while runtime.sessions.count() > 0 {
            tokio::task::yield_now().await; // its last actor is about to be gone
        }
    };
    in_time(nothing_keeps_the_slot).await;
}

#[tokio::test]
async fn it_is_put_to_sleep_for_others_only_while_nothing_is_going_on() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    runtime.state(&slot).await;
    let end = runtime.ask(&slot, "hi").await.unwrap();
    assert!(slot.longest_idle(Scope::All).is_none(), "it rested before");
    script.next().await.say("Hello.");
    in_time(end).await.unwrap();
    runtime.state(&slot).await;
    let resting = slot.longest_idle(Scope::All).expect("it rests again");
    assert!(Arc::ptr_eq(&resting, &slot));
    assert!(slot.longest_idle(Scope::All).is_none(), "once");
}

#[tokio::test]
async fn a_session_without_a_permit_and_without_a_turn_does_not_try_again() {
    let limits = Limits { max_awake_sessions: 1, ..Limits::default() };
    let (runtime, mut script): (TestRuntime, _) = by_hand_with(limits, []).await;
    let [busy, other] = [runtime.slot("busy").await, runtime.slot("other").await];
    let _end = runtime.ask(&busy, "hi").await.unwrap();
    let _completion = script.next().await;
    let refused = runtime.ask(&other, "hi").await;
    assert!(matches!(refused, Err(Error::Overloaded(_))), "{refused:?}");
    assert!(other.turn().begins_to_go_on(), "no task sees to it");
}

/// Counts the tasks of a runtime with one session that has been busy for long.
async fn tasks_while_busy(session_idle: Duration) -> usize {
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let (runtime, mut script) =
        by_hand_with(Limits { session_idle, ..Limits::default() }, []).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "hi").await.unwrap();
    let completion = script.next().await;
    sleep(REST).await;
    let busy = tasks() - before;
    completion.say("Hello.");
    in_time(end).await.unwrap();
    idles(&slot).await;
    runtime.at_rest().await;
    drop((slot, runtime));
    for _ in 0..100 {
        tokio::task::yield_now().await; // its tasks end, and are not counted in the next runtime
    }
    busy
}

#[tokio::test(start_paused = true)]
async fn an_alarm_that_rings_while_the_session_is_busy_is_not_set_again_before_it_rests() {
    let with_alarm = tasks_while_busy(REST * 30).await;
    for session_idle in [Duration::ZERO, Duration::from_millis(1)] {
        assert_eq!(tasks_while_busy(session_idle).await + 1, with_alarm, "{session_idle:?}");
    }
}
