//! Sessions with a turn that goes on, while no further session may be awake: they wait in line, and
//! are dismissed all the same.

use tokio::{
    sync::oneshot,
    task::yield_now,
    time::{Instant, sleep},
};

use super::{
    asleep, by_hand_with,
    room::{dismisses, left_open, stored, wakes},
};
use crate::{
    protocol::{Bound, Limits, Scope},
    session::{Error, SessionRequest, ViewPage},
    test_runtime::{PATIENCE, in_time},
};

#[tokio::test]
async fn a_turn_left_open_is_dismissed_though_no_further_session_may_be_awake() {
    for waits_in_line in [false, true] {
        let limits = Limits { max_awake_sessions: 1, ..Limits::default() };
        let (runtime, mut script) = by_hand_with(limits, []).await;
        let busy = runtime.slot("busy").await;
        let end = runtime.ask(&busy, "hi").await.unwrap();
        let completion = script.next().await;
        let slot = left_open(&runtime, "s").await;
        if waits_in_line {
            wakes(&runtime, &slot);
        }
        dismisses(&runtime, &slot).await;
        in_time(async {
            while stored(&runtime, &slot).await.is_some() {
                yield_now().await;
            }
        })
        .await;
        in_time(asleep(&slot)).await;
        assert!(script.try_next().is_none(), "the model is not asked");
        assert_eq!(runtime.handles.calls.admission.held(Bound::AwakeSessions), 1);
        completion.say("Hello.");
        in_time(end).await.unwrap();
    }
}

#[tokio::test]
async fn whoever_looks_at_a_session_that_waits_in_line_is_told_which_bound_it_waits_for() {
    let limits = Limits { max_awake_sessions: 1, ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let busy = runtime.slot("busy").await;
    let _end = runtime.ask(&busy, "hi").await.unwrap();
    let completion = script.next().await;
    let slot = left_open(&runtime, "s").await;
    wakes(&runtime, &slot);
    for _ in 0..2 {
        let (reply, view) = oneshot::channel();
        runtime.send(&slot, SessionRequest::State { page: ViewPage::ALL, reply });
        let refused = in_time(view).await.unwrap().unwrap_err();
        let Error::Overloaded(refusal) = refused else { panic!("{refused:?}") };
        assert_eq!((refusal.bound, refusal.scope), (Bound::AwakeSessions, Scope::All));
    }
    completion.say("Hello.");
    script.next().await.say("It has waited.");
}

#[tokio::test(start_paused = true)]
async fn a_session_in_line_keeps_its_place_however_often_it_looks_for_an_idle_one() {
    let limits = Limits { max_awake_sessions: 1, ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let busy = runtime.slot("busy").await;
    let _end = runtime.ask(&busy, "hi").await.unwrap();
    let completion = script.next().await;
    let look = runtime.handles.calls.limits.ask_timeout;
    let slots = [left_open(&runtime, "first").await, left_open(&runtime, "second").await];
    wakes(&runtime, &slots[0]);
    sleep(look / 2).await;
    wakes(&runtime, &slots[1]);
    // The first has looked for an idle session, and the second not yet.
    sleep(look * 3 / 4).await;
    completion.say("Hello.");
    for slot in &slots {
        let completion = script.next().await;
        assert_eq!(completion.request().session, *slot.session());
        completion.say("Hello.");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_goes_on_though_its_session_was_woken_by_a_caller_whom_the_bound_refused() {
    let limits = Limits { max_awake_sessions: 1, ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let busy = runtime.slot("busy").await;
    let _end = runtime.ask(&busy, "hi").await.unwrap();
    let completion = script.next().await;
    let slot = left_open(&runtime, "s").await;
    let (reply, view) = oneshot::channel();
    runtime.send(&slot, SessionRequest::State { page: ViewPage::ALL, reply });
    wakes(&runtime, &slot); // the caller wakes it already
    in_time(view).await.unwrap().unwrap_err();
    let refused = Instant::now();
    completion.say("Hello.");
    script.next().await.say("Hello.");
    assert!(refused.elapsed() < PATIENCE, "it is tried again without a further message");
}
