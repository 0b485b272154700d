//! Questions: asked again as they were, for as long as they were.

use std::{sync::Arc, time::Duration};

use expect_test::expect;
use madang::{
    Asks, Call, LanguageTag, TurnOptions, UserId,
    approval::{ApprovalRequest, Approver, Decision},
    error::DecisionError,
    ledger::Effect,
    model::Completion,
    store::Store,
};
use madang_actors::ledger::{CallState, Transition, digest, schema_digest};
use serde_json::json;

use super::life::{World, ask, changed_save, read, slow_send, tools};
use crate::support::{dispatched, wanted};

/// The process ends while this tool's question is open.
fn cut_off_at_a_question(world: &World, tool: &str) -> ApprovalRequest {
    let mut life = world.start();
    let request = life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &[tool]).await;
        probe.approval_request().await
    });
    world.crash(life);
    request
}

#[test]
fn an_open_question_is_asked_again_and_its_approval_runs_the_call_once() {
    let world = World::new();
    let mut asked = cut_off_at_a_question(&world, "save");
    // It may be cut off any number of times, far more often than a turn that works.
    for _ in 0..20 {
        let mut life = world.start();
        life.run(async |life| {
            let (session, mut probe) = life.session().await;
            let again = probe.approval_request().await;
            assert_eq!(again, asked, "call, arguments, digest and moment are the same");
            assert_eq!(session.state().await.unwrap().approval_request.as_ref(), Some(&again));
            asked = again;
        });
        world.crash(life);
    }
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        let request = probe.approval_request().await;
        session.decide(&request, Decision::Approve).await.unwrap();
        assert_eq!(session.decide(&request, Decision::Approve).await, Err(DecisionError::NotOpen));
        life.model_says("Saved.", &mut probe).await;
        expect![[r#"
            turn resumed
            proposed save {}
            asked save {}
            answered Approve
            call save {} -> {"status":"ok","data":{"done":true}} effect Committed
            model: Saved. (Complete)
            turn ended Answered"#]]
        .assert_eq(&probe.lines());
        assert_eq!(world.notes(), [request.call.to_string()]);
    });
    life.shut_down();
}

#[test]
fn a_question_that_was_asked_again_can_be_denied() {
    let world = World::new();
    cut_off_at_a_question(&world, "burn");
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        let request = probe.approval_request().await;
        session.decide(&request, Decision::Deny).await.unwrap();
        let completion = life.script.next().await;
        expect![[r#"
            user: go
            burn: {"status":"cancelled","reason":"user did not confirm"}"#]]
        .assert_eq(&read(completion.request()));
        completion.say("Not done.");
        probe.until_turns_ended(1).await;
    });
    assert_eq!(world.begun("burn"), 0);
    life.shut_down();
}

#[test]
fn a_question_expires_when_it_would_have_though_no_runtime_ran() {
    let mut world = World::new();
    cut_off_at_a_question(&world, "save");
    world.later = world.limits.decision_timeout;
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.model_says("Too late.", &mut probe).await;
        expect![[r#"
            turn resumed
            proposed save {}
            call save {} -> {"status":"cancelled","reason":"expired"} effect None
            model: Too late. (Complete)
            turn ended Answered"#]]
        .assert_eq(&probe.lines());
    });
    assert!(world.notes().is_empty());
    life.shut_down();
}

#[test]
fn a_question_is_open_again_only_for_the_rest_of_its_time() {
    let mut world = World::new();
    cut_off_at_a_question(&world, "save");
    world.later = world.limits.decision_timeout - Duration::from_millis(1_500);
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        probe.approval_request().await;
        life.model_says("Too late.", &mut probe).await;
        assert!(probe.lines().contains("question ended Expired"), "{}", probe.lines());
    });
    life.shut_down();
}

#[test]
fn an_approval_not_used_in_time_runs_nothing_and_is_told_apart_from_silence() {
    let mut world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["slow_save"]).await;
        let request = probe.approval_request().await;
        session.decide(&request, Decision::Approve).await.unwrap();
        life.gate.begun(1).await;
    });
    world.crash(life);
    world.later = world.limits.decision_timeout;
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        let completion = life.script.next().await;
        assert!(read(completion.request()).contains(r#""code":"overloaded""#));
        completion.say("Too late.");
        probe.until_turns_ended(1).await;
        assert_eq!(life.ledger().await[0].effect, Some(Effect::None));
    });
    assert_eq!((world.begun("slow_save"), world.notes().len()), (1, 0));
    life.shut_down();
}

#[test]
fn arguments_that_a_person_typed_run_once_after_a_crash_between_approval_and_run() {
    let letter = |to: &str| json!({ "to": to });
    let send = |user: &str, to: &str| {
        let call = Call::new(UserId::new(user).unwrap(), "slow_send", letter(to).to_string());
        call.approver(Approver::Decided(Decision::Approve))
    };
    let mut world = World::new();
    world.tools = || vec![Arc::new(slow_send())];
    let mut life = world.start();
    let asked = life.run(async |life| {
        // Another user's letter keeps the tool's only permit.
        let runtime = life.runtime.clone();
        let others = send("lee", "nobody");
        tokio::spawn(async move { dispatched(&runtime, others).await });
        life.gate.begun(1).await;
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        let tool_calls = vec![wanted("slow_send", &letter("the model's choice"))];
        life.script.next().await.finish(Completion { tool_calls, ..Completion::default() });
        let request = probe.approval_request().await;
        let arguments = letter("my friend");
        session.decide(&request, Decision::Edit { arguments }).await.unwrap();
        let row = life.ledger().await.into_iter().find(|row| row.call == request.call);
        assert_eq!(row.unwrap().state, CallState::Approved, "and it has not begun");
        request
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.gate.open();
        life.model_says("Sent.", &mut probe).await;
        expect![[r#"
            turn resumed
            proposed slow_send {"to":"the model's choice"}
            call slow_send {"to":"my friend"} -> {"status":"ok","data":{"done":true}} effect Committed
            model: Sent. (Complete)
            turn ended Answered"#]].assert_eq(&probe.lines());
        let row = life.ledger().await.into_iter().find(|row| row.call == asked.call).unwrap();
        assert_eq!(
            (&row.arguments, &row.asked),
            (&letter("my friend").into(), &Some(letter("the model's choice").into()))
        );
        let bound_to = |to| {
            let spec = &life.runtime.registry().get("slow_send").unwrap().spec().clone();
            let shown = row.shown.as_deref();
            let schema = schema_digest(spec);
            digest(&schema, &letter(to), &row.user, &row.session, row.call, shown)
        };
        assert_eq!(row.digest, Some(bound_to("my friend")));
        assert_eq!(asked.digest, bound_to("the model's choice"));
        let steps = life.store.links(&row.session).await.unwrap().0;
        let ran: Vec<_> = steps
            .iter()
            .filter_map(|link| {
                let Transition::Running { arguments, digest } = &link.transition else {
                    return None;
                };
                Some((arguments.clone(), *digest))
            })
            .collect();
        assert_eq!(ran, [(letter("my friend").into(), bound_to("my friend"))]);
    });
    let begun = world.begun.lock().unwrap().clone();
    let of_call: Vec<_> = begun.iter().filter(|(_, call)| *call == asked.call).collect();
    assert_eq!(of_call, [&("my friend".to_owned(), asked.call)]);
    life.shut_down();
}

#[test]
fn what_was_asked_about_a_tool_that_has_changed_does_not_run() {
    let mut world = World::new();
    cut_off_at_a_question(&world, "save");
    world.tools = || {
        let mut changed = tools();
        changed.retain(|tool| &*tool.spec().name != "save");
        changed.push(Arc::new(changed_save()));
        changed
    };
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.model_says("Well.", &mut probe).await;
        expect![[r#"
            turn resumed
            proposed save {}
            call save {} -> {"status":"error","code":"tool_changed","reason":"Not run, because the tool has changed since the question was asked."} effect None
            model: Well. (Complete)
            turn ended Answered"#]]
        .assert_eq(&probe.lines());
    });
    assert!(world.notes().is_empty());
    life.shut_down();
}

#[test]
fn how_a_turn_is_run_is_the_same_after_the_crash() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        let (session, _) = life.session().await;
        let options = TurnOptions {
            asks: Asks::Nobody,
            language: Some(LanguageTag::KO),
            ..TurnOptions::default()
        };
        session.send_with("go", options).await.unwrap();
        life.unfinished().await;
    });
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.model_calls("", &["save", "nowhere"]).await;
        life.model_says("아무도 없어요.", &mut probe).await;
        let lines = probe.lines();
        assert!(lines.contains("unreachable") && lines.contains("알 수 없는 도구"), "{lines}");
    });
    life.shut_down();
}
