//! What nobody can know after a crash goes to the person, and what the person finds out stays.

use std::time::Duration;

use expect_test::expect;
use madang::{Effect, SessionId, SettleError, SettledBy, Settlement, Store as _, UserId};
use madang_testing::Probe;

use super::life::{Life, World, ask, read};

/// The process ends while a handler sends a mail.
fn cut_off_in_a_mail(world: &World) {
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["slow_mail"]).await;
        life.gate.begun(1).await;
    });
    world.crash(life);
}

async fn verified(life: &Life) {
    let id = SessionId::new("s").unwrap();
    let ledger = life.store.session_ledger(&id).await.unwrap().unwrap();
    ledger.audit(None, Some(life.store.keys())).unwrap();
}

#[test]
fn what_a_person_finds_out_after_a_crash_is_told_to_the_model_and_survives_the_next() {
    let world = World::new();
    cut_off_in_a_mail(&world);
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        life.model_says("Who knows.", &mut probe).await;
        let unsettled = session.unsettled().await.unwrap();
        let [row] = &unsettled[..] else { panic!("one call: {unsettled:?}") };
        let mut heard = Probe::new(session.subscribe());
        session.settle(row.call, Settlement::TookEffect).await.unwrap();
        heard.until(|events| !events.is_empty()).await;
        assert!(heard.lines().starts_with("settled slow_mail: "), "{}", heard.lines());
        assert_eq!(session.unsettled().await.unwrap(), []);
        let again = session.settle(row.call, Settlement::DidNot).await;
        assert!(matches!(again, Err(SettleError::NotUnknown { .. })), "{again:?}");
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "what now?").await;
        let completion = life.script.next().await;
        expect![[r#"
            user: go
            slow_mail: {"status":"error","settled":"slow_mail: it is known now that it took effect.","code":"handler_error","reason":"the tool failed: ReplyLost. It had begun, but how it ended is not known. It may have taken effect."}
            model: Who knows.
            user: what now?"#]].assert_eq(&read(completion.request()));
        completion.say("It was sent.");
        probe.until_turns_ended(1).await;
        let row = life.ledger().await.remove(0);
        let by = SettledBy::Person { user: UserId::new("kim").unwrap() };
        assert_eq!((row.effect, row.settled_by), (Some(Effect::Committed), Some(by)));
        verified(life).await;
    });
    assert_eq!(world.begun("slow_mail"), 1, "it was not run again");
    life.shut_down();
}

#[test]
fn a_handler_that_still_runs_is_not_settled_by_a_person_but_by_its_own_end() {
    let mut world = World::new();
    world.limits.tool_timeout = Duration::from_millis(20);
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["slow_mail"]).await;
        life.model_says("It takes long.", &mut probe).await;
        let call = session.unsettled().await.unwrap().remove(0).call;
        let early = session.settle(call, Settlement::DidNot).await;
        assert!(matches!(early, Err(SettleError::StillRuns)), "{early:?}");
        life.gate.open();
        life.until_ledger(|rows| rows[0].settled_by == Some(SettledBy::Handler)).await;
        assert_eq!(life.ledger().await[0].effect, Some(Effect::Committed));
        verified(life).await;
    });
    life.shut_down();
}
