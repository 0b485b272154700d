//! The five answers, and which one wins where several come.

use std::{sync::Arc, time::Duration};

use madang::{
    Limits,
    approval::{ApprovalEnd, Decision},
    error::DecisionError,
    ledger::{Approval, Effect},
    tool::{Breach, Problem, ToolOutcome},
};
use madang_testing::MemoryStore;
use serde_json::json;
use tokio::sync::Barrier;

use super::{Gate, Version, named, question_end};

/// Two handles, a yes and a no at the same moment, many times on several threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_yes_and_a_no_at_once_exactly_one_wins_and_the_ledger_agrees() {
    let mut gate = Gate::new().await;
    let other_handle = gate.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut yeses = 0_usize;
    for round in 0..150 {
        let turn = gate.turn(&[("save", named(&format!("row {round}")))]).await;
        let request = gate.approval_request().await;
        let start = Arc::new(Barrier::new(2));
        let answer = |session: madang::Session, decision: Decision| {
            let start = start.clone();
            let request = request.clone();
            tokio::spawn(async move {
                start.wait().await;
                session.decide(&request, decision).await
            })
        };
        let yes = answer(gate.session.clone(), Decision::Approve);
        let no = answer(other_handle.clone(), Decision::Deny);
        let yes = yes.await.unwrap();
        let no = no.await.unwrap();
        let (_, envelope) = gate.told(turn).await;
        let row = gate.row().await;
        assert_eq!(row.decided_by.as_ref(), Some(&request.user));
        match (yes, no) {
            (Ok(()), Err(DecisionError::NotOpen)) => {
                yeses += 1;
                assert_eq!(
                    (row.approval, row.effect),
                    (Some(Approval::Once), Some(Effect::Committed))
                );
                assert_eq!(envelope["status"], "ok");
            }
            (Err(DecisionError::NotOpen), Ok(())) => {
                assert_eq!((row.approval, row.effect), (None, Some(Effect::None)));
                assert_eq!(envelope["reason"], "user did not confirm");
            }
            both => panic!("not one winner: {both:?}"),
        }
        assert_eq!(gate.saved().len(), yeses, "round {round}");
    }
    gate.shutdown().await;
}

/// All five at once, and a dismissal beside them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_five_answers_and_a_dismissal_at_once_one_wins_and_is_told_everywhere() {
    let mut gate = Gate::new().await;
    for round in 0..60 {
        let turn = gate.turn(&[("save", named(&format!("row {round}")))]).await;
        let request = gate.approval_request().await;
        let decisions = [
            Decision::Approve,
            Decision::ApproveAlways,
            Decision::Deny,
            Decision::DenyWith { message: "not now".into() },
            Decision::Edit { arguments: named(&format!("edit {round}")) },
        ];
        let start = Arc::new(Barrier::new(decisions.len() + 1));
        let answers = decisions.map(|decision| {
            let start = start.clone();
            let request = request.clone();
            let session = gate.session.clone();
            tokio::spawn(async move {
                start.wait().await;
                let counts = session.decide(&request, decision.clone()).await;
                (decision, counts)
            })
        });
        start.wait().await;
        gate.session.dismiss().await.unwrap();
        let mut winners = Vec::new();
        for answer in answers {
            match answer.await.unwrap() {
                (decision, Ok(())) => winners.push(decision),
                (_, Err(DecisionError::NotOpen)) => {}
                (decision, Err(error)) => panic!("{decision:?}: {error}"),
            }
        }
        turn.ended().await.unwrap();
        gate.probe.until_turns_ended(round + 1).await;
        let row = gate.row().await;
        let told = question_end(&gate.probe);
        let is_saved = |name: &str| gate.saved().contains(&format!("{name} {round}"));
        match &winners[..] {
            [] => {
                assert_eq!(
                    row.outcome,
                    Some(ToolOutcome::cancelled(madang::tool::CancelReason::Dismissed))
                );
                assert!(!is_saved("row") && !is_saved("edit"));
            }
            [winner] => {
                assert_eq!(told, Some(ApprovalEnd::Decided { decision: winner.clone() }));
                let (row_saved, edit_saved) = match winner {
                    Decision::Approve | Decision::ApproveAlways => (true, false),
                    Decision::Edit { .. } => (false, true),
                    Decision::Deny | Decision::DenyWith { .. } => (false, false),
                };
                assert_eq!((is_saved("row"), is_saved("edit")), (row_saved, edit_saved));
                assert_eq!(row.decided_by, Some(request.user.clone()));
            }
            several => panic!("{several:?}"),
        }
        gate.session.revoke("save").await.unwrap();
    }
    gate.shutdown().await;
}

#[tokio::test]
async fn the_user_changes_the_arguments_and_everybody_is_told_of_it() {
    let mut gate = Gate::new().await;
    let turn = gate.turn(&[("save", named("a"))]).await;
    let request = gate.approval_request().await;
    gate.session.decide(&request, Decision::Edit { arguments: named("b") }).await.unwrap();
    let (asked, envelope) = gate.told(turn).await;
    assert_eq!(asked, named("a"), "what the model said stays what it said");
    let told = json!({
        "status": "ok", "user_changed_arguments_to": { "name": "b" }, "data": { "saved": "b" },
    });
    assert_eq!(envelope, told);
    assert_eq!(gate.saved(), ["b"]);

    let row = gate.row().await;
    let entry = gate.entry().await;
    assert_eq!((&row.arguments, &row.asked), (&named("b").into(), &Some(named("a").into())));
    assert_eq!(
        (row.approval, row.decided_by.clone()),
        (Some(Approval::Edited), Some(request.user))
    );
    assert_ne!(row.digest, Some(request.digest), "a digest of its own");
    assert_eq!(Some(entry), row.record(), "the transcript has what the ledger has");
    gate.shutdown().await;
}

#[tokio::test]
async fn an_edit_that_does_not_fit_is_refused_with_problems_and_the_question_stays_open() {
    let mut gate = Gate::new().await;
    let turn = gate.turn(&[("save", named("a"))]).await;
    let request = gate.approval_request().await;
    let refused = async |arguments: serde_json::Value| match gate
        .session
        .decide(&request, Decision::Edit { arguments })
        .await
    {
        Err(DecisionError::DoesNotFit { problems }) => problems,
        other => panic!("it fits: {other:?}"),
    };
    let problem = |pointer: &str, breach| vec![Problem { pointer: pointer.to_owned(), breach }];
    assert_eq!(refused(named("")).await, problem("/name", Breach::MinLength(1)));
    assert_eq!(refused(json!([1])).await, problem("", Breach::NotAnObject));
    let unknown = Breach::Unknown(vec!["/sudo".to_owned()]);
    let more = json!({ "name": "b", "sudo": true });
    assert_eq!(refused(more).await, problem("", unknown), "nothing that was typed vanishes");
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let too_deep = Breach::TooDeep { max_levels: Limits::default().max_arguments_depth };
    assert_eq!(refused(json!({ "name": deep })).await, problem("", too_deep));
    let max_bytes = Limits::default().max_arguments_bytes;
    let too_long = Breach::TooLong { max_bytes };
    assert_eq!(refused(named(&"x".repeat(max_bytes))).await, problem("", too_long));

    assert_eq!(gate.session.state().await.unwrap().approval_request, Some(request.clone()));
    gate.session.decide(&request, Decision::Approve).await.unwrap();
    let (_, envelope) = gate.told(turn).await;
    assert_eq!(envelope, json!({ "status": "ok", "data": { "saved": "a" } }));
    gate.shutdown().await;
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_a_plain_yes() {
    let mut gate = Gate::new().await;
    let turn = gate.turn(&[("save", named("a"))]).await;
    let request = gate.approval_request().await;
    gate.session.decide(&request, Decision::Edit { arguments: named("a") }).await.unwrap();
    let (_, envelope) = gate.told(turn).await;
    assert_eq!(envelope, json!({ "status": "ok", "data": { "saved": "a" } }));
    let row = gate.row().await;
    assert_eq!(
        (row.approval, row.asked, row.digest),
        (Some(Approval::Once), None, Some(request.digest))
    );
    gate.shutdown().await;
}

#[tokio::test]
async fn a_message_beside_a_no_is_bounded_and_a_blank_one_is_none() {
    let mut gate = Gate::new().await;
    let turn = gate.turn(&[("save", named("a"))]).await;
    let request = gate.approval_request().await;
    let deny = |message: &str| Decision::DenyWith { message: message.into() };
    let max_bytes = Limits::default().max_denial_bytes;
    // It is measured as the model reads it: a control character takes six bytes there, and the
    // quotes two.
    for (message, bytes) in [("x".repeat(max_bytes), max_bytes + 2), ("\u{1}".repeat(200), 1_202)] {
        let refused = gate.session.decide(&request, deny(&message)).await;
        assert_eq!(refused, Err(DecisionError::MessageTooLong { bytes, max_bytes }));
    }
    gate.session.decide(&request, deny(" \n")).await.unwrap();
    let (_, envelope) = gate.told(turn).await;
    assert_eq!(envelope, json!({ "status": "cancelled", "reason": "user did not confirm" }));
    gate.shutdown().await;
}

/// By the time of day, which the store goes by: a suspended machine does not keep a question open.
#[tokio::test]
async fn an_answer_that_comes_after_the_question_expired_by_the_clock_does_not_count() {
    for decision in [Decision::Approve, Decision::ApproveAlways, Decision::Deny] {
        let mut gate = Gate::new().await;
        let turn = gate.turn(&[("save", named("a"))]).await;
        let request = gate.approval_request().await;
        gate.watch.forward(Limits::default().decision_timeout + Duration::from_millis(1));
        assert_eq!(gate.session.decide(&request, decision).await, Err(DecisionError::NotOpen));
        let (_, envelope) = gate.told(turn).await;
        assert_eq!(envelope["reason"], "the question expired without an answer");
        assert!(gate.saved().is_empty());
        assert_eq!(gate.row().await.decided_by, None);
        gate.shutdown().await;
    }
}

#[tokio::test]
async fn a_question_shows_what_is_stored_and_the_answer_is_bound_to_it() {
    let mut gate = Gate::with(Limits::default(), MemoryStore::new(), Version::First).await;
    let arguments = json!({ "name": "a\u{202e}b\nc", "invented": true });
    let turn = gate.turn(&[("save", arguments)]).await;
    let request = gate.approval_request().await;
    let stored = gate.row().await;
    assert_eq!(
        (request.arguments.clone(), Some(request.digest)),
        (stored.arguments, stored.digest)
    );
    assert_eq!(Some(request.expires_at), stored.expires_at);
    assert_eq!(
        &*request.text,
        "save\n  name: \"a\\u{202e}b\\nc\"\n  Saves: a\\u{202e}b\\u{a}c\n  \
         \"Always\" holds for 24 hours, at most 32 times."
    );
    let shown = stored.shown.expect("what is shown is stored");
    assert_eq!((&shown.text, &*shown.consequence), (&request.text, &*request.consequence));
    gate.session.decide(&request, Decision::Deny).await.unwrap();
    gate.told(turn).await;
    gate.shutdown().await;
}
