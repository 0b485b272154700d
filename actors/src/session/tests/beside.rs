//! A call without a model in a sleeping session: while it waits, the chat can be viewed.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

use super::{asleep, by_hand_with};
use crate::{
    protocol::{Bound, Limits},
    session::{Error, SessionMsg, SessionRequest, SessionSlot},
    test_runtime::{TestRuntime, in_time},
};

async fn sleeps(slot: &Arc<SessionSlot>) {
    let (reply, heard) = oneshot::channel();
    slot.awake().unwrap().cast(SessionMsg::Sleep { reply }).unwrap();
    in_time(heard).await.unwrap();
    in_time(asleep(slot)).await;
}

#[tokio::test(start_paused = true)]
async fn while_a_call_waits_beside_a_session_its_chat_is_seen_and_is_busy() {
    let (runtime, mut script): (TestRuntime, _) = by_hand_with(Limits::default(), []).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "hi").await.unwrap();
    script.next().await.say("Hello.");
    let turn = in_time(end).await.unwrap().turn;
    let awake = runtime.state(&slot).await;
    sleeps(&slot).await;
    let mut call = slot.begins_asleep().unwrap();
    call.goes_on_beside();
    let began = Instant::now();
    let patience = runtime.handles.calls.limits.ask_timeout;
    assert_eq!(runtime.state(&slot).await, awake);
    let (reply, seen) = oneshot::channel();
    runtime.send(&slot, SessionRequest::Turn { turn, reply });
    let seen = in_time(seen).await.unwrap().unwrap();
    assert_eq!(seen, None);
    let ((reply, runs), (ended, _)) = (oneshot::channel(), oneshot::channel());
    runtime.send(&slot, SessionRequest::Attach { ended, reply });
    assert_eq!(in_time(runs).await.unwrap().unwrap(), None);
    let (reply, dismissed) = oneshot::channel();
    runtime.send(&slot, SessionRequest::Dismiss { only: None, reply });
    assert!(matches!(in_time(dismissed).await.unwrap(), Err(Error::NoTurn)));
    assert_eq!(began.elapsed(), Duration::ZERO, "none of them waits");

    assert!(matches!(runtime.ask(&slot, "more").await, Err(Error::Busy)));
    assert!(began.elapsed() >= patience, "a short call would have ended by then");
    let (reply, cleared) = oneshot::channel();
    runtime.send(&slot, SessionRequest::Clear { reply });
    assert!(matches!(in_time(cleared).await.unwrap(), Err(Error::Busy)));
    drop(call);
    let end = runtime.ask(&slot, "more").await.unwrap();
    script.next().await.say("Hello.");
    in_time(end).await.unwrap();
    assert_eq!(runtime.handles.calls.admission.held(Bound::QueuedBytes), 0);
}

#[tokio::test(start_paused = true)]
async fn what_comes_beside_a_short_call_waits_for_its_end() {
    let (runtime, mut script) = by_hand_with(Limits::default(), []).await;
    let slot = runtime.slot("s").await;
    let mut call = slot.begins_asleep().unwrap();
    call.goes_on_beside();
    let asks = runtime.ask(&slot, "hi");
    let (asked, ()) = tokio::join!(asks, async {
        tokio::task::yield_now().await;
        drop(call);
    });
    script.next().await.say("Hello.");
    in_time(asked.unwrap()).await.unwrap();
}

/// Only a call beside a session without a turn shows the chat: other work may have to be waited
/// for.
#[tokio::test(start_paused = true)]
async fn nothing_is_said_of_a_chat_before_it_is_known_whether_its_turn_is_open() {
    let (runtime, mut script) = by_hand_with(Limits::default(), []).await;
    let before = runtime.slot("s").await;
    drop(runtime.ask(&before, "go").await.unwrap());
    let _speaks = script.next().await;
    let slot = runtime.fresh_slot(&before); // as in another process
    let looks = slot.begins_asleep().unwrap();
    let (reply, mut dismissed) = oneshot::channel();
    runtime.send(&slot, SessionRequest::Dismiss { only: None, reply });
    timeout(Duration::from_secs(60), &mut dismissed).await.expect_err("it is not known yet");
    drop(looks);
    in_time(dismissed).await.unwrap().expect("the turn that was left open is dismissed");
}
