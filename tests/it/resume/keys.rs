//! The idempotency key of a turn: a repeated submit is harmless, before and after a crash.

use madang::{Error, IdempotencyKey, Session, Turn, TurnOptions, event::TurnEnding};

use super::life::{World, read};

async fn submit(session: &Session, key: &str, text: &str) -> Result<Turn, Error> {
    let key = Some(IdempotencyKey::new(key).unwrap());
    let options = TurnOptions { key, ..TurnOptions::default() };
    session.send_with(text.to_owned(), options).await
}

#[test]
fn a_repeated_submit_is_the_same_turn_while_it_runs_and_after_it_ended() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        // Two at the same moment, as an impatient client sends them.
        let (first, second) =
            tokio::join!(submit(&session, "1", "go"), submit(&session, "1", "go"));
        let first = first.unwrap();
        let second = second.unwrap();
        assert_eq!(first.id(), second.id());
        let third = submit(&session, "1", "go").await.unwrap();
        assert_eq!(first.id(), third.id());
        assert!(matches!(submit(&session, "2", "go").await, Err(Error::Busy)));
        life.script.next().await.say("Done.");
        let end = first.ended().await.unwrap();
        assert_eq!(
            (second.ended().await.unwrap(), third.ended().await.unwrap()),
            (end.clone(), end.clone())
        );

        let late = submit(&session, "1", "go").await.unwrap();
        assert_eq!(late.ended().await.unwrap(), end);
        assert_eq!(session.state().await.unwrap().messages.len(), 2);
        assert!(life.script.try_next().is_none(), "the model was asked once");

        // Also while another turn runs.
        let other = submit(&session, "2", "more").await.unwrap();
        let completion = life.script.next().await;
        assert_eq!(submit(&session, "1", "go").await.unwrap().ended().await.unwrap(), end);
        completion.fail("Offline");
        let failed = other.ended().await.unwrap();
        assert_eq!(failed.ending, TurnEnding::Failed);
        assert_eq!(submit(&session, "2", "more").await.unwrap().ended().await.unwrap(), failed);
    });
    life.shut_down();
}

#[test]
fn another_text_under_the_same_key_is_refused_and_begins_nothing() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        let turn = submit(&session, "1", "go").await.unwrap();
        let completion = life.script.next().await;
        assert!(matches!(submit(&session, "1", "stop").await, Err(Error::OtherText)));
        completion.say("Done.");
        turn.ended().await.unwrap();
        assert!(matches!(submit(&session, "1", "stop").await, Err(Error::OtherText)));
        // The same key in another chat is another turn.
        let other = life.runtime.user("kim").unwrap().session("other").await.unwrap();
        let turn = submit(&other, "1", "stop").await.unwrap();
        life.script.next().await.say("Stopped.");
        turn.ended().await.unwrap();
        for key in ["", &"k".repeat(257), "a\nb"] {
            assert!(IdempotencyKey::new(key).is_err());
        }
    });
    life.shut_down();
}

#[test]
fn a_submit_that_is_repeated_after_a_crash_finds_its_turn() {
    let world = World::new();
    let mut life = world.start();
    let id = life.run(async |life| {
        let (session, _) = life.session().await;
        let turn = submit(&session, "1", "go").await.unwrap();
        life.unfinished().await;
        turn.id()
    });
    world.crash(life);
    let mut life = world.start();
    let end = life.run(async |life| {
        let session = life.runtime.user("kim").unwrap().session("s").await.unwrap();
        let turn = submit(&session, "1", "go").await.unwrap();
        assert_eq!(turn.id(), id);
        let completion = life.script.next().await;
        assert_eq!(read(completion.request()), "user: go");
        completion.say("Done.");
        turn.ended().await.unwrap()
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let session = life.runtime.user("kim").unwrap().session("s").await.unwrap();
        assert_eq!(submit(&session, "1", "go").await.unwrap().ended().await.unwrap(), end);
        assert!(matches!(submit(&session, "1", "stop").await, Err(Error::OtherText)));
        assert!(life.script.try_next().is_none());
    });
    life.shut_down();
}

#[test]
fn a_submit_whose_answer_was_lost_can_be_repeated_wherever_the_crash_came() {
    // The process ends at once after the submit was sent: its message is stored or it is not.
    for spins in [0, 1, 10, 100, 1_000] {
        let world = World::new();
        let mut life = world.start();
        life.run(async |life| {
            let (session, _) = life.session().await;
            let asking = tokio::spawn(async move { submit(&session, "1", "go").await.map(drop) });
            for _ in 0..spins {
                tokio::task::yield_now().await;
            }
            drop(asking);
        });
        world.crash(life);
        let mut life = world.start();
        life.run(async |life| {
            let (session, _) = life.session().await;
            let turn = submit(&session, "1", "go").await.unwrap();
            life.script.next().await.say("Done.");
            turn.ended().await.unwrap();
            assert_eq!(session.state().await.unwrap().messages.len(), 2);
        });
        life.shut_down();
    }
}
