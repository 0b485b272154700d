//! Bounds of sessions, turns, questions and messages: what is refused and why, what is never
//! refused, and what waits.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake, Waker},
};

use tokio::{sync::oneshot, time::sleep};

use super::{asleep, by_hand_with, calling};
use crate::{
    ledger::text_digest,
    port::{Store as _, Write},
    protocol::{
        Bound, ChatMessage, Content, Decision, EventKind, LimitExceeded, Limits, Scope, Timestamp,
        ToolOutcome, TurnEnding, TurnId, TurnOptions, UserId,
    },
    session::{Error, Sent, SessionRequest, SessionSlot, StreamItem, ViewPage, go_on},
    test_runtime::{TestRuntime, in_time, session},
    testing::{FakeTool, Probe},
};

async fn refusal(runtime: &TestRuntime, slot: &Arc<SessionSlot>) -> LimitExceeded {
    match runtime.ask(slot, "hi").await {
        Err(Error::Overloaded(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

async fn dismiss(runtime: &TestRuntime, slot: &Arc<SessionSlot>) -> Result<(), Error> {
    let (reply, answer) = oneshot::channel();
    runtime.send(slot, SessionRequest::Dismiss { only: None, reply });
    in_time(answer).await.unwrap().map(drop)
}

/// Waits until so many permits are held.
async fn held(runtime: &TestRuntime, bound: Bound, permits: usize) {
    let reached = async {
        while runtime.handles.calls.admission.held(bound) != permits {
            tokio::task::yield_now().await;
        }
    };
    in_time(reached).await;
}

#[tokio::test]
async fn the_session_that_has_rested_longest_makes_room_for_another() {
    for of_user in [true, false] {
        let mut limits = Limits::default();
        *(if of_user {
            &mut limits.max_awake_sessions_per_user
        } else {
            &mut limits.max_awake_sessions
        }) = 2;
        let (runtime, _script) = by_hand_with(limits, []).await;
        let [a, b, c] = [runtime.slot("a").await, runtime.slot("b").await, runtime.slot("c").await];
        for slot in [&a, &b, &c] {
            runtime.state(slot).await;
        }
        assert!(a.awake().is_none() && b.awake().is_some() && c.awake().is_some());
        held(&runtime, Bound::AwakeSessions, 2).await;
        runtime.state(&a).await;
        assert!(b.awake().is_none(), "it woke before the third");
    }
}

#[tokio::test]
async fn a_session_in_a_turn_stays_awake_and_a_caller_without_a_permit_is_told_which() {
    let limits = Limits { max_awake_sessions: 1, ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let [busy, other] = [runtime.slot("busy").await, runtime.slot("other").await];
    let end = runtime.ask(&busy, "hi").await.unwrap();
    let completion = script.next().await;
    let expected = (Bound::AwakeSessions, Scope::All, 1);
    let refused = refusal(&runtime, &other).await;
    assert_eq!((refused.bound, refused.scope, refused.max), expected);
    let dismissed = dismiss(&runtime, &other).await;
    assert!(matches!(dismissed, Err(Error::NoTurn)), "that is no refusal");
    completion.say("Hello.");
    in_time(end).await.unwrap();
    let end = runtime.ask(&other, "hi").await.unwrap();
    in_time(asleep(&busy)).await;
    script.next().await.say("Hello.");
    in_time(end).await.unwrap();
    held(&runtime, Bound::QueuedBytes, 0).await;
}

#[tokio::test]
async fn a_user_with_too_many_turns_is_refused_and_may_still_answer_and_dismiss() {
    let limits =
        Limits { max_running_turns_per_user: 2, max_waiting_messages: 1, ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, [FakeTool::destructive("mail")]).await;
    let [a, b, c] = [runtime.slot("a").await, runtime.slot("b").await, runtime.slot("c").await];
    let mut probe = Probe::new(a.feed().subscribe());
    let first = runtime.ask(&a, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    let request = probe.approval_request().await;
    let second = runtime.ask(&b, "go").await.unwrap();
    let dismissed = script.next().await;
    let refused = refusal(&runtime, &c).await;
    assert_eq!((refused.bound, refused.scope), (Bound::RunningTurns, Scope::User));
    assert_eq!(refused.retry_after, None, "none has ended yet");
    runtime.decide(&request, Decision::Deny).await.unwrap();
    dismiss(&runtime, &b).await.unwrap();
    assert_eq!(in_time(second).await.unwrap().ending, TurnEnding::Dismissed);
    in_time(dismissed.cancelled()).await;
    let third = runtime.ask(&c, "go").await.unwrap();
    assert!(refusal(&runtime, &b).await.retry_after.is_some(), "one has ended");
    for _ in 0..2 {
        script.next().await.say("Well.");
    }
    for end in [first, third] {
        assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
    }
    held(&runtime, Bound::RunningTurns, 0).await;
    held(&runtime, Bound::ApprovalRequests, 0).await;
}

/// Work that goes on in the moment in which it is woken, as it may on another thread.
struct AtOnce(Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Wake for AtOnce {
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(self.clone());
        let mut work = self.0.lock().unwrap();
        let (Poll::Ready(()) | Poll::Pending) =
            work.as_mut().poll(&mut Context::from_waker(&waker));
    }
}

#[tokio::test]
async fn a_reader_that_hears_of_an_end_may_begin_the_next_turn_at_once() {
    let (runtime, mut script) = by_hand_with(Limits::default(), []).await;
    let slot = runtime.slot("s").await;
    let mut events = slot.feed().subscribe();
    let calls = runtime.handles.calls.clone();
    let (tell, mut told) = oneshot::channel();
    let reads = async move {
        while let Some(item) = events.next().await {
            if let StreamItem::Event(event) = item
                && let EventKind::TurnEnded { .. } = event.kind
            {
                tell.send(calls.admission.held(Bound::RunningTurns)).unwrap();
                break;
            }
        }
    };
    Arc::new(AtOnce(Mutex::new(Box::pin(reads)))).wake();
    let end = runtime.ask(&slot, "hi").await.unwrap();
    script.next().await.say("Hello.");
    in_time(end).await.unwrap();
    assert_eq!(told.try_recv(), Ok(0));
}

#[tokio::test]
async fn a_user_of_whom_too_much_is_stored_begins_no_turn_and_others_do() {
    let limits = Limits { max_stored_bytes_per_user: 1, ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let [first, second] = [runtime.slot("a").await, runtime.slot("b").await];
    let end = runtime.ask(&first, "hi").await.unwrap();
    script.next().await.say("Hello.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered, "nothing was stored");
    for slot in [&first, &second, &first] {
        let refused = refusal(&runtime, slot).await;
        let expected = (Bound::StoredBytes, Scope::User, 1, None);
        assert_eq!((refused.bound, refused.scope, refused.max, refused.retry_after), expected);
    }
    let session = runtime.store.session(first.session()).await.unwrap().unwrap();
    assert_eq!(session.messages.len(), 2, "nothing of a refused turn stays");
    assert_eq!(session.open_turn, None);
    held(&runtime, Bound::RunningTurns, 0).await;
    held(&runtime, Bound::QueuedBytes, 0).await;
}

#[tokio::test]
async fn a_question_too_many_is_not_stored_and_the_model_is_told_which_bound_it_was() {
    let limits = Limits { max_approval_requests_per_user: 1, ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, [FakeTool::destructive("mail")]).await;
    let [a, b] = [runtime.slot("a").await, runtime.slot("b").await];
    let mut probe = Probe::new(a.feed().subscribe());
    let first = runtime.ask(&a, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    let request = probe.approval_request().await;
    let second = runtime.ask(&b, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    script.next().await.say("I cannot.");
    in_time(second).await.unwrap();
    let state = runtime.state(&b).await;
    let record = state.messages.iter().find_map(|message| {
        if let Content::ToolCall(record) = &message.content { Some(record) } else { None }
    });
    let Some(ToolOutcome::Err(error)) = &record.unwrap().outcome else { panic!("{state:?}") };
    assert_eq!(&*error.code, "overloaded");
    assert!(error.reason.contains("open questions (1"), "{}", error.reason);
    runtime.decide(&request, Decision::Deny).await.unwrap();
    script.next().await.say("Not sent.");
    in_time(first).await.unwrap();
    held(&runtime, Bound::ApprovalRequests, 0).await;
}

#[tokio::test]
async fn a_session_that_is_flooded_refuses_what_it_cannot_come_to_and_never_a_dismissal() {
    let limits = Limits { max_waiting_messages: 3, ..Limits::default() };
    let (runtime, _script) = by_hand_with(limits, []).await;
    let slot = runtime.slot("s").await;
    runtime.state(&slot).await;
    let mut heard = Vec::new();
    // Nothing is awaited, so on this one thread the session handles none of them.
    for number in 0..5 {
        let (reply, state) = oneshot::channel();
        match slot.send(SessionRequest::State { page: ViewPage::ALL, reply }) {
            Sent::Delivered => heard.push(state),
            Sent::Full(_, refusal) => {
                assert_eq!(
                    (refusal.bound, refusal.scope),
                    (Bound::WaitingMessages, Scope::Session)
                );
                assert!(number >= 3);
            }
            Sent::WakeIt => panic!("it is awake"),
        }
    }
    assert_eq!(heard.len(), 3);
    assert!(matches!(dismiss(&runtime, &slot).await, Err(Error::NoTurn)));
    for state in heard {
        in_time(state).await.unwrap().unwrap();
    }
    runtime.state(&slot).await;
}

#[tokio::test]
async fn a_user_with_too_many_awake_loses_an_own_session_and_a_full_runtime_any_session() {
    let limits =
        Limits { max_awake_sessions: 4, max_awake_sessions_per_user: 2, ..Limits::default() };
    let (runtime, _script) = by_hand_with(limits, []).await;
    let of = async |name: &str, user: &str| {
        let session = session(name);
        let user = UserId::new(user).unwrap();
        let at = Timestamp::from_millis(0);
        let opened = Write::Session { session: session.clone(), user: user.clone(), at };
        runtime.handles.store.write(vec![opened]).await.unwrap();
        let slot = runtime.sessions.slot(&session, &user, &runtime.handles.calls.limits).unwrap();
        runtime.state(&slot).await;
        slot
    };
    // The one of Lee's has rested longest of all, and the first of Kim's longest of those.
    let lees = of("lees", "lee").await;
    let kims = [of("a", "kim").await, of("b", "kim").await, of("c", "kim").await];
    let awake = kims.each_ref().map(|slot| slot.awake().is_some());
    assert_eq!((lees.awake().is_some(), awake), (true, [false, true, true]));
    let anns = [of("d", "ann").await, of("e", "ann").await];
    assert!(anns.iter().all(|slot| slot.awake().is_some()));
    assert!(lees.awake().is_none());
}

#[tokio::test(start_paused = true)]
async fn turns_that_go_on_after_a_crash_wait_for_permits_however_long_and_none_is_lost() {
    for of_turns in [true, false] {
        let mut limits = Limits::default();
        *(if of_turns { &mut limits.max_running_turns } else { &mut limits.max_awake_sessions }) =
            1;
        let (runtime, mut script) = by_hand_with(limits, []).await;
        let mut slots = Vec::new();
        for name in ["a", "b", "c"] {
            let slot = runtime.slot(name).await;
            let session = slot.session().clone();
            let turn = TurnId::new(uuid::Uuid::now_v7());
            let at = Timestamp::from_millis(1);
            let message = ChatMessage { seq: 1, turn, at, content: Content::user("hi") };
            let started = Write::TurnStarted {
                session: session.clone(),
                turn,
                at,
                options: TurnOptions::default(),
                text: text_digest("hi"),
                max_stored_bytes: u64::MAX,
            };
            let left = vec![started, Write::Message { session, message }];
            runtime.handles.store.write(left).await.unwrap();
            go_on(&slot, &runtime.context);
            slots.push(slot);
        }
        for turns in 0..3 {
            let completion = script.next().await;
            assert_eq!(
                runtime.handles.calls.admission.held(Bound::RunningTurns),
                1,
                "{turns} ended"
            );
            sleep(runtime.handles.calls.limits.ask_timeout * 3).await;
            completion.say("Hello.");
        }
        held(&runtime, Bound::RunningTurns, 0).await;
        runtime.context.tasks.close();
        for slot in &slots {
            assert_eq!(runtime.state(slot).await.messages.len(), 2, "the question and its answer");
        }
    }
}
