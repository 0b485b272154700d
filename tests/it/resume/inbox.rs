//! Inboxes: a request that a crash left open stands in its user's inbox after the next start, and
//! can be decided.

use std::sync::Arc;

use madang::{
    SessionId, UserId,
    approval::{ApprovalRequest, Decision, Inbox, InboxItem},
    ledger::{Effect, LedgerRow},
};

use madang_testing::Probe;

use super::life::{Life, World, ask, effects};
use crate::support::kim;

async fn snapshot(inbox: &mut Inbox) -> Vec<Arc<ApprovalRequest>> {
    match inbox.next().await {
        Some(InboxItem::Snapshot { requests }) => requests,
        other => panic!("no snapshot but {other:?}"),
    }
}

async fn decide(life: &Life, request: &ApprovalRequest, decision: Decision) {
    let ApprovalRequest { user, call, digest, .. } = request;
    life.runtime.user_with_id(user).decide(*call, *digest, decision).await.unwrap();
}

/// The process ends while the request of a `save` is open.
fn cut_off_at_a_request(world: &World) -> ApprovalRequest {
    let mut life = world.start();
    let request = life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["save"]).await;
        probe.approval_request().await
    });
    world.crash(life);
    request
}

#[test]
fn the_request_of_a_session_asleep_since_a_crash_is_in_the_inbox_and_can_be_decided() {
    let world = World::new();
    let asked = cut_off_at_a_request(&world);
    let mut life = world.start();
    life.run(async |life| {
        // No other user's inbox wakes it.
        let lee = UserId::new("lee").unwrap();
        assert_eq!(snapshot(&mut life.runtime.user_with_id(&lee).inbox().await.unwrap()).await, []);
        assert_eq!(life.runtime.sessions_in_memory(), 0);
        let mut inbox = life.runtime.user_with_id(&kim()).inbox().await.unwrap();
        assert_eq!(snapshot(&mut inbox).await, [Arc::new(asked.clone())]);
        decide(life, &asked, Decision::Approve).await;
        let ended = inbox.next().await;
        assert!(
            matches!(&ended, Some(InboxItem::ApprovalEnded { call, .. }) if *call == asked.call),
            "{ended:?}"
        );
        life.script.next().await.say("Saved.");
        life.until_ledger(|rows| effects(rows)["save"] == Some(Effect::Committed)).await;
        assert_eq!(life.runtime.resume_open().await, 0, "it woke already");
    });
    assert_eq!(world.notes(), [asked.call.to_string()]);
    life.shut_down();
}

#[test]
fn resuming_what_was_open_fills_an_inbox_that_is_open_already() {
    let world = World::new();
    let asked = cut_off_at_a_request(&world);
    let mut life = world.start();
    life.run(async |life| {
        assert_eq!(life.runtime.resume_open().await, 1);
        let mut inbox = life.runtime.user_with_id(&kim()).inbox().await.unwrap();
        assert_eq!(snapshot(&mut inbox).await, [Arc::new(asked.clone())]);
        decide(life, &asked, Decision::Deny).await;
        life.script.next().await.say("Not saved.");
    });
    assert!(world.notes().is_empty());
    life.shut_down();
}

#[test]
fn requests_of_turns_without_room_are_in_the_inbox_and_chats_are_seen_and_dismissed() {
    let mut world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        for name in ["s", "t"] {
            let session = life.runtime.user("kim").unwrap().session(name).await.unwrap();
            let mut probe = Probe::new(session.subscribe());
            ask(&session, "go").await;
            life.model_calls("", &["save"]).await;
            probe.approval_request().await;
        }
    });
    world.crash(life);
    world.limits.max_running_turns_per_user = 1;
    let mut life = world.start();
    life.run(async |life| {
        let busy = life.runtime.user("kim").unwrap().session("busy").await.unwrap();
        let turn = ask(&busy, "hi").await;
        let completion = life.script.next().await;
        let asked = snapshot(&mut life.runtime.user_with_id(&kim()).inbox().await.unwrap()).await;
        assert_eq!(asked.len(), 2);
        for request in &asked {
            let session =
                life.runtime.user("kim").unwrap().session(request.session.as_str()).await.unwrap();
            let state = session.state().await.unwrap();
            assert_eq!(
                (state.messages.len(), state.approval_request.as_ref()),
                (1, Some(&**request))
            );
        }
        let [first, second] = [&asked[0], &asked[1]];
        let left = life.runtime.user("kim").unwrap().session(first.session.as_str()).await.unwrap();
        left.dismiss().await.unwrap().stored().await.unwrap();
        decide(life, second, Decision::Approve).await;
        let call = second.call;
        let is_saved = |row: &LedgerRow| row.call == call && row.effect == Some(Effect::Committed);
        life.until_ledger(|rows| rows.iter().any(is_saved)).await;
        completion.say("Hello.");
        turn.ended().await.unwrap();
        life.script.next().await.say("Saved.");
        assert_eq!(world.notes(), [second.call.to_string()]);
    });
    life.shut_down();
}

#[test]
fn a_session_that_was_cut_off_without_an_open_request_is_not_woken_by_an_inbox() {
    let mut world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let other = life.runtime.user("kim").unwrap().session("without a request").await.unwrap();
        ask(&other, "go").await;
        life.unfinished().await;
    });
    world.crash(life);
    cut_off_at_a_request(&world);
    // Nothing can be decided about a request that has expired.
    world.later = world.limits.decision_timeout;
    let mut life = world.start();
    life.run(async |life| {
        assert_eq!(
            snapshot(&mut life.runtime.user_with_id(&kim()).inbox().await.unwrap()).await,
            []
        );
        assert_eq!(life.runtime.sessions_in_memory(), 0);
        assert!(life.script.try_next().is_none(), "the model is not asked");
    });
    world.crash(life);
    world.later = std::time::Duration::ZERO;
    let mut life = world.start();
    life.run(async |life| {
        let inbox = &mut life.runtime.user_with_id(&kim()).inbox().await.unwrap();
        let requests = snapshot(inbox).await;
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].session, SessionId::new("s").unwrap());
        assert_eq!(life.runtime.sessions_in_memory(), 1);
        assert!(life.script.try_next().is_none(), "the model is not asked");
    });
    life.shut_down();
}
