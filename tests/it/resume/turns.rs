//! The turn: its model is asked again, from where the chat was, and not for ever.

use expect_test::expect;
use madang::{
    TurnOptions,
    event::{Content, TurnEnding},
    model::{Completion, Usage},
    session::Imported,
    store::Store,
};
use madang_testing::Probe;

use super::life::{World, ask, read};

/// Begins a turn and ends the process while the model answers for the `nth` time, from 1.
fn cut_off_in_completion(world: &World, nth: usize) {
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        for _ in 1..nth {
            life.model_calls("", &["note"]).await;
        }
        life.unfinished().await.delta("Hel");
        probe.until_streamed("Hel").await;
    });
    world.crash(life);
}

#[test]
fn an_unfinished_completion_is_asked_again_and_the_turn_ends_as_if_nothing_had_been() {
    let world = World::new();
    cut_off_in_completion(&world, 1);
    let mut life = world.start();
    life.run(async |life| {
        // Opening it is enough; the first subscriber misses nothing.
        let session = life.runtime.user("kim").unwrap().session("s").await.unwrap();
        let completion = life.script.next().await;
        assert_eq!(read(completion.request()), "user: go");
        let mut probe = Probe::new(session.subscribe());
        let state = session.state().await.unwrap();
        assert!(state.is_streaming && state.messages.len() == 1);
        assert!(matches!(session.send("more").await, Err(madang::Error::Busy)));
        let turn = session.turn().await.unwrap().expect("the turn goes on");
        completion.say("Hello.");
        assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
        probe.until_turns_ended(1).await;
        expect![[r#"
            turn resumed
            model: Hello. (Complete)
            turn ended Answered"#]]
        .assert_eq(&probe.lines());
        assert_eq!(session.state().await.unwrap().messages.len(), 2);
        assert!(session.turn().await.unwrap().is_none());
    });
    life.shut_down();
}

#[test]
fn a_turn_goes_on_with_its_own_instructions_and_the_next_one_without() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        // A chat of many entries: the turn that is open is read once with them.
        let history = (0..50).map(|number| Imported::user(format!("{number}")));
        session.import(history.collect()).await.unwrap();
        let instructions = Some("Be brief.".repeat(1_000).into());
        let options = TurnOptions { instructions, ..TurnOptions::default() };
        session.send_with("go", options).await.unwrap();
        life.unfinished().await;
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let session = life.runtime.user("kim").unwrap().session("s").await.unwrap();
        let completion = life.script.next().await;
        let read = completion.request().instructions.as_deref();
        assert_eq!(read, Some(&*"Be brief.".repeat(1_000)));
        assert_eq!(completion.request().messages.len(), 51);
        let turn = session.turn().await.unwrap().expect("the turn goes on");
        completion.say("Yes.");
        turn.ended().await.unwrap();
        let turn = ask(&session, "and now?").await;
        let completion = life.script.next().await;
        assert_eq!(completion.request().instructions, None);
        completion.say("No.");
        turn.ended().await.unwrap();
    });
    life.shut_down();
}

#[test]
fn what_ended_before_the_crash_is_read_by_the_model_and_not_run_again() {
    let world = World::new();
    cut_off_in_completion(&world, 3);
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        let completion = life.script.next().await;
        expect![[r#"
            user: go
            note: {"status":"ok","data":{"done":true}}
            note: {"status":"ok","data":{"done":true}}"#]]
        .assert_eq(&read(completion.request()));
        // Two of four rounds are used up.
        completion.finish(Completion {
            tool_calls: vec![crate::support::wanted("look", &serde_json::json!({}))],
            ..Completion::default()
        });
        life.model_calls("", &["look"]).await;
        probe.until_turns_ended(1).await;
        let error = session.state().await.unwrap().error;
        assert_eq!(error.unwrap(), "Stopped, because the chain of tool calls became too long.");
    });
    assert_eq!((world.begun("note"), world.notes().len(), world.begun("look")), (2, 2, 2));
    life.shut_down();
}

#[test]
fn what_a_turn_has_cost_is_counted_over_the_crash() {
    let world = World::new();
    let spent = |tokens| Usage { prompt_tokens: tokens, cached_tokens: 0, completion_tokens: 1 };
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        ask(&session, "go").await;
        life.script.next().await.finish(Completion {
            tool_calls: vec![crate::support::wanted("note", &serde_json::json!({}))],
            usage: spent(10),
            ..Completion::default()
        });
        life.unfinished().await;
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        let turn = session.turn().await.unwrap().unwrap();
        life.script.next().await.finish(Completion {
            text: "Done.".to_owned(),
            usage: spent(20),
            ..Completion::default()
        });
        let usage = turn.ended().await.unwrap().usage;
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (30, 2));
    });
    life.shut_down();
}

#[test]
fn text_that_was_said_before_a_call_is_neither_lost_nor_said_twice() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("Let me see.", &["slow_look"]).await;
        life.gate.begun(1).await;
        life.until_ledger(|rows| rows.len() == 1).await;
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.gate.begun(1).await;
        life.gate.open();
        let completion = life.script.next().await;
        expect![[r#"
            user: go
            model: Let me see.
            slow_look: {"status":"ok","data":{"done":true}}"#]]
        .assert_eq(&read(completion.request()));
        completion.say("Seen.");
        probe.until_turns_ended(1).await;
    });
    life.shut_down();
}

#[test]
fn a_turn_that_takes_its_process_with_it_again_and_again_is_given_up() {
    let mut world = World::new();
    world.limits.max_resumes = 2;
    cut_off_in_completion(&world, 1);
    for _ in 0..2 {
        let mut life = world.start();
        life.run(async |life| {
            let _session = life.session().await;
            life.unfinished().await;
        });
        world.crash(life);
    }
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        let state = session.state().await.unwrap();
        assert_eq!(
            state.error.as_deref(),
            Some("It was cut off and could not be finished. Please say it again.")
        );
        assert!(!state.is_streaming && session.turn().await.unwrap().is_none());
        assert!(life.script.try_next().is_none(), "the model is left in peace");
        let turn = ask(&session, "again").await;
        let completion = life.script.next().await;
        // What took the process with it may have been its text.
        expect![[r#"
            user: (The text of this message is left out, because the model broke down over it.)
            user: again"#]]
        .assert_eq(&read(completion.request()));
        completion.say("Here I am.");
        assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
    });
    life.shut_down();
}

#[test]
fn a_turn_that_a_handler_takes_down_again_and_again_is_given_up_and_its_text_stays() {
    let mut world = World::new();
    world.limits.max_resumes = 2;
    let begins = |world: &World, calls: bool| {
        let mut life = world.start();
        life.run(async |life| {
            let (session, _) = life.session().await;
            if calls {
                ask(&session, "go").await;
                life.model_calls("", &["slow_look", "save", "mail"]).await;
            }
            life.gate.begun(1).await;
            life.until_ledger(|rows| rows.len() == 3).await;
        });
        world.crash(life);
    };
    begins(&world, true);
    (0..2).for_each(|_| begins(&world, false));
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        assert!(session.turn().await.unwrap().is_none());
        ask(&session, "again").await;
        // Its text took no model down, and what had not begun is no fault of its tools.
        expect![[r#"
            user: go
            slow_look: {"status":"error","code":"handler_error","reason":"the tool failed: ReplyLost"}
            save: {"status":"cancelled","reason":"the turn ended before this began, so it was not run"}
            mail: {"status":"cancelled","reason":"the turn ended before this began, so it was not run"}
            user: again"#]]
        .assert_eq(&read(life.unfinished().await.request()));
        let messages = session.state().await.unwrap().messages;
        let notices =
            messages.iter().filter(|message| matches!(message.content, Content::Notice { .. }));
        assert_eq!(notices.count(), 0, "no notice blames the model");
    });
    life.shut_down();
}

#[test]
fn a_step_forward_and_an_orderly_end_let_a_turn_be_resumed_anew() {
    let mut world = World::new();
    world.limits.max_resumes = 1;
    cut_off_in_completion(&world, 1);
    // Each of these lives brings the turn one round further, or ends in order.
    for round in 1..4 {
        let mut life = world.start();
        life.run(async |life| {
            let _session = life.session().await;
            life.model_calls("", &["note"]).await;
            life.unfinished().await;
        });
        if round % 2 == 0 { life.shut_down() } else { world.crash(life) }
    }
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.model_says("Done.", &mut probe).await;
    });
    assert_eq!(world.notes().len(), 3);
    life.shut_down();
}

#[test]
fn every_session_that_was_cut_off_can_be_resumed_though_no_reader_opens_it() {
    let mut world = World::new();
    world.limits.max_resuming_sessions = 2;
    let mut life = world.start();
    life.run(async |life| {
        for name in ["a", "b", "c", "d", "e"] {
            let session = life.runtime.user("kim").unwrap().session(name).await.unwrap();
            let turn = ask(&session, name).await;
            if name == "e" {
                life.script.next().await.say("Over before the crash.");
                turn.ended().await.unwrap();
            } else {
                life.unfinished().await;
            }
        }
    });
    world.crash(life);

    let mut life = world.start();
    life.run(async |life| {
        let runtime = life.runtime.clone();
        let all = tokio::spawn(async move { runtime.resume_open().await });
        // No more than two at once; one that waits for a person makes room for the next.
        let first = life.script.next().await;
        let second = life.script.next().await;
        tokio::task::yield_now().await;
        assert!(life.script.try_next().is_none());
        let asks = crate::support::wanted("save", &serde_json::json!({}));
        first.finish(Completion { tool_calls: vec![asks], ..Completion::default() });
        let third = life.script.next().await;
        for completion in [second, third] {
            completion.say("Done.");
        }
        life.script.next().await.say("Done.");
        assert_eq!(all.await.unwrap(), 4);
        assert_eq!(life.runtime.resume_open().await, 0, "each is woken once");
        let open = life.store.interrupted().await.unwrap();
        assert_eq!(open.len(), 1, "only the one that waits for a person: {open:?}");
    });
    life.shut_down();
}

#[test]
fn a_temporary_chat_is_gone_with_its_process_and_its_turn_is_over() {
    let mut world = World::new();
    world.has_temporary_chats = true;
    cut_off_in_completion(&world, 2);
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        assert!(session.state().await.unwrap().messages.is_empty());
        assert_eq!(life.store.interrupted().await.unwrap(), [], "its turn has ended");
        let turn = ask(&session, "again").await;
        life.script.next().await.say("Here I am.");
        assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
    });
    life.shut_down();
}
