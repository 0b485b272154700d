//! Starts without a model: an open turn outlasts any number of them, and a later start with a model
//! goes on with it.

use madang::{
    Error, TurnId,
    approval::{Decision, InboxItem},
    event::EventKind,
    ledger::{CallState, Effect},
    turn::{TurnPhase, When},
};

use uuid::Uuid;

use super::life::{World, ask, effects, read};
use crate::support::kim;

#[test]
fn a_call_that_was_cut_off_gets_its_end_without_a_model_and_its_turn_stays_open() {
    let mut world = World::new();
    world.limits.max_resumes = 1;
    let mut life = world.start();
    let turn = life.run(async |life| {
        let (session, _probe) = life.session().await;
        let turn = ask(&session, "go").await.id();
        life.model_calls("", &["slow_mail"]).await;
        life.gate.begun(1).await;
        turn
    });
    world.crash(life);
    for start in 0..3 {
        let mut life = world.start_without_model();
        life.run(async |life| {
            let (session, mut probe) = life.session().await;
            probe
                .until(|told| {
                    told.iter().any(|event| matches!(event.kind, EventKind::TurnInterrupted { .. }))
                })
                .await;
            let of_call = usize::from(start == 0);
            let lines = probe.lines();
            assert_eq!(lines.matches("call slow_mail").count(), of_call, "{start}: {lines}");
            assert_eq!(lines.matches("notice: A tool was cut off").count(), of_call, "{lines}");
            assert_eq!(life.ledger().await[0].state, CallState::Ended);
            assert_eq!(effects(&life.ledger().await)["slow_mail"], Some(Effect::Unknown));
            let status = session.turn_status(turn).await.unwrap().unwrap();
            assert_eq!(status.phase, TurnPhase::Running);
            let refused = session.send("more").await;
            assert!(matches!(refused, Err(Error::NoModel)), "{refused:?}");
            assert!(session.turn().await.unwrap().is_none(), "nothing of it runs");
        });
        if start == 1 {
            life.shut_down();
        } else {
            world.crash(life);
        }
    }
    let mut life = world.start();
    life.run(async |life| {
        let (_session, mut probe) = life.session().await;
        let completion = life.script.next().await;
        assert!(read(completion.request()).contains("It may have taken effect."));
        completion.say("I do not know.");
        probe.until_turns_ended(1).await;
        assert!(probe.lines().ends_with("turn ended Answered"), "{}", probe.lines());
    });
    assert_eq!(world.begun("slow_mail"), 1);
    life.shut_down();
}

#[test]
fn a_turn_that_waits_for_a_model_can_be_dismissed_and_begins_nothing_more() {
    let world = World::new();
    let mut life = world.start();
    let turn = life.run(async |life| {
        let (session, mut probe) = life.session().await;
        let turn = ask(&session, "go").await.id();
        life.model_calls("", &["save"]).await;
        probe.approval_request().await;
        turn
    });
    world.crash(life);
    let mut life = world.start_without_model();
    life.run(async |life| {
        let (session, _probe) = life.session().await;
        let other = session.dismiss_turn(TurnId::new(Uuid::from_u128(1)), When::Any).await;
        assert!(other.unwrap().is_none(), "it is another turn");
        let dismissed = session.dismiss_turn(turn, When::Any).await.unwrap();
        dismissed.expect("the turn waits").stored().await.unwrap();
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let (_session, mut probe) = life.session().await;
        probe.until_turns_ended(1).await;
        assert!(probe.lines().ends_with("turn ended Dismissed"), "{}", probe.lines());
    });
    assert_eq!(world.notes().len(), 0);
    life.shut_down();
}

#[test]
fn a_question_that_was_left_open_is_asked_again_by_a_start_with_a_model() {
    let world = World::new();
    let mut life = world.start();
    let asked = life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["save"]).await;
        probe.approval_request().await
    });
    world.crash(life);
    let mut life = world.start_without_model();
    life.run(async |life| {
        assert_eq!(life.runtime.resume_open().await, 1);
        let mut inbox = life.runtime.user_with_id(&kim()).inbox().await.unwrap();
        match inbox.next().await {
            Some(InboxItem::Snapshot { requests }) => assert_eq!(requests, []),
            other => panic!("no snapshot but {other:?}"),
        }
        let row = &life.ledger().await[0];
        assert_eq!((row.state, row.ended_at), (CallState::Awaiting, None));
    });
    life.shut_down();
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        let request = probe.approval_request().await;
        assert_eq!((request.call, request.digest), (asked.call, asked.digest));
        session.decide(&request, Decision::Approve).await.unwrap();
        life.model_says("Saved.", &mut probe).await;
    });
    assert_eq!(world.notes().len(), 1);
    life.shut_down();
}
