//! An effect that is unknown after a crash goes to the person, and what the person finds out stays.

use std::time::Duration;

use expect_test::expect;
use madang::{
    Error, SessionId, UserId,
    ledger::{Effect, EffectResolution, ResolvedBy},
    store::Store as _,
};
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
        let unresolved = session.unresolved().await.unwrap();
        let [row] = &unresolved[..] else { panic!("one call: {unresolved:?}") };
        let mut heard = Probe::new(session.subscribe());
        session.resolve(row.call, EffectResolution::TookEffect).await.unwrap();
        heard.until(|events| !events.is_empty()).await;
        assert!(heard.lines().starts_with("resolved slow_mail: "), "{}", heard.lines());
        assert_eq!(session.unresolved().await.unwrap(), []);
        let again = session.resolve(row.call, EffectResolution::DidNot).await;
        assert!(matches!(again, Err(Error::NotUnknown { .. })), "{again:?}");
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
        let by = ResolvedBy::Person { user: UserId::new("kim").unwrap() };
        assert_eq!((row.effect, row.resolved_by), (Some(Effect::Committed), Some(by)));
        verified(life).await;
    });
    assert_eq!(world.begun("slow_mail"), 1, "it was not run again");
    life.shut_down();
}

#[test]
fn a_handler_that_still_runs_is_not_resolved_by_a_person_but_by_its_own_end() {
    let mut world = World::new();
    world.limits.tool_timeout = Duration::from_millis(20);
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["slow_mail"]).await;
        life.model_says("It takes long.", &mut probe).await;
        let call = session.unresolved().await.unwrap().remove(0).call;
        let early = session.resolve(call, EffectResolution::DidNot).await;
        assert!(matches!(early, Err(Error::StillRuns)), "{early:?}");
        life.gate.open();
        life.until_ledger(|rows| rows[0].resolved_by == Some(ResolvedBy::Handler)).await;
        assert_eq!(life.ledger().await[0].effect, Some(Effect::Committed));
        verified(life).await;
    });
    life.shut_down();
}
