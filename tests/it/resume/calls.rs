//! Calls: each has one end, whatever state the crash found it in.

use std::collections::BTreeSet;

use expect_test::expect;
use madang::{
    Call, LanguageTag, UserId,
    approval::{Approver, Decision},
    event::{EventKind, TurnEnding},
    ledger::{CallResult, Effect},
};
use madang_testing::Probe;

use super::life::{World, ask, effects, read};
use crate::support::dispatched;

/// The model asks for these in one completion; the process ends when a handler is at its gate.
fn cut_off_at_the_gate(world: &World, names: &[&str]) {
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", names).await;
        if names.contains(&"slow_save") {
            let request = probe.approval_request().await;
            session.decide(&request, Decision::Approve).await.unwrap();
        }
        life.gate.begun(1).await;
        if names.len() > 1 {
            life.until_ledger(|rows| rows.len() == names.len()).await;
        }
    });
    world.crash(life);
}

#[test]
fn a_cut_off_handler_outside_the_store_goes_to_the_person_and_is_not_run_again() {
    let world = World::new();
    cut_off_at_the_gate(&world, &["slow_mail"]);
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        let completion = life.script.next().await;
        let told = read(completion.request());
        assert!(
            told.contains(r#""status":"error","code":"handler_error""#)
                && told.contains("It may have taken effect."),
            "the model is told: {told}"
        );
        completion.say("I do not know whether it was sent.");
        probe.until_turns_ended(1).await;
        expect![[r#"
            turn resumed
            call slow_mail {} -> {"status":"error","code":"handler_error","reason":"the tool failed: ReplyLost. It had begun, but how it ended is not known. It may have taken effect."} effect Unknown
            notice: A tool was cut off while it ran, and whether it took effect is not known. Please check; it was not run again.
            model: I do not know whether it was sent. (Complete)
            turn ended Answered"#]]
        .assert_eq(&probe.lines());
        // A later reader of the chat sees it too.
        let messages = session.state().await.unwrap().messages;
        let notices = messages.iter().filter(|message| {
            matches!(message.content, madang::event::Content::Notice { notice: madang::event::Notice::EffectUnknown })
        });
        assert_eq!(notices.count(), 1);
        assert_eq!(effects(&life.ledger().await)["slow_mail"], Some(Effect::Unknown));
    });
    assert_eq!(world.begun("slow_mail"), 1);
    life.shut_down();
}

#[test]
fn a_confirmed_handler_outside_the_store_is_not_run_again_on_its_approval() {
    let mut world = World::new();
    world.tools = || {
        let mut tools = super::life::tools();
        tools.retain(|tool| &*tool.spec().name != "slow_mail");
        tools.push(std::sync::Arc::new(super::life::slow_destructive_mail()));
        tools
    };
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["slow_mail"]).await;
        let request = probe.approval_request().await;
        session.decide(&request, Decision::Approve).await.unwrap();
        life.gate.begun(1).await;
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.model_says("Hm.", &mut probe).await;
        let rows = life.ledger().await;
        assert_eq!((rows.len(), rows[0].effect), (1, Some(Effect::Unknown)));
        assert!(rows[0].decided_by.is_some());
    });
    assert_eq!(world.begun("slow_mail"), 1);
    life.shut_down();
}

#[test]
fn a_transaction_that_was_cut_off_left_nothing_and_its_row_is_written_once() {
    let world = World::new();
    cut_off_at_the_gate(&world, &["slow_note"]);
    assert!(world.notes().is_empty());
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        // Nothing of the call was in the ledger, so the completion that asked for it counts as
        // unfinished.
        assert_eq!(life.ledger().await.len(), 0);
        life.model_calls("", &["slow_note"]).await;
        life.gate.begun(1).await;
        life.gate.open();
        life.model_says("Noted.", &mut probe).await;
        let rows = life.ledger().await;
        assert_eq!((rows.len(), rows[0].effect), (1, Some(Effect::Committed)));
        assert_eq!(world.notes(), [rows[0].call.to_string()]);
    });
    life.shut_down();
}

#[test]
fn an_approved_transaction_that_was_cut_off_runs_on_its_approval_without_a_question() {
    let world = World::new();
    cut_off_at_the_gate(&world, &["slow_save"]);
    assert!(world.notes().is_empty());
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.gate.begun(1).await;
        life.gate.open();
        life.model_says("Saved.", &mut probe).await;
        expect![[r#"
            turn resumed
            proposed slow_save {}
            call slow_save {} -> {"status":"ok","data":{"done":true}} effect Committed
            model: Saved. (Complete)
            turn ended Answered"#]]
        .assert_eq(&probe.lines());
        let rows = life.ledger().await;
        assert_eq!(world.notes(), [rows[0].call.to_string()]);
        assert_eq!(rows.len(), 1);
    });
    let calls: BTreeSet<_> = world.begun.lock().unwrap().iter().map(|(_, call)| *call).collect();
    assert_eq!((world.begun("slow_save"), calls.len()), (2, 1), "the same call id");
    life.shut_down();
}

#[test]
fn of_several_calls_those_that_ended_stay_and_those_not_begun_go_on_under_their_ids() {
    let world = World::new();
    let names = ["note", "slow_mail", "look", "mail"];
    let mut life = world.start();
    let before = life.run(async |life| {
        let (session, _) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("All of it.", &names).await;
        life.gate.begun(1).await;
        life.ledger().await
    });
    world.crash(life);
    assert_eq!(before.len(), 4, "all are in the ledger before any of them begins");
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        let completion = life.script.next().await;
        let told = read(completion.request());
        let tools: Vec<_> = told.lines().filter_map(|line| line.split_once(':')).collect();
        let order: Vec<_> = tools.iter().map(|(tool, _)| *tool).collect();
        assert_eq!(order, ["user", "model", "note", "slow_mail", "look", "mail"]);
        completion.say("Done.");
        probe.until_turns_ended(1).await;
        let after = life.ledger().await;
        let ids = |rows: &[madang::ledger::LedgerRow]| {
            rows.iter().map(|row| row.call).collect::<Vec<_>>()
        };
        assert_eq!(ids(&after), ids(&before));
        let ends: Vec<_> = after.iter().map(|row| row.effect.unwrap()).collect();
        use Effect::{Committed, None, Unknown};
        assert_eq!(ends, [Committed, Unknown, None, Committed]);
    });
    for tool in names {
        assert_eq!(world.begun(tool), 1, "{tool}");
    }
    life.shut_down();
}

#[test]
fn a_reading_handler_that_was_cut_off_reads_again() {
    let world = World::new();
    cut_off_at_the_gate(&world, &["slow_look", "mail"]);
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.gate.begun(1).await;
        life.gate.open();
        life.model_says("Seen.", &mut probe).await;
        let rows = life.ledger().await;
        assert_eq!(effects(&rows)["slow_look"], Some(Effect::None));
        assert_eq!(effects(&rows)["mail"], Some(Effect::Committed));
    });
    assert_eq!((world.begun("slow_look"), world.begun("mail")), (2, 1));
    life.shut_down();
}

#[test]
fn a_turn_dismissed_before_a_crash_begins_no_more_and_the_next_says_what_was_done() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["note", "slow_mail", "mail"]).await;
        life.gate.begun(1).await;
        session.dismiss().await.unwrap();
        life.until_dismissed().await;
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        probe.until_turns_ended(1).await;
        let ended = probe.events().last().map(|event| event.kind.clone());
        assert!(matches!(ended, Some(EventKind::TurnEnded { ending: TurnEnding::Dismissed, .. })));
        assert!(life.script.try_next().is_none());
        ask(&session, "what now?").await;
        let completion = life.script.next().await;
        expect![[r#"
            user: go
            note: {"status":"ok","data":{"done":true}}
            slow_mail: {"status":"error","code":"handler_error","reason":"the tool failed: ReplyLost. It had begun, but how it ended is not known. It may have taken effect."}
            mail: {"status":"cancelled","reason":"the turn ended before this began, so it was not run"}
            user: what now?"#]]
        .assert_eq(&read(completion.request()));
        completion.say("So it is.");
        probe.until_turns_ended(2).await;
    });
    assert_eq!(world.begun("mail"), 0);
    life.shut_down();
}

#[test]
fn what_was_discarded_before_the_crash_is_told_after_it() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["slow_mail"]).await;
        life.gate.begun(1).await;
        session.dismiss().await.unwrap();
        life.gate.open();
        probe.until_turns_ended(1).await;
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "what now?").await;
        let completion = life.script.next().await;
        expect![[r#"
            user: go
            slow_mail: {"status":"discarded","effect":"committed","reason":"slow_mail: the screen was closed and the result discarded, but it took effect."}
            user: what now?"#]]
        .assert_eq(&read(completion.request()));
        completion.say("So it is.");
        probe.until_turns_ended(1).await;
        assert_eq!(life.ledger().await[0].result, Some(CallResult::Discarded));
    });
    life.shut_down();
}

#[test]
fn a_direct_call_whose_caller_is_gone_has_its_end_after_the_next_start() {
    let world = World::new();
    for (tool, effect) in [("slow_mail", Effect::Unknown), ("slow_look", Effect::None)] {
        let mut life = world.start();
        life.run(async |life| {
            let runtime = life.runtime.clone();
            let call = Call::new(UserId::new("kim").unwrap(), tool, "{}").language(LanguageTag::EN);
            tokio::spawn(async move { dispatched(&runtime, call.approver(Approver::None)).await });
            life.gate.begun(1).await;
        });
        world.crash(life);
        let mut life = world.start();
        life.run(async |life| {
            // A reading call is recorded with its end only, so there may be nothing to end.
            let rows = life.ledger().await;
            let of_tool = rows.iter().find(|row| &*row.name == tool);
            assert_eq!(of_tool.and_then(|row| row.effect).unwrap_or(Effect::None), effect);
        });
        life.shut_down();
    }
    let mut life = world.start();
    life.run(async |life| {
        let runtime = life.runtime.clone();
        let call = Call::new(UserId::new("kim").unwrap(), "save", "{}").language(LanguageTag::EN);
        let never = Approver::Ask(Box::new(|_| Box::pin(std::future::ready(None))));
        tokio::spawn(async move { dispatched(&runtime, call.approver(never)).await });
        life.until_ledger(|rows| rows.iter().any(|row| &*row.name == "save")).await;
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        assert_eq!(effects(&life.ledger().await)["save"], Some(Effect::None));
    });
    assert!(world.notes().is_empty());
    life.shut_down();
}

#[test]
fn calls_go_on_by_what_the_tools_are_now() {
    let mut world = World::new();
    cut_off_at_the_gate(&world, &["slow_look", "mail"]);
    world.tools = || {
        let mut tools = super::life::tools();
        tools.retain(|tool| &*tool.spec().name != "slow_look");
        tools
    };
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe): (_, Probe) = life.session().await;
        let completion = life.script.next().await;
        expect![[r#"
            user: go
            slow_look: {"status":"error","code":"unknown_tool","reason":"unknown tool: slow_look"}
            mail: {"status":"ok","data":{"done":true}}"#]]
        .assert_eq(&read(completion.request()));
        completion.say("Well.");
        probe.until_turns_ended(1).await;
    });
    life.shut_down();
}
