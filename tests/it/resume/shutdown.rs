//! An orderly end: nothing is cut off that runs, nothing is answered for the person, and the next
//! start goes on.

use std::time::{Duration, SystemTime};

use expect_test::expect;
use madang::{
    Error, Runtime, SessionId,
    approval::Decision,
    event::{Content, EventCursor, StreamItem},
    ledger::Effect,
    store::Store,
};
use madang_testing::{MemoryStore, Probe, RuntimeHooks as _, ScriptedCompletion, ScriptedModel};

use super::life::{World, ask, effects, read};

#[test]
fn a_question_stays_open_over_an_orderly_end() {
    let world = World::new();
    let mut life = world.start();
    let begin = SystemTime::now();
    let request = life.run(async |life| {
        let (session, mut probe) = life.session().await;
        let turn = ask(&session, "go").await;
        life.model_calls("", &["save", "mail"]).await;
        let request = probe.approval_request().await;
        life.runtime.shutdown().await.unwrap();
        assert!(matches!(turn.ended().await, Err(Error::Closed)));
        assert!(!probe.lines().contains("ended"), "no screen is told an end: {}", probe.lines());
        assert!(matches!(session.send("more").await, Err(Error::Closed)));
        request
    });
    assert!(begin.elapsed().unwrap() < Duration::from_secs(30), "it does not wait for the person");
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let stored = life.store.session(&SessionId::new("s").unwrap()).await.unwrap().unwrap();
        assert_eq!(stored.open_turn.unwrap().resumes, 0);
        let (session, mut probe) = life.session().await;
        assert_eq!(probe.approval_request().await, request);
        session.decide(&request, Decision::Approve).await.unwrap();
        life.model_says("Saved.", &mut probe).await;
        let rows = life.ledger().await;
        assert_eq!(effects(&rows).into_values().collect::<Vec<_>>(), [Some(Effect::Committed); 2]);
        assert_eq!(world.notes(), [request.call.to_string()]);
    });
    assert_eq!(world.begun("mail"), 1);
    life.shut_down();
}

#[test]
fn a_turn_outlives_any_number_of_orderly_ends() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        ask(&session, "go").await;
        life.unfinished().await;
    });
    for _ in 0..8 {
        life.run(async |life| life.runtime.shutdown().await.unwrap());
        life.end();
        life = world.start();
        life.run(async |life| {
            let _session = life.session().await;
            life.unfinished().await;
        });
    }
    life.run(async |life| {
        let (session, _) = life.session().await;
        assert!(session.turn().await.unwrap().is_some());
    });
    life.shut_down();
}

#[test]
fn handlers_that_run_finish_and_their_outcome_is_used_after_the_next_start() {
    for tool in ["slow_mail", "slow_note", "slow_look"] {
        let world = World::new();
        let mut life = world.start();
        life.run(async |life| {
            let (session, _) = life.session().await;
            ask(&session, "go").await;
            life.model_calls("", &[tool, "mail"]).await;
            life.gate.begun(1).await;
            let (ended, ()) = tokio::join!(life.runtime.shutdown(), async {
                for _ in 0..100 {
                    tokio::task::yield_now().await; // time enough to end, if it did not wait
                }
                life.gate.open();
            });
            ended.unwrap();
        });
        life.end();
        assert_eq!(world.begun("mail"), 0, "what had not begun does not begin");
        let mut life = world.start();
        life.run(async |life| {
            let (_, mut probe) = life.session().await;
            let completion = life.script.next().await;
            let told = read(completion.request());
            let ok = r#"{"status":"ok","data":{"done":true}}"#;
            assert_eq!(told, format!("user: go\n{tool}: {ok}\nmail: {ok}"));
            completion.say("Done.");
            probe.until_turns_ended(1).await;
        });
        assert_eq!((world.begun(tool), world.begun("mail")), (1, 1));
        life.shut_down();
    }
}

#[test]
fn while_handlers_finish_chats_are_read_and_turns_dismissed_and_nothing_begins() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let other = life.runtime.user("kim").unwrap().session("other").await.unwrap();
        let said = other.send("hello").await.unwrap();
        life.script.next().await.say("Hi.");
        said.ended().await.unwrap();
        drop(other);
        let (session, _) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["slow_mail", "mail"]).await;
        life.gate.begun(1).await;
        let (ended, ()) = tokio::join!(life.runtime.shutdown(), async {
            let opens = async || life.runtime.user("kim").unwrap().session("new").await;
            while !matches!(opens().await, Err(Error::Closed)) {}
            let other = life.runtime.user("kim").unwrap().session("other").await.unwrap();
            let mut told = Probe::new(other.subscribe_after(EventCursor::START).await.unwrap());
            told.until_turns_ended(1).await;
            assert_eq!(other.state().await.unwrap().messages.len(), 2);
            assert!(matches!(other.send("more").await, Err(Error::Closed)));
            let dismissed = other.dismiss().await.map(drop);
            assert!(matches!(dismissed, Err(Error::Closed)), "{dismissed:?}");
            session.dismiss().await.unwrap();
            life.gate.open();
        });
        ended.unwrap();
        assert!(matches!(
            life.runtime.user("kim").unwrap().session("other").await,
            Err(Error::Closed)
        ));
        assert_eq!(life.runtime.running_tasks(), 0, "what woke to be read is asleep again");
    });
    life.end();
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        probe.until_turns_ended(1).await;
        assert!(probe.lines().ends_with("turn ended Dismissed"), "{}", probe.lines());
        assert_eq!(session.state().await.unwrap().turn, None);
    });
    assert_eq!((world.begun("slow_mail"), world.begun("mail")), (1, 0));
    life.shut_down();
}

#[test]
fn a_reader_that_comes_as_a_runtime_ends_hears_nothing_before_a_call_that_goes_on() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["slow_mail", "save"]).await;
        life.gate.begun(1).await;
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        // The notice of the mail stands behind the call that waits for its person.
        let (_, mut probe) = life.session().await;
        probe.approval_request().await;
    });
    world.crash(life);
    let mut heard = Vec::new();
    let mut life = world.start();
    let cursor = life.run(async |life| {
        let other = life.runtime.user("kim").unwrap().session("other").await.unwrap();
        ask(&other, "go").await;
        life.model_calls("", &["slow_mail"]).await;
        life.gate.begun(1).await;
        let (ended, cursor) = tokio::join!(life.runtime.shutdown(), async {
            let opens = async || life.runtime.user("kim").unwrap().session("new").await;
            while !matches!(opens().await, Err(Error::Closed)) {}
            let session = life.runtime.user("kim").unwrap().session("s").await.unwrap();
            let mut events = session.subscribe_after(EventCursor::START).await.unwrap();
            let end = session.state().await.unwrap().cursor;
            while heard.last() < Some(&end.stored) {
                let item = events.next().await.expect("the stream goes on");
                if let StreamItem::Event(event) = item {
                    heard.push(event.cursor);
                }
            }
            // The turn that goes on needs its text.
            assert!(matches!(session.clear().await, Err(Error::Busy)));
            life.gate.open();
            end
        });
        ended.unwrap();
        cursor
    });
    life.end();
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        let request = probe.approval_request().await;
        let end = session.state().await.unwrap().cursor;
        assert_eq!(end.stored, cursor.stored, "the chat reaches as far as before");
        let mut rest = Probe::new(session.subscribe_after(cursor.stored).await.unwrap());
        session.decide(&request, Decision::Approve).await.unwrap();
        life.model_says("Saved.", &mut rest).await;
        let kept = rest.events().iter().filter(|event| event.cursor > cursor.stored);
        heard.extend(kept.map(|event| event.cursor));
    });
    let cursors = heard.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(cursors.join(" "), "1 2 3 4 5 5.2", "each entry once, and in order");
    life.shut_down();
}

#[tokio::test]
async fn a_clearing_that_came_before_the_end_is_stored_and_answered() {
    let store = MemoryStore::new();
    let start =
        async |model| Runtime::builder().model(model).store(store.clone()).start().await.unwrap();
    let before = start(ScriptedModel::new([ScriptedCompletion::text("Hi.")])).await;
    let said = before.user("kim").unwrap().session("s").await.unwrap().send("hello").await.unwrap();
    said.ended().await.unwrap();
    before.shutdown().await.unwrap();
    let runtime = start(ScriptedModel::new([])).await;
    let runs = runtime.task();
    let (ended, cleared) = tokio::join!(runtime.shutdown(), async {
        let opens = async || runtime.user("kim").unwrap().session("new").await;
        while !matches!(opens().await, Err(Error::Closed)) {}
        let session = runtime.user("kim").unwrap().session("s").await.unwrap();
        // This one thread goes on with the shutdown when the message is on its way to the chat,
        // which still sleeps.
        drop(runs);
        let paused = store.pause().await;
        let wakes_store = async {
            for _ in 0..100 {
                tokio::task::yield_now().await; // time enough to end, if it did not wait
            }
            drop(paused);
        };
        tokio::join!(session.clear(), wakes_store).0
    });
    ended.unwrap();
    cleared.unwrap();
    let stored = store.session(&SessionId::new("s").unwrap()).await.unwrap().unwrap();
    assert_eq!(stored.messages.last().unwrap().content, Content::Cleared);
}

#[test]
fn a_model_that_speaks_is_stopped_and_asked_again() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        let completion = life.script.next().await;
        completion.delta("Hel");
        probe.until_streamed("Hel").await;
        let (ended, ()) = tokio::join!(life.runtime.shutdown(), completion.cancelled());
        ended.unwrap();
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        life.model_says("Hello.", &mut probe).await;
        expect![[r#"
            turn resumed
            model: Hello. (Complete)
            turn ended Answered"#]]
        .assert_eq(&probe.lines());
        assert_eq!(session.state().await.unwrap().messages.len(), 2);
    });
    life.shut_down();
}

#[test]
fn an_unopened_session_stays_as_it_was_over_any_number_of_orderly_ends() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        ask(&session, "go").await;
        life.unfinished().await;
    });
    world.crash(life);
    for _ in 0..5 {
        world.start().shut_down();
    }
    // And one that is asked to end while it wakes.
    for _ in 0..5 {
        let mut life = world.start();
        life.run(async |life| {
            let _session = life.runtime.user("kim").unwrap().session("s").await.unwrap();
            life.runtime.shutdown().await.unwrap();
        });
        world.crash(life);
    }
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.model_says("Done.", &mut probe).await;
    });
    life.shut_down();
}

#[test]
fn threads_that_end_without_an_orderly_end_dismiss_nothing() {
    let world = World::new();
    let mut life = world.start();
    let request = life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["save"]).await;
        probe.approval_request().await
    });
    // As where an embedder's `main` returns: the store has let go of its lock, and no answer was
    // no.
    life.end();
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        assert_eq!(probe.approval_request().await, request);
        session.decide(&request, Decision::Approve).await.unwrap();
        life.model_says("Saved.", &mut probe).await;
    });
    assert_eq!(world.notes().len(), 1);
    life.shut_down();
}
